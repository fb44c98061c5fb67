# Records what torch.compile and torch.export capture, with the real run beside it, for `assay`.
#
#   import assay_record
#   compiled = torch.compile(model, backend=assay_record.backend("out/"))
#   compiled(x).sum().backward()                      # every graph becomes out/graphN_KIND.json
#   assay_record.export(model, (x,), "out/")          # out/export.pt2 and out/export.json
#   assay_record.operator(torch.ops.my.op, samples, "out/")   # so that my.op has a rule there
#   assay debug out/graph0_fwd.json
#
#   assay_record.answers(f, (x,), "f.json")           # what f gives, in a process with TORCH_TRACE=logs
#   assay debug logs/*.log --stages --inputs f.json
#
# One file, needs nothing but torch (2.4 or later): put it beside your script, or its folder on
# PYTHONPATH. values=False leaves tensor data out.
# Format: JSON as described in replay/formats/README.md of Assay, raw little-endian storages beside it.
import base64
import contextlib
import copy
import ctypes
import hashlib
import inspect
import json
import operator as operators
import os
import platform
import re
import sqlite3
import sys
import zlib

import torch
from torch.fx import GraphModule, Interpreter, Node

FORMAT_VERSION = 1


def backend(folder, values=True, real=True, decompose=True, writes=False):
    """A torch.compile backend that runs the captured graphs eagerly and records each of them.

    folder     where graphN_fwd.json, graphN_bwd.json, graphN_inf.json and blobs/ go. N goes on
               where an earlier backend of this process with the same folder stopped; files of
               earlier processes are replaced
    values     keep the bytes of the real inputs, else only their metadata
    real       record what every node really produced
    decompose  apply Inductor's decompositions, else keep ATen operators as they are called
    writes     writes into inputs are part of the graphs, as they are for Inductor, else they are made
               behind them
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    recorder = _Recorder(folder, values, real)

    def compiler(kind):
        return lambda module, _: make_boxed_func(recorder.wrap(module, kind))

    decompositions = None
    if decompose:
        import torch._inductor.lowering  # its decompositions ask it without importing it
        from torch._inductor.decomposition import select_decomp_table
        decompositions = select_decomp_table()
    return aot_autograd(fw_compiler=compiler("fwd"), bw_compiler=compiler("bwd"),
                        inference_compiler=compiler("inf"), decompositions=decompositions,
                        **({"keep_inference_input_mutations": True} if writes else {}))


def export(model, args, folder, name="export", kwargs=None, values=True, real=True, **options):
    """torch.export to folder/name.pt2, and its graph with the real run to folder/name.json.

    The run has copies of everything, so the model and its inputs stay as they are. `options` go to
    torch.export.export (dynamic_shapes, strict). A name that this process used before in the same
    folder gets a number. values and real: as for backend(); the .pt2 holds parameters in any case.
    Returns the path of the .pt2.
    """
    recorder = _Recorder(folder, values, real)
    stem = recorder.reserve(name)
    program = torch.export.export(model, args, kwargs, **options)
    inputs = _copies(program._graph_module_flat_inputs(args, kwargs or {}))
    recorder.record(program.graph_module, inputs, "export", stem)
    path = os.path.join(folder, stem + ".pt2")
    try:
        torch.export.save(program, path)  # last, since it fails for some programs
    except Exception:
        if os.path.exists(path):
            os.remove(path)
        raise
    return path


def operator(op, samples, folder=".", name="operators.sqlite"):
    """Records eager calls of an operator, from which Assay infers the rule that it has no row for.

    op       torch.ops.my.op, or one overload of it
    samples  calls: tuples of arguments, or pairs (arguments, keyword arguments). Five or more of
             each kind (ranks, flags, what is None), at different sizes that are no multiples of
             each other, also of tensors that are not row-major; what never varies cannot be told
             from a constant
    folder   where the file goes: beside the captures that call the operator
    Adds to the file if it is there. Layouts are kept, contents are not. What PyTorch's fake mode
    predicts is recorded too. Returns the path. Errors: those of the calls.
    """
    overload = op if isinstance(op, torch._ops.OpOverload) else getattr(op, op.overloads()[0])
    calls = []
    for sample in samples:
        paired = len(sample) == 2 and isinstance(sample[0], tuple) and isinstance(sample[1], dict)
        calls.append(_call(overload, *(sample if paired else (tuple(sample), {}))))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("create table if not exists cases(id integer primary key, overload text,"
                   " opinfo text, variant text, json blob, fake_differs text)")
        db.execute("create table if not exists blobs(hash text primary key, nbytes integer, data blob)")
        db.executemany(
            "insert into cases(overload, opinfo, variant, json, fake_differs) values (?, ?, ?, ?, ?)",
            [(str(overload), "recorded", "plain", zlib.compress(json.dumps(call).encode()),
              differs) for call, differs in calls])
    return path


def answers(function, inputs, path, **options):
    """Runs a function or module on tensors, eagerly and compiled; writes what goes in and comes out.

    With TORCH_TRACE=FOLDER in the environment before torch is imported, FOLDER then has the log that
    `assay debug LOG --stages --inputs PATH` and `assay run LOG --inputs PATH` take beside `path`.
    Where an input or parameter requires a gradient and an output has one, gradients are recorded too:
    those of the sum of each output times a deterministic fill in [0, 1). A module is copied first;
    tensors that a function finds around it (variables, what modules among them hold, attributes of
    others, items of lists and dictionaries) are recorded too, and put back to what they were.

    options  go to torch.compile
    Returns "right", "wrong values" or the compiler's error as one line; eager errors are raised.
    """
    eager = _Call(function, inputs)
    said = {"device": next((t.device.type for t in eager.tensors), "cpu"), "torch": torch.__version__,
            "inputs": eager.described()}
    said["eager"] = eager.run(eager.function)
    compiled = _Call(function, inputs)
    try:
        said["compiled"] = compiled.run(torch.compile(compiled.function, **options))
    except Exception as error:  # the compiler's own failure is what is recorded
        said["outcome"] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    else:
        pairs = [(e, c) for key, value in said["eager"].items()
                 for e, c in zip(value, said["compiled"][key])]
        said["outcome"] = "wrong values" if any(_differ(e, c) for e, c in pairs) else "right"
    with open(path, "w") as out:
        json.dump(said, out)
    return said["outcome"]


class _Call:
    """One call of a function or of a copied module, on inputs of its own."""

    def __init__(self, function, inputs):
        is_module = isinstance(function, torch.nn.Module)
        self.function = copy.deepcopy(function) if is_module else function
        self.inputs = [_twin(t) for t in inputs]
        self.sources, self.tensors = [], []  # by tensor the ways to it, as Dynamo writes them
        self.functions = []  # that were looked into
        if is_module:
            own = next(iter(inspect.signature(type(function).forward).parameters))  # `self`
            if type(function).__module__.startswith("torch.nn."):
                own = "fn"  # Dynamo compiles a function that calls it
            self._add_module(f"L['{own}']", self.function)
        called = self.function.forward if is_module else self.function
        names = []
        if is_module and own == "fn":
            names = [f"L['args'][{k}]" for k in range(len(inputs))]
        for parameter in inspect.signature(called).parameters.values():
            if parameter.kind == parameter.VAR_POSITIONAL:
                names += [f"L['{parameter.name}'][{k}]" for k in range(len(inputs) - len(names))]
            else:
                names.append(f"L['{parameter.name}']")
        for name, tensor in zip(names, self.inputs):
            self._add(name, tensor)
        given = len(self.tensors)
        if not is_module:
            for name, value in _around(called):
                self._add_all(name, value)
        self.found = [(t, t.detach().clone()) for t in self.tensors[given:]]

    def _add_module(self, source, module):
        def place(path):
            return source + "".join(f"._modules['{m}']" for m in path.split(".") if m)

        for kind in ("parameters", "buffers"):
            for path, tensor in getattr(module, "named_" + kind)(remove_duplicate=False):
                modules, _, name = path.rpartition(".")
                self._add(f"{place(modules)}._{kind}['{name}']", tensor)
        for path, one in module.named_modules():
            for name, value in vars(one).items():
                if isinstance(value, float):
                    self._add_one(f"{place(path)}.{name}", value)

    def _add_all(self, source, value):
        """A tensor, or those in a list, tuple or dictionary or that are an object's attributes."""
        if isinstance(value, torch.nn.Module):
            self._add_module(source, value)
        elif isinstance(value, (torch.Tensor, float)):
            self._add_one(source, value)
        elif inspect.isfunction(value):
            if value in self.functions:
                return
            self.functions.append(value)
            for k, one in enumerate(value.__closure__ or ()):
                with contextlib.suppress(ValueError):  # not filled yet
                    self._add_all(f"{source}.__closure__[{k}].cell_contents", one.cell_contents)
        elif isinstance(value, (list, tuple)):
            for k, one in enumerate(value):
                self._add_one(f"{source}[{k}]", one)
        elif isinstance(value, dict):
            for key, one in value.items():
                self._add_one(f"{source}[{key!r}]", one)
        elif not isinstance(value, type):
            for key, one in getattr(value, "__dict__", {}).items():
                self._add_one(f"{source}.{key}", one)

    def _add_one(self, source, value):
        if isinstance(value, float):  # an input where floats are dynamic
            value = torch.tensor(value, dtype=torch.float64)
        if isinstance(value, torch.Tensor):
            self._add(source, value)

    def _add(self, source, tensor):
        for k, one in enumerate(self.tensors):
            if one is tensor:  # which several modules share
                self.sources[k].append(source)
                return
        self.sources.append([source])
        self.tensors.append(tensor)

    def described(self):
        """With the name that Dynamo gives each placeholder, or names: sources with _ for all but words."""
        names = [[re.sub("[^a-zA-Z0-9]+", "_", source) for source in sources] for sources in self.sources]
        return [_answer(t) | {"requires_grad": t.requires_grad,
                              "placeholder": of if len(of) > 1 else of[0]}
                for of, t in zip(names, self.tensors)]

    def run(self, function):
        wanted = [t for t in self.tensors if t.requires_grad]  # which writes into others may change
        outputs = function(*self.inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        said = {"outputs": [_answer(o) for o in outputs]}
        loss = [(o * _fill(90 + k, o)).sum() for k, o in enumerate(outputs) if o.requires_grad]
        if loss and wanted:
            sum(loss).backward()
            said["gradients"] = [_answer(torch.zeros_like(t) if t.grad is None else t.grad)
                                 for t in wanted]
        said["inputs_after"] = [_answer(t) for t in self.tensors]
        with torch.no_grad():
            for tensor, before in self.found:
                tensor.grad = None
                if not torch.equal(tensor, before):
                    tensor.copy_(before)
        return said


def _around(function):
    """What a function finds around it, with the names that Dynamo gives it."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is None:  # an object that is called
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # not filled yet
            yield f"L['{name}']", cell.cell_contents
    for name in code.co_names:
        if name in function.__globals__ and not inspect.ismodule(function.__globals__[name]):
            yield f"G['{name}']", function.__globals__[name]


def _twin(tensor):
    """A leaf with the same layout and contents."""
    plain = tensor.detach()
    twin = torch.empty_strided(plain.size(), plain.stride(), dtype=plain.dtype, device=plain.device)
    to, of = twin, plain
    if torch._debug_has_internal_overlap(plain) != 0:  # elements that share memory: by memory
        extent = (1 + sum((n - 1) * by for n, by in zip(plain.size(), plain.stride())),)
        to, of = (t.as_strided(extent, (1,)) for t in (twin, plain))
    to.copy_(of)
    return twin.requires_grad_(tensor.requires_grad)


def _fill(seed, like):
    """The fill in [0, 1) that every recording of this project uses, shaped as `like`."""
    i = torch.arange(like.numel(), dtype=torch.int64)
    h = (i * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    h = h ^ (h >> 15)
    h = (h * 2246822519) & 0xFFFFFFFF
    h = h ^ (h >> 13)
    return ((h >> 8).double() / 2**24).view(like.shape).to(like.dtype).to(like.device)


def _answer(tensor):
    layout = {"dtype": _dtype(tensor.dtype), "size": list(tensor.size()),
              "stride": list(tensor.stride()), "offset": tensor.storage_offset()}
    plain = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
    if plain.is_floating_point() and plain.element_size() < 4:
        plain = plain.float()
    if plain.dtype == torch.complex32:
        plain = plain.to(torch.complex64)
    wide = plain if plain.is_complex() else plain.double()
    data = base64.b64encode(zlib.compress(plain.numpy().tobytes())).decode()
    return layout | {"sum": wide.abs().sum().item() if plain.is_complex() else wide.sum().item(),
                     "abs": wide.abs().sum().item(), "data": data, "data_dtype": _dtype(plain.dtype)}


def _differ(expected, actual):
    """Whether the sums of two answers are farther apart than roundings explain; NaN is itself alone."""
    a, b = expected["sum"], actual["sum"]
    is_same = a == b or (a != a and b != b)
    return not (is_same or abs(a - b) <= 1e-3 * max(1.0, expected["abs"]) < float("inf"))


def _call(overload, args, kwargs):
    """One call as data, and where the fake prediction is wrong, in words."""
    tensors, storages = [], {}

    def data(value):
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            storages.setdefault(storage._cdata, {"nbytes": storage.nbytes(), "data": None})
            number = list(storages).index(storage._cdata)
            tensors.append({"dtype": _dtype(value.dtype), "size": list(value.shape),
                            "stride": list(value.stride()), "offset": value.storage_offset(),
                            "storage": number})
            return {"t": len(tensors) - 1}
        if isinstance(value, (list, tuple)):
            return [data(v) for v in value]
        if isinstance(value, torch.dtype):
            return {"dtype": _dtype(value)}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.layout):
            return {"layout": str(value)}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value)}
        return _arg(value)

    call = {"schema": str(overload._schema), "args": data(args),
            "kwargs": {key: data(value) for key, value in kwargs.items()}}
    call["inputs"] = len(tensors)
    fake = _fake_call(overload, args, kwargs)
    with torch.no_grad():
        result = overload(*args, **kwargs)
    results = list(result) if isinstance(result, tuple) else [result]
    call["outs"] = [data(r) for r in results]
    call.update(tensors=tensors, storages=list(storages.values()), mutated={}, seeded=False)
    if isinstance(fake, str):
        call["fake_error"] = fake
        return call, ""
    call["fake"] = fake
    real = [None if not isinstance(r, torch.Tensor) else
            [list(r.shape), list(r.stride()), _dtype(r.dtype), r.storage_offset()] for r in results]
    wrong = [f"result {i}: fake {f}, real {r}" for i, (f, r) in enumerate(zip(fake, real)) if f != r]
    return call, "; ".join(wrong)


def _fake_call(overload, args, kwargs):
    """Per tensor result [size, stride, dtype, offset] as the fake mode says, or why it fails."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_map
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with mode:
            fake = tree_map(lambda v: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v,
                            (args, kwargs))
            result = overload(*fake[0], **fake[1])
        results = list(result) if isinstance(result, tuple) else [result]
        return [[list(map(int, r.shape)), list(map(int, r.stride())), _dtype(r.dtype),
                 int(r.storage_offset())] if isinstance(r, torch.Tensor) else None
                for r in results]
    except Exception as error:  # whatever a user's fake raises, or sizes that depend on data
        return f"{type(error).__name__}: {error}"


class _Recorder:
    taken = {}  # of each folder: names that files of this process have

    def __init__(self, folder, values, real):
        self.folder, self.values, self.real = folder, values, real
        os.makedirs(folder, exist_ok=True)
        self.names = _Recorder.taken.setdefault(os.path.realpath(folder), set())

    def reserve(self, name):
        """The name, or with the first number behind it that makes it new."""
        free, number = name, 0
        while free in self.names:
            number += 1
            free = f"{name}_{number}"
        self.names.add(free)
        return free

    def wrap(self, module, kind):
        """Records at the first call, when the guards are complete and real inputs are there."""
        number = sum(name.startswith("graph") for name in self.names)
        stem = self.reserve(f"graph{number}_{kind}")
        recorded = False

        def run(*args):
            nonlocal recorded
            if not recorded:
                recorded = True
                return self.record(module, args, kind, stem)
            return Interpreter(module).run(*args)

        return run

    def record(self, module, args, kind, stem):
        """Runs the module and writes what happened, also where the run ends in an exception."""
        storages = _Storages(self.folder, self.values)
        inputs = [storages.value(a) for a in args]
        attributes = {path: storages.value(value) for path, value in _constants(module)}
        versions = [_version(a) for a in args]
        observer = _Observer(module)
        try:
            with torch.no_grad():
                return observer.run(*args)
        finally:
            env = _shape_env(module)
            data = {
                "version": FORMAT_VERSION,
                "kind": kind,
                "environment": {"torch": torch.__version__, "python": platform.python_version(),
                                "machine": platform.machine()},
                **_graph(module),
                "symbols": _symbols(env),
                "guards": _guards(env),
                "replacements": {str(k): str(v) for k, v in getattr(env, "replacements", {}).items()},
                "storages": storages.entries,
                "inputs": inputs,
                "attributes": attributes,
            }
            if observer.finished and None not in versions:
                placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
                data["mutated"] = [p.name for p, a, v in zip(placeholders, args, versions)
                                   if _version(a) != v]
            if self.real:
                data["real"] = observer.seen
            self.write(data, stem)

    def write(self, data, stem):
        path = os.path.join(self.folder, stem + ".json")
        with open(path + ".part", "w") as f:
            json.dump(data, f, indent=1)
        os.replace(path + ".part", path)


def _version(value):
    """Counts the writes to a tensor; nothing where that is not known."""
    if not isinstance(value, torch.Tensor):
        return 0
    return None if value.is_inference() else value._version


def _storage(tensor):
    """The storage under a tensor; nothing under sparse tensors and others without strides."""
    if tensor.layout != torch.strided:
        return None
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def _copies(values):
    """Copies of all tensors; what shared a storage shares the storage's copy."""
    copies = {}

    def copied(value):
        if not isinstance(value, torch.Tensor):
            return value
        storage = _storage(value)
        if storage is None:
            return value.detach().clone()
        if storage._cdata not in copies:
            copies[storage._cdata] = storage.clone()
        empty = torch.empty(0, dtype=value.dtype, device=value.device)
        return empty.set_(copies[storage._cdata], value.storage_offset(), value.shape, value.stride())

    with torch.no_grad():
        return [copied(v) for v in values]


class _Storages:
    """Input storages, each written once under the hash of its bytes."""

    def __init__(self, folder, values):
        self.folder, self.values = folder, values
        self.entries, self.index, self.keep = [], {}, []

    def value(self, value):
        if not isinstance(value, torch.Tensor):
            return {"value": _scalar(value)}
        storage = _storage(value)
        if storage is None:
            return {"value": None, **_without_strides(value)}
        return {"storage": self._number(storage), **_layout(value)}

    def _number(self, storage):
        key = storage.data_ptr() or storage._cdata
        if key not in self.index:
            self.index[key] = len(self.entries)
            self.keep.append(storage)  # so that no address is used twice
            entry = {"nbytes": int(storage.nbytes())}
            if self.values and storage.device.type != "meta":
                entry["file"] = self._write(storage.cpu())
            self.entries.append(entry)
        return self.index[key]

    def _write(self, storage):
        size = storage.nbytes()
        raw = ctypes.string_at(storage.data_ptr(), size) if size else b""
        name = "blobs/" + hashlib.sha256(raw).hexdigest()
        os.makedirs(os.path.join(self.folder, "blobs"), exist_ok=True)
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(raw)
        return name


class _Observer(Interpreter):
    """Runs the graph and keeps the metadata of every result."""

    def __init__(self, module):
        super().__init__(module)
        self.seen, self.keep, self.groups = {}, [], {}
        self.finished = False

    def run_node(self, n):
        result = super().run_node(n)
        self.seen[n.name] = self._value(result)
        self.finished = n.op == "output"
        return result

    def _value(self, value):
        if isinstance(value, torch.Tensor):
            storage = _storage(value)
            if storage is None:
                return {"const": None, **_without_strides(value)}
            self.keep.append(storage)  # so that no address is used twice
            group = self.groups.setdefault(storage._cdata, len(self.groups))
            return {**_layout(value), "alias": group, "storage_bytes": int(storage.nbytes()),
                    **_sums(value)}
        if isinstance(value, (list, tuple)):
            return [self._value(v) for v in value]
        return {"const": None if isinstance(value, GraphModule) else _scalar(value)}


def _layout(tensor):
    return {"dtype": _dtype(tensor.dtype), "size": list(map(int, tensor.shape)),
            "stride": list(map(int, tensor.stride())), "offset": int(tensor.storage_offset()),
            "device": str(tensor.device)}


def _without_strides(tensor):
    """What is kept of a tensor that no storage and strides describe."""
    return {"layout": str(tensor.layout).removeprefix("torch."), "dtype": _dtype(tensor.dtype),
            "size": [_number(s) for s in tensor.shape], "device": str(tensor.device)}


def _sums(tensor):
    """Sum and absolute sum in float64; nothing of dtypes that have none."""
    if tensor.is_complex() or tensor.device.type == "meta":
        return {}
    try:
        wide = tensor.detach().to(torch.float64)
        return {"sum": _scalar(wide.sum().item()), "abs": _scalar(wide.abs().sum().item())}
    except (NotImplementedError, RuntimeError):
        return {}


def _attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _attributes(module, kind):
    """Path and value of what the graph fetches from its module, of one kind."""
    paths = dict.fromkeys(n.target for n in module.graph.nodes if n.op == "get_attr")
    found = ((path, _attribute(module, path)) for path in paths)
    return [(path, value) for path, value in found if isinstance(value, kind)]


def _constants(module):
    """Path and value of the tensors that the graph and its bodies fetch from their modules."""
    for path, body in _attributes(module, GraphModule):
        yield from ((f"{path}.{inner}", value) for inner, value in _constants(body))
    yield from _attributes(module, torch.Tensor)


def _graph(module):
    """Nodes, and by attribute the bodies of higher-order operators (cond, while_loop, ...)."""
    graph = {"nodes": [_node(n) for n in module.graph.nodes]}
    bodies = {path: _graph(body) for path, body in _attributes(module, GraphModule)}
    return {**graph, "graphs": bodies} if bodies else graph


def _dtype(dtype):
    return str(dtype).removeprefix("torch.")


def _is_symbolic(value):
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _scalar(value):
    if _is_symbolic(value):
        value = value.node.hint
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"f": str(value)}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _number(value):
    return int(value) if isinstance(value, int) else str(value)


