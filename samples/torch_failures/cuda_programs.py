# Functions that Inductor compiles wrongly on a GPU, recorded as logs of TORCH_TRACE with the answers.
#
#   python samples/torch_failures/cuda_programs.py OUT [NAME ...]
#
# Each is compiled in a process of its own; OUT then has NAME.log, and NAME.json with the inputs, what
# eager mode gives and what the compiled program gave (or how it ended). Next, without a GPU:
#
#   assay debug OUT/NAME.log --stages --inputs OUT/NAME.json
#   assay minify OUT/NAME.log --programs --oracle stage -o minimal      # or --oracle run
#
# and on the GPU `python minimal/minimal.py` (README.md says of which). They fail with torch 2.11.0 and
# Triton as it comes with it; another version may have mended some.
import base64
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

import torch
from torch.nn import functional as F


def mixed_order(x):
    y = (0.5 - x).relu() + x * 1e-3
    return y.max(dim=-1).values, y.sum(dim=0)


# By name: the function, the inputs (size, dtype, lowest and highest value), what fails.
FAILURES = {
    # The select between sum and padding is dropped where the sum is split in two kernels (189895).
    "pad_sum": (lambda x: F.pad(x.sum(-1), (1, 0)), [((1, 16384), "float32", 0, 1)]),
    "pad_lengths": (lambda x: F.pad((x > 0.5).sum(-1, dtype=torch.int32).cumsum(0, dtype=torch.int32), (1, 0)),
                    [((1, 16384), "float32", 0, 1)]),
    # A sum over rows takes the rows behind the last one as well, as its operand maps 0 (195845).
    "mixed_order": (mixed_order, [((40961, 129), "float32", 1, 2)]),
    # One kernel writes rows of padded length, the next reads them with another one (179931, 180956).
    "pool_sum": (lambda x: F.adaptive_avg_pool2d(x, 7).flatten(1).sum(-1),
                 [((3, 33, 8, 8), "float64", -1, 1)]),
    # A product of two whole numbers is computed in 32 bits (175966).
    "arange_product": (lambda x: torch.arange(0, 11, device=x.device, dtype=torch.int64)
                       * torch.tensor([int(1e9)], dtype=torch.int64, device=x.device) + x.long(),
                       [((1,), "float32", 0, 1)]),
    "arange_scaled": (lambda x: (torch.arange(x.shape[0], device=x.device) * 700_000_000).double() + x,
                      [((9,), "float64", 0, 1)]),
}


def fill(seed, low, high, count):
    """`count` numbers of the fill that every recording of this project uses."""
    i = torch.arange(count, dtype=torch.int64)
    h = (i * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    h = h ^ (h >> 15)
    h = (h * 2246822519) & 0xFFFFFFFF
    h = h ^ (h >> 13)
    return low + (high - low) * (h >> 8).double() / 2**24


def described(tensor):
    layout = {"dtype": str(tensor.dtype).split(".")[1], "size": list(tensor.size()),
              "stride": list(tensor.stride()), "offset": tensor.storage_offset()}
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype in (torch.float16, torch.bfloat16):
        plain = plain.float()
    wide = plain.double()
    return layout | {"sum": wide.sum().item(), "abs": wide.abs().sum().item(),
                     "data": base64.b64encode(zlib.compress(plain.numpy().tobytes())).decode(),
                     "data_dtype": str(plain.dtype).split(".")[1]}


def answers(function, inputs):
    outputs = function(*inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return {"outputs": [described(o) for o in outputs]}


def record(name, path):
    """Compiles and runs one function; TORCH_TRACE is set already."""
    function, specified = FAILURES[name]
    inputs, written = [], []
    for k, (size, dtype, low, high) in enumerate(specified):
        count = int(torch.Size(size).numel())
        tensor = fill(k + 1, low, high, count).to(getattr(torch, dtype)).view(size).cuda()
        inputs.append(tensor)
        written.append({"size": list(size), "stride": list(tensor.stride()), "offset": 0, "dtype": dtype,
                        "requires_grad": False,
                        "fill": {"seed": k + 1, "lo": low, "hi": high, "storage_numel": count,
                                 "floor": False, "threshold": False}})
    said = {"name": name, "device": "cuda", "torch": torch.__version__, "inputs": written}
    said["eager"] = answers(function, [i.clone() for i in inputs])
    compiled = torch.compile(function)
    try:
        said["compiled"] = answers(compiled, [i.clone() for i in inputs])
        pairs = zip(said["eager"]["outputs"], said["compiled"]["outputs"])
        wrong = sum(abs(a["sum"] - b["sum"]) > 1e-3 * max(1.0, a["abs"]) for a, b in pairs)
        outcome = "wrong values" if wrong else "right"
    except Exception as error:  # the compiler's own failure is what is recorded
        outcome = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    said["outcome"] = outcome
    with open(path, "w") as out:
        json.dump(said, out)
    print(f"{name}: {outcome}", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: cuda_programs.py OUT [NAME ...]")
    if not torch.cuda.is_available():
        sys.exit("cuda_programs.py: no GPU that torch can use")
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or FAILURES:
        with tempfile.TemporaryDirectory() as traces:
            settings = os.environ | {"TORCH_TRACE": traces, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
            target = os.path.join(folder, name)
            subprocess.run([sys.executable, __file__, "--one", name, target + ".json"], env=settings)
            for log in glob.glob(os.path.join(traces, "*.log")):
                shutil.copy(log, target + ".log")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        record(*sys.argv[2:])
    else:
        main()
