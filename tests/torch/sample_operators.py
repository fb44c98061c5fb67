"""Records calls of operators that PyTorch's own test samples make, in many layouts.

    python tests/torch/sample_operators.py FILE.sqlite --seed 1 --device cpu --seconds 200

Each sample of `op_db` runs in one of the forms below, forwards and sometimes backwards; the calls
of ATen that it makes are recorded for `assay conform FILE.sqlite`, and some of them once more with
results written into given tensors (`out_...`) or with lazily conjugated or negated arguments
(`lazy`). A call is kept if no other of the file has its overload and layouts. Needs torch with its
internal tests (numpy, expecttest).
"""
import argparse
import contextlib
import hashlib
import itertools
import logging
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
import types
import unittest
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from record_operators import create_tables, record

from assay_record import _copies  # noqa: E402, found by record_operators


def with_strides(tensor, size, stride, offset=0):
    """The tensor's elements in a storage of their own with these strides."""
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    base = torch.zeros(last + 2, dtype=tensor.dtype, device=tensor.device)
    return base.as_strided(size, stride, offset).copy_(tensor)


def in_order(size, order):
    """Dense strides; the last dimension of `order` is the innermost."""
    strides, step = [0] * len(size), 1
    for d in reversed(order):
        strides[d], step = step, step * max(size[d], 1)
    return strides


def permuted(tensor, rng):
    order = list(range(tensor.dim()))
    rng.shuffle(order)
    return with_strides(tensor, tensor.shape, in_order(tensor.shape, order))


def expanded(tensor, rng):
    wide = [d for d, n in enumerate(tensor.shape) if n > 1]
    return tensor.narrow(rng.choice(wide), 0, 1).expand(tensor.shape) if wide else tensor


def offset(tensor, rng):
    return with_strides(tensor, tensor.shape, in_order(tensor.shape, range(tensor.dim())), rng.choice((1, 4, 7)))


def noncontiguous(tensor, rng):
    return with_strides(tensor, tensor.shape, [2 * s for s in in_order(tensor.shape, range(tensor.dim()))])


def padded(tensor, rng):
    """Rows with room behind them."""
    size = list(tensor.shape)
    size[-1:] = [n + 3 for n in size[-1:]]
    return with_strides(tensor, tensor.shape, in_order(size, range(tensor.dim())))


def channels_last(tensor, rng):
    order = [0, *range(2, tensor.dim()), 1]
    return with_strides(tensor, tensor.shape, in_order(tensor.shape, order)) if tensor.dim() > 2 else tensor


LAYOUTS = {"permuted": permuted, "expanded": expanded, "offset": offset, "noncontiguous": noncontiguous,
           "padded": padded, "channels_last": channels_last}
FORMS = ["plain", "inplace", "mixed", *LAYOUTS]


def transformed(value, form, rng):
    """A sample's tensor in the layout that a form asks for."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return value
    chosen = rng.choice([*LAYOUTS, "plain"]) if form == "mixed" else form
    made = LAYOUTS.get(chosen, lambda t, _: t.clone())(value.detach(), rng)
    return made.requires_grad_(value.requires_grad)


def is_plain_tensor(value):
    return (type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided
            and not value.is_quantized)


def bytes_in(values):
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes()
                for t in tree_leaves(values) if isinstance(t, torch.Tensor)}
    return sum(storages.values())


def described(value):
    """What makes a call's argument another one: layout, not contents."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(),
                value.is_conj(), value.is_neg())
    if isinstance(value, (list, tuple)):
        return tuple(described(v) for v in value)
    return str(value)


class Catch(TorchDispatchMode):
    """Keeps the calls of ATen below autograd, with copies of their arguments."""

    def __init__(self, wants):
        super().__init__()
        self.wants, self.calls = wants, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "aten" and self.wants(func, args, kwargs):
            self.calls.append((func, *copied(args, kwargs)))
        return func(*args, **kwargs)


def copied(args, kwargs):
    """Copies that share storages where the originals do, and are as lazy."""
    originals = tree_leaves((args, kwargs))
    copies = iter(list(zip(originals, _copies(originals))))

    def next_copy(_):
        original, copy = next(copies)
        if isinstance(original, torch.Tensor):
            copy = copy.conj() if original.is_conj() else copy
            copy = torch._neg_view(copy) if original.is_neg() else copy
        return copy

    return tree_map(next_copy, (args, kwargs))


def returns_of(result):
    return list(result) if isinstance(result, tuple) else [result]


DECIDED = {"dtype", "layout", "device", "pin_memory"}  # by the tensor that is given


