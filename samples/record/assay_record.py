# Records what torch.compile and torch.export capture, with the real run beside it, for `assay`.
#
#   import assay_record
#   compiled = torch.compile(model, backend=assay_record.backend("out/"))
#   compiled(x).sum().backward()                      # every graph becomes out/graphN_KIND.json
#   assay_record.export(model, (x,), "out/")          # out/export.pt2 and out/export.json
#   assay debug out/graph0_fwd.json
#
# One file, needs nothing but torch (2.4 or later). values=False leaves tensor data out.
# Format: JSON as described in replay/README.md of Assay, raw little-endian storages beside it.
import hashlib
import json
import operator
import os
import platform
import re

import torch
from torch.fx import Interpreter, Node

FORMAT_VERSION = 1


def backend(folder, values=True, real=True, decompose=True):
    """A torch.compile backend that runs the captured graphs eagerly and records each of them.

    folder     where graphN_fwd.json, graphN_bwd.json, graphN_inf.json and blobs/ go
    values     keep the bytes of the real inputs, else only their metadata
    real       record what every node really produced
    decompose  apply Inductor's decompositions, else keep ATen operators as they are called
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    recorder = _Recorder(folder, values, real)

    def compiler(kind):
        return lambda module, _: make_boxed_func(recorder.wrap(module, kind))

    decompositions = None
    if decompose:
        from torch._inductor.decomposition import select_decomp_table
        decompositions = select_decomp_table()
    return aot_autograd(fw_compiler=compiler("fwd"), bw_compiler=compiler("bwd"),
                        inference_compiler=compiler("inf"), decompositions=decompositions)


def export(model, args, folder, name="export", **options):
    """torch.export to folder/name.pt2, and its graph with the real run to folder/name.json."""
    os.makedirs(folder, exist_ok=True)
    program = torch.export.export(model, args, **options)
    path = os.path.join(folder, name + ".pt2")
    torch.export.save(program, path)
    recorder = _Recorder(folder, True, True)
    recorder.record(program.graph_module, program._graph_module_flat_inputs(args, {}), "export", name)
    return path


class _Recorder:
    def __init__(self, folder, values, real):
        self.folder, self.values, self.real = folder, values, real
        self.count = 0
        os.makedirs(folder, exist_ok=True)

    def wrap(self, module, kind):
        """Records at the first call, when the guards are complete and real inputs are there."""
        stem = f"graph{self.count}_{kind}"
        self.count += 1
        recorded = False

        def run(*args):
            nonlocal recorded
            if not recorded:
                recorded = True
                return self.record(module, args, kind, stem)
            return Interpreter(module).run(*args)

        return run

    def record(self, module, args, kind, stem):
        storages = _Storages(self.folder, self.values)
        inputs = [storages.value(a) for a in args]
        versions = [a._version if isinstance(a, torch.Tensor) and not a.is_inference() else None
                    for a in args]
        attributes = {n.target: storages.value(_attribute(module, n.target))
                      for n in module.graph.nodes
                      if n.op == "get_attr" and isinstance(_attribute(module, n.target), torch.Tensor)}
        observer = _Observer(module)
        with torch.no_grad():
            result = observer.run(*args)
        env = _shape_env(module)
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        mutated = [p.name for p, a, v in zip(placeholders, args, versions)
                   if v is not None and a._version != v]
        data = {
            "version": FORMAT_VERSION,
            "kind": kind,
            "environment": {"torch": torch.__version__, "python": platform.python_version(),
                            "machine": platform.machine()},
            "nodes": [_node(n) for n in module.graph.nodes],
            "symbols": _symbols(env),
            "guards": _guards(env),
            "replacements": {str(k): str(v) for k, v in getattr(env, "replacements", {}).items()},
            "storages": storages.entries,
            "inputs": inputs,
            "attributes": attributes,
            "mutated": mutated,
        }
        if self.real:
            data["real"] = observer.seen
        path = os.path.join(self.folder, stem + ".json")
        with open(path + ".part", "w") as f:
            json.dump(data, f, indent=1)
        os.replace(path + ".part", path)
        return result


class _Storages:
    """Input storages, each written once under the hash of its bytes."""

    def __init__(self, folder, values):
        self.folder, self.values = folder, values
        self.entries, self.index = [], {}

    def value(self, value):
        if isinstance(value, torch.Tensor):
            meta = {"dtype": _dtype(value.dtype), "size": list(map(int, value.shape)),
                    "stride": list(map(int, value.stride())), "offset": int(value.storage_offset()),
                    "device": str(value.device)}
            return {"storage": self._storage(value), **meta}
        return {"value": _scalar(value)}

    def _storage(self, tensor):
        storage = tensor.untyped_storage()
        key = storage.data_ptr() or id(storage)
        if key not in self.index:
            self.index[key] = len(self.entries)
            entry = {"nbytes": int(storage.nbytes())}
            if self.values:
                raw = torch.empty(0, dtype=torch.uint8).set_(storage.cpu()).numpy().tobytes()
                digest = hashlib.sha256(raw).hexdigest()
                os.makedirs(os.path.join(self.folder, "blobs"), exist_ok=True)
                entry["file"] = "blobs/" + digest
                with open(os.path.join(self.folder, entry["file"]), "wb") as f:
                    f.write(raw)
            self.entries.append(entry)
        return self.index[key]


class _Observer(Interpreter):
    """Runs the graph and keeps the metadata of every result."""

    def __init__(self, module):
        super().__init__(module)
        self.seen, self.keep, self.groups = {}, [], {}

    def run_node(self, n):
        result = super().run_node(n)
        self.seen[n.name] = self._value(result)
        return result

    def _value(self, value):
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            self.keep.append(storage)  # so that no address is used twice
            group = self.groups.setdefault(storage._cdata, len(self.groups))
            seen = {"dtype": _dtype(value.dtype), "size": list(map(int, value.shape)),
                    "stride": list(map(int, value.stride())), "offset": int(value.storage_offset()),
                    "alias": group, "storage_bytes": int(storage.nbytes())}
            if not value.is_complex():
                wide = value.detach().to(torch.float64)
                seen["sum"], seen["abs"] = _scalar(wide.sum().item()), _scalar(wide.abs().sum().item())
            return seen
        if isinstance(value, (list, tuple)):
            return [self._value(v) for v in value]
        return {"const": _scalar(value)}


def _attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _dtype(dtype):
    return str(dtype).removeprefix("torch.")


def _scalar(value):
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        value = value.node.hint
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"f": str(value)}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _number(value):
    return int(value) if isinstance(value, int) else str(value)


def _claim(value):
    if isinstance(value, torch.Tensor):
        return {"dtype": _dtype(value.dtype), "size": [_number(s) for s in value.shape],
                "stride": [_number(s) for s in value.stride()],
                "offset": _number(value.storage_offset()), "device": str(value.device),
                "requires_grad": bool(value.requires_grad)}
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return {"sym": str(value)}
    if isinstance(value, (bool, int, float)):
        return {"sym": str(value)}
    if isinstance(value, (list, tuple)):
        return [_claim(v) for v in value]
    return None


def _target(node):
    target = node.target
    if isinstance(target, str):
        return target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        return str(target)
    if getattr(operator, target.__name__, None) is target:
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
    return {"repr": str(value)}


def _short(line):
    """Stack lines without the folders of the recording machine."""
    for prefix in (os.getcwd() + os.sep, os.path.dirname(os.getcwd()) + os.sep):
        line = line.replace(prefix, "")
    return re.sub(r'"[^"]*/(site-packages/|samples/)', r'"\1', line)


def _node(node):
    stack = node.meta.get("stack_trace")
    module = [v[0] for v in (node.meta.get("nn_module_stack") or {}).values()]
    return {"name": node.name, "op": node.op, "target": _target(node),
            "args": [_arg(a) for a in node.args],
            "kwargs": {k: _arg(v) for k, v in node.kwargs.items()},
            "val": _claim(node.meta.get("val")),
            "stack": [_short(line) for line in stack.splitlines() if line.strip()][-2:] if stack else None,
            "module": module[-1:]}


def _shape_env(module):
    for node in module.graph.nodes:
        stack = [node.meta.get("val")]
        while stack:
            value = stack.pop()
            if isinstance(value, (list, tuple)):
                stack.extend(value)
            elif isinstance(value, torch.SymInt):
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
    hints = getattr(env, "backed_var_to_val", None) or getattr(env, "var_to_val", {})
    symbols = {}
    for symbol, span in env.var_to_range.items():
        sources = [s.name() if callable(getattr(s, "name", None)) else str(getattr(s, "name", s))
                   for s in getattr(env, "var_to_sources", {}).get(symbol, [])]
        hint = hints.get(symbol)
        symbols[str(symbol)] = {"hint": None if hint is None else _scalar(float(hint) if "." in str(hint) else int(hint)),
                                "range": [str(span.lower), str(span.upper)], "sources": sources}
    return symbols


def _guards(env):
    guards = []
    for guard in getattr(env, "guards", []) if env is not None else []:
        where = getattr(guard, "sloc", None)
        user = getattr(where, "user_loc", None) or getattr(where, "framework_loc", None)
        guards.append({"expr": str(guard.expr), "where": None if user is None else _short(str(user))})
    return guards
