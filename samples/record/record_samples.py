# Records the samples of this folder: python3 samples/record/record_samples.py [NAME ...]
# Without names: those that hold for the torch that runs this (2.4 to 2.15, CPU; table at the end).
# Rewrites samples/<name>/ completely.
import json
import os
import shutil
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.dirname(HERE)
sys.path.insert(0, HERE)
import assay_record  # noqa: E402


class Pad(torch.nn.Module):
    """A convolution whose result is padded by replication, as image models do."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = torch.nn.functional.pad(self.conv(x), (1, 1, 1, 1), mode="replicate")
        return torch.relu(y) * 2


class PadConv(torch.nn.Module):
    """A convolution that pads by replication itself."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate")

    def forward(self, x):
        return torch.relu(self.conv(x))


class PadRows(torch.nn.Module):
    """Pads a dynamic number of rows to a multiple of 8, then uses them."""

    def forward(self, x):
        y = torch.relu(x)
        return torch.nn.functional.pad(y, (0, 0, 0, -x.shape[0] % 8)) * 2


def fresh(name):
    folder = os.path.join(SAMPLES, name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def record(model, x, name, dynamic_dims):
    """Records an inference run, or forward and backward where x requires a gradient."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    folder = fresh(name)
    for dim in dynamic_dims:
        torch._dynamo.mark_dynamic(x, dim)
    compiled = torch.compile(model, backend=assay_record.backend(folder, decompose=False))
    with torch.set_grad_enabled(x.requires_grad):
        result = compiled(x)
    if result.requires_grad:
        result.sum().backward()
    return os.path.join(folder, "graph0_inf.json")


def pad_in_place(path):
    """Replaces the pad by what an in-place padding writes: a larger view of the unpadded buffer.

    This is the defect of PyTorch issue 169760 as it looks in a graph: the layout is right, the
    storage under it was allocated for the unpadded rows. Values recorded after it are dropped.
    """
    with open(path) as f:
        data = json.load(f)
    pad = next(n for n in data["nodes"] if n["target"] == "aten.constant_pad_nd.default")
    pad["target"] = "aten.as_strided.default"
    rows = "padded_rows"
    symbol = next(n["name"] for n in data["nodes"] if "sym" in (n["val"] or {}))
    total = {"name": rows, "op": "call_function", "target": "operator.add",
             "args": [{"node": symbol}, pad["args"][1][3]], "kwargs": {},
             "val": {"sym": pad["val"]["size"][0]}, "stack": pad["stack"], "module": pad["module"]}
    data["nodes"].insert(data["nodes"].index(pad), total)
    pad["args"] = [pad["args"][0], [{"node": rows}, pad["val"]["size"][1]], pad["val"]["stride"]]
    names = [n["name"] for n in data["nodes"]]
    for name in names[names.index(pad["name"]):]:
        data["real"].pop(name, None)
    with open(path, "w") as f:
        json.dump(data, f, indent=1)


def rows_to(name, fake_rows):
    """An operator that pads rows to a multiple, with this fake, and calls to infer its rule from."""
    library = torch.library.Library("sample", "FRAGMENT")

    def rows_to(x, multiple):
        return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % multiple))

    library.define(f"{name}(Tensor x, int multiple) -> Tensor")
    library.impl(name, rows_to, "CPU")
    torch.library.register_fake(
        f"sample::{name}", lambda x, multiple: x.new_empty(fake_rows(x, multiple), x.shape[1]),
        lib=library)
    op = getattr(torch.ops.sample, name)

    class RowsTo(torch.nn.Module):
        def forward(self, x):
            return op(torch.relu(x), 8) * 2

    path = record(RowsTo(), torch.randn(68, 32), name, [0])
    calls = [(5, 3, 4), (8, 7, 3), (16, 2, 8), (21, 6, 16), (30, 5, 10), (64, 4, 8)]
    assay_record.operator(op, [(torch.randn(m, n), k) for m, n, k in calls],
                          os.path.dirname(path))


def image(layout):
    torch.manual_seed(0)
    return torch.randn(2, 3, 8, 8).to(memory_format=layout)


def forward(name, layout):
    torch.manual_seed(0)
    record(Pad(), image(layout), name, [0, 2, 3])


def training(name, layout):
    torch.manual_seed(0)
    record(PadConv().to(memory_format=layout), image(layout).requires_grad_(), name, [0, 2, 3])


def padded_rows(name):
    pad_in_place(record(PadRows(), torch.randn(68, 32), name, [0]))


# Name, how it is recorded, first and last torch that it holds for.
RECORDINGS = [
    ("replication_pad_channels_last", lambda name: forward(name, torch.channels_last), "2.4", "2.12"),
    ("replication_pad_contiguous", lambda name: forward(name, torch.contiguous_format), "2.4", "2.12"),
    ("replication_pad_training", lambda name: training(name, torch.channels_last), "2.4", "2.15"),
    ("replication_pad_training_contiguous",
     lambda name: training(name, torch.contiguous_format), "2.4", "2.15"),
    ("padded_storage", padded_rows, "2.4", "2.15"),
    ("custom_operator", lambda name: rows_to(
        name, lambda x, k: x.shape[0] + k - x.shape[0] % k), "2.4", "2.15"),
    ("custom_operator_right", lambda name: rows_to(
        name, lambda x, k: (x.shape[0] + k - 1) // k * k), "2.4", "2.15"),
]


def main(names):
    numbers = tuple(map(int, torch.__version__.split(".")[:2]))
    for name, make, first, last in RECORDINGS:
        low, high = (tuple(map(int, version.split("."))) for version in (first, last))
        if name in names or not names and low <= numbers <= high:
            make(name)
        else:
            print(f"{name}: not recorded" + ("" if names else f", it holds for torch {first} to {last}"))


if __name__ == "__main__":
    main(sys.argv[1:])