def _claim(value):
    if isinstance(value, torch.Tensor):
        if _storage(value) is None:
            return {"const": None, **_without_strides(value)}
        return {"dtype": _dtype(value.dtype), "size": [_number(s) for s in value.shape],
                "stride": [_number(s) for s in value.stride()],
                "offset": _number(value.storage_offset()), "device": str(value.device),
                "requires_grad": bool(value.requires_grad)}
    if _is_symbolic(value) or isinstance(value, (bool, int, float)):
        return {"sym": str(value)}
    if isinstance(value, (list, tuple)):
        return [_claim(v) for v in value]
    return None


def _target(node):
    target = node.target
    if isinstance(target, str):
        return target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if getattr(operators, target.__name__, None) is target:
        return "operator." + target.__name__
    return f"{target.__module__}.{target.__name__}"


def _arg(value):
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [_arg(v) for v in value]
    if isinstance(value, slice):
        return {"slice": [_arg(value.start), _arg(value.stop), _arg(value.step)]}
    if isinstance(value, dict):
        return {"dict": {str(k): _arg(v) for k, v in value.items()}}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return _scalar(value)
    if isinstance(value, complex):
        return {"c": [_scalar(value.real), _scalar(value.imag)]}
    if _is_symbolic(value):
        return {"sym": str(value)}
    return {"repr": str(value)}