def out_overload(func):
    """The overload that writes into given tensors, and the parameters' names; nothing without."""
    types = {a.name: str(a.type) for a in func._schema.arguments}
    packet = getattr(torch.ops.aten, func._schema.name.removeprefix("aten::"))
    for overload in (getattr(packet, name) for name in packet.overloads()):
        arguments = overload._schema.arguments
        outs = [a.name for a in arguments if a.is_out]
        others = {a.name: str(a.type) for a in arguments if not a.is_out}
        if (outs and len(outs) == len(func._schema.returns) and others.items() <= types.items()
                and types.keys() - others.keys() <= DECIDED):
            return overload, list(others), outs
    return None


def other_size(size, rng):
    size = list(size)
    return rng.choice(([0], [n + 1 for n in size] or [2], size[1:] or [3], [1, *size]))


OUTS = {  # what is given as `out`, by the result that it is for
    "out_alike": lambda t, rng: torch.ones_like(t),
    "out_contiguous": lambda t, rng: torch.ones(t.shape, dtype=t.dtype, device=t.device),
    "out_permuted": lambda t, rng: permuted(torch.ones_like(t), rng),
    "out_noncontiguous": lambda t, rng: noncontiguous(torch.ones_like(t), rng),
    "out_offset": lambda t, rng: offset(torch.ones_like(t), rng),
    "out_empty": lambda t, rng: torch.ones(0, dtype=t.dtype, device=t.device),
    "out_resized": lambda t, rng: torch.ones(other_size(t.shape, rng), dtype=t.dtype, device=t.device),
    "out_cast": lambda t, rng: torch.ones_like(t, dtype={torch.float32: torch.float64, torch.complex64:
                                                         torch.complex128}.get(t.dtype, t.dtype)),
}


def into_out(func, args, kwargs, rng):
    """The same call with given tensors: overload, arguments, form; nothing if there is none."""
    found = out_overload(func)
    if found is None:
        return None
    overload, others, outs = found
    copies = copied(args, kwargs)
    with torch.no_grad():
        results = returns_of(func(*copies[0], **copies[1]))
    if not all(is_plain_tensor(t) for t in tree_leaves(results)):
        return None
    given = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
    form = rng.choice([*OUTS])
    made = tree_map(lambda t: OUTS[form](t, rng), results)
    taken = {name: given[name] for name in others if name in given} | dict(zip(outs, made))
    keyword_only = {a.name for a in overload._schema.arguments if a.kwarg_only}
    positional = []
    for argument in overload._schema.arguments:
        if argument.name in keyword_only or argument.name not in taken:
            break
        positional.append(taken.pop(argument.name))
    return overload, tuple(positional), taken, form


def lazily(args, kwargs, rng):
    """Some of the complex arguments conjugated lazily, some others negated; nothing without."""
    changed = False

    def lazy(value):
        nonlocal changed
        if not isinstance(value, torch.Tensor) or not (value.is_complex() or value.is_floating_point()):
            return value
        chance = rng.random()
        if value.is_complex() and chance < 0.7:
            changed = True
            return value.conj()
        if chance > 0.93:
            changed = True
            return torch._neg_view(value)
        return value

    made = tree_map(lazy, (args, kwargs))
    return made if changed else None


class Sampler:
    """Writes the calls of samples, each layout of an overload once."""

    def __init__(self, db, options):
        self.db, self.options = db, options
        self.rng = random.Random(f"{options.seed} {options.attempt}")
        self.seen = {key for key, in db.execute("select key from keys")}
        self.counts = dict(db.execute("select overload, count(*) from cases group by overload"))

    def wants(self, func, args, kwargs):
        """Is the call new, small and of plain tensors?"""
        if self.counts.get(str(func), 0) >= self.options.cap:
            return False
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if not all(is_plain_tensor(t) and t.device.type == self.options.device or t.dim() == 0 for t in tensors):
            return False
        if bytes_in(tensors) > self.options.bytes:
            return False
        text = repr((str(func), described(args), described(sorted(kwargs.items()))))
        key = hashlib.sha1(text.encode()).hexdigest()
        if key in self.seen:
            return False
        self.seen.add(key)
        self.db.execute("insert into keys values (?)", (key,))
        return True

    def write(self, func, args, kwargs, opinfo, form):
        """Records one call; those that PyTorch refuses are left out."""
        torch.manual_seed(self.options.seed)
        try:
            record(self.db, func, *copied(args, kwargs), opinfo=opinfo, variant=form, most=16 * self.options.bytes)
        except Exception:  # samples of errors, layouts that an operator refuses
            return
        self.counts[str(func)] = self.counts.get(str(func), 0) + 1

    def corners(self, func, args, kwargs, opinfo):
        """The call once more into given tensors, and with lazy arguments."""
        with contextlib.suppress(RuntimeError, TypeError, ValueError, NotImplementedError):
            made = into_out(func, args, kwargs, self.rng)
            if made is not None and self.wants(*made[:3]):
                self.write(*made[:3], opinfo, made[3])
        lazy = lazily(args, kwargs, self.rng)
        if lazy is not None and self.wants(func, *lazy):
            self.write(func, *lazy, opinfo, "lazy")

    def run(self, op, sample, form):
        """One sample in one form, with its gradient where there is one."""
        rng = self.rng
        call = op.inplace_variant if form == "inplace" else op
        if call is None:
            return
        args, kwargs = tree_map(lambda v: transformed(v, form, rng), ((sample.input, *sample.args), sample.kwargs))
        with Catch(self.wants) as catch, contextlib.suppress(Exception):
            result = call(*args, **kwargs)
            inputs = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
            outs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
            if inputs and outs:
                gradients = [transformed(torch.randn_like(t), form, rng) for t in outs]
                with torch.autograd.set_multithreading_enabled(False):  # the mode is this thread's
                    torch.autograd.grad(outs, inputs, gradients, allow_unused=True)
        for func, a, k in catch.calls:
            self.write(func, a, k, op.name, form)
            if rng.random() < self.options.corners:
                self.corners(func, a, k, op.name)

    def visit(self, op):
        """Some samples of one operator in one dtype and form."""
        rng, device = self.rng, self.options.device
        dtypes = sorted(op.supported_dtypes(device), key=str)
        if not dtypes:
            return
        favourite = torch.float32 if rng.random() < 0.4 else torch.complex64 if rng.random() < 0.3 else None
        dtype = favourite if favourite in dtypes else rng.choice(dtypes)
        form = rng.choice(FORMS)
        differentiates = form != "inplace" and dtype.is_floating_point and rng.random() < 0.7
        torch.manual_seed(rng.randrange(1 << 30))
        with contextlib.suppress(Exception):
            samples = list(itertools.islice(op.sample_inputs(device, dtype, requires_grad=differentiates), 60))
            for sample in rng.sample(samples, min(len(samples), self.options.samples)):
                self.run(op, sample, form)


