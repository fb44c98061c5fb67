# Records the samples of this folder: python3 samples/record/record_samples.py
# Needs torch (recorded with 2.11.0, CPU). Rewrites samples/<name>/ completely.
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
    torch._dynamo.reset()
    torch.manual_seed(0)
    folder = fresh(name)
    for dim in dynamic_dims:
        torch._dynamo.mark_dynamic(x, dim)
    compiled = torch.compile(model, backend=assay_record.backend(folder, decompose=False))
    with torch.no_grad():
        compiled(x)
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


def main():
    torch.manual_seed(0)
    image = torch.randn(2, 3, 8, 8)
    record(Pad(), image.to(memory_format=torch.channels_last), "replication_pad_channels_last", [0, 2, 3])
    record(Pad(), image.clone(), "replication_pad_contiguous", [0, 2, 3])
    pad_in_place(record(PadRows(), torch.randn(68, 32), "padded_storage", [0]))


if __name__ == "__main__":
    main()
