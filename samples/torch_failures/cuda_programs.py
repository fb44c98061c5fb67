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
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import assay_record


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
    return low + (high - low) * assay_record._fill(seed, torch.empty(count, dtype=torch.float64))


def record(name, path):
    """Compiles and runs one function; TORCH_TRACE is set already."""
    function, specified = FAILURES[name]
    inputs = [fill(k + 1, low, high, torch.Size(size).numel()).to(getattr(torch, dtype)).view(size).cuda()
              for k, (size, dtype, low, high) in enumerate(specified)]
    print(f"{name}: {assay_record.answers(function, inputs, path)}", flush=True)


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