def import_samples():
    """PyTorch's operator samples. Their module wants packages that samples do not use."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)
    from torch.testing._internal.common_methods_invocations import op_db
    return op_db


def sample_all(db, options):
    """Passes over all operators in random order until the time is over."""
    # Before the import, which closes these switches.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    op_db = import_samples()
    sampler = Sampler(db, options)
    crashing = {value for value, in db.execute("select value from properties where name like 'crash%'")}
    ops = [op for op in op_db if re.search(options.match, op.name) and "sparse" not in op.name
           and "nested" not in op.name and op.name not in crashing]
    while True:
        sampler.rng.shuffle(ops)
        for op in ops:
            if time.time() > options.deadline:
                return
            db.execute("insert or replace into properties values ('at', ?)", (op.name,))
            db.commit()
            sampler.visit(op)
            if options.device == "cuda":
                torch.cuda.synchronize()  # a failure of the device shows here, and ends the process
            db.commit()


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--match", default="", help="only operators whose names have this regular expression")
    parser.add_argument("--cap", type=int, default=40, help="most calls of an overload")
    parser.add_argument("--samples", type=int, default=4, help="of an operator in a pass")
    parser.add_argument("--bytes", type=int, default=1 << 16, help="most bytes of a call's arguments")
    parser.add_argument("--corners", type=float, default=0.5, help="share of calls that are repeated as corners")
    parser.add_argument("--attempt", type=int, help=argparse.SUPPRESS)  # set in the process that records
    parser.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parsed()
    if options.attempt is not None:
        with contextlib.closing(sqlite3.connect(options.file)) as db, db:
            db.execute("pragma synchronous = off")
            sample_all(db, options)
        return
    if os.path.exists(options.file):
        os.remove(options.file)
    with contextlib.closing(sqlite3.connect(options.file)) as db:
        create_tables(db)
        db.execute("create table properties(name text primary key, value text)")
        db.execute("create table keys(key text primary key)")
        properties = {"device": options.device, "torch": torch.__version__, "seed": options.seed}
        db.executemany("insert into properties values (?, ?)", [(k, str(v)) for k, v in properties.items()])
        db.commit()
        deadline = time.time() + options.seconds
        for attempt in itertools.count():  # some calls crash PyTorch: another process goes on
            command = [sys.executable, *sys.argv, f"--attempt={attempt}", f"--deadline={deadline}"]
            status = subprocess.run(command).returncode
            if status == 0 or time.time() > deadline:
                break
            at, = db.execute("select value from properties where name = 'at'").fetchone() or ("its start",)
            db.execute("insert into properties values (?, ?)", (f"crash {attempt}", at))
            db.commit()
            print(f"{at} ends PyTorch with {status}", file=sys.stderr)
        db.execute("drop table keys")
        db.execute("delete from properties where name = 'at' or name like 'crash%'")
        db.commit()
        counts = db.execute("select count(*), count(distinct overload) from cases").fetchone()
        print("{} calls of {} overloads".format(*counts))


if __name__ == "__main__":
    main()