def _short(path):
    """A path without the folders of the recording machine."""
    if not os.path.isabs(path):
        return path
    for mark in ("site-packages", "dist-packages"):
        folder = f"{os.sep}{mark}{os.sep}"
        if folder in path:
            return path[path.rindex(folder) + 1:]
    here = os.getcwd()
    for folder in (here, os.path.dirname(here), *sys.path):
        folder = folder.rstrip(os.sep) + os.sep
        if len(folder) > 1 and path.startswith(folder):
            return path[len(folder):]
    return os.path.basename(path)


def _stack(text):
    """The innermost frame: the line that names file, line and function, and the line of code.

    Frames of code that PyTorch generated (`<eval_with_key>`) count only where there is no other.
    """
    lines = [line for line in (text or "").splitlines() if line.strip()]
    frames = [i for i, line in enumerate(lines) if line.lstrip().startswith('File "')]
    if not frames:
        return None
    written = [i for i in frames if not lines[i].lstrip().startswith('File "<')]
    at = (written or frames)[-1]
    frame = re.sub(r'(?<=File ")[^"]*', lambda path: _short(path[0]), lines[at])
    return [frame, *lines[at + 1:at + 2]]  # what is behind the code are marks below it


def _node(node):
    module = [v[0] for v in (node.meta.get("nn_module_stack") or {}).values()]
    return {"name": node.name, "op": node.op, "target": _target(node),
            "args": [_arg(a) for a in node.args],
            "kwargs": {k: _arg(v) for k, v in node.kwargs.items()},
            "val": _claim(node.meta.get("val")),
            "stack": _stack(node.meta.get("stack_trace")),
            "module": module[-1:]}


def _shape_env(module):
    for node in module.graph.nodes:
        stack = [node.meta.get("val")]
        while stack:
            value = stack.pop()
            if isinstance(value, (list, tuple)):
                stack.extend(value)
            elif _is_symbolic(value):
                return value.node.shape_env
            elif isinstance(value, torch.Tensor):
                stack.extend(s for s in value.shape if isinstance(s, torch.SymInt))
                mode = getattr(value, "fake_mode", None)
                if mode is not None and mode.shape_env is not None:
                    return mode.shape_env
    return None


def _symbols(env):
    if env is None:
        return {}
    hints = getattr(env, "backed_var_to_val", None)  # var_to_val before PyTorch 2.11
    hints = env.var_to_val if hints is None else hints
    symbols = {}
    for symbol, span in env.var_to_range.items():
        sources = [s.name() if callable(getattr(s, "name", None)) else str(getattr(s, "name", s))
                   for s in getattr(env, "var_to_sources", {}).get(symbol, [])]
        symbols[str(symbol)] = {"hint": _hint(hints.get(symbol)),
                                "range": [str(span.lower), str(span.upper)], "sources": sources}
    return symbols


def _hint(hint):
    if hint is None:
        return None
    real = isinstance(hint, float) or getattr(hint, "is_Float", False)
    return _scalar(float(hint)) if real else int(hint)


def _where(guard):
    """`file:line in function` of the user's code that made the guard, else of PyTorch's."""
    place = getattr(guard, "sloc", None)
    user = getattr(place, "maybe_user_loc", None)  # with the code before it: "x + y  # m.py:5 in f"
    if user is not None:
        path, colon, rest = user.rpartition("  # ")[2].partition(":")
        return _short(path) + colon + rest
    frame = getattr(place, "framework_loc", None)
    if frame is None or isinstance(frame, str):
        return frame
    return f"{_short(frame.filename)}:{frame.lineno} in {frame.name}"


def _guards(env):
    return [{"expr": str(guard.expr), "where": _where(guard)}
            for guard in getattr(env, "guards", [])]
