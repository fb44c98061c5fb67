"""Kernels of `assay bench` beside PyTorch's eager mode and Inductor, in one run.

usage: compile_peers.py ASSAY [--threads N] [--executor cuda] [--dtype bf16] [--rounds N] [--burst N]     needs torch;
prints medians in ms and their ratios, on a GPU in time of its own clock, and how much of the bandwidth of PyTorch's
copy of a matrix of these sizes is used. On a GPU each time is the mean of a burst of calls in a row, of the copy and
the peers too: else what a host does before its first launch would count. With rounds all take turns, and of each the
median round counts: machines that are shared are slow for seconds at a time.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

from clock import timed

HEADER = "class G(torch.nn.Module):\n    def forward(self, {}):\n{}        return ({},)\n"
X = 'x: "f32[s0, s1][s1, 1]cpu"'
ROW = 'w: "f32[s1][1]cpu", b: "f32[s1][1]cpu"'
LAYER_NORM = """        m = torch.ops.aten.native_layer_norm.default(x, [s1], w, b, 1e-05)
        a = m[0]
"""


def call(text):
    return f"        a = torch.ops.aten.{text}\n"


SMALL_INDEX = """        c = torch.ops.aten.abs.default(x)
        d = torch.ops.aten.mul.Tensor(c, 10)
        e = torch.ops.aten._to_copy.default(d, dtype = torch.int64)
        i = torch.ops.aten.clamp.default(e, 0, 63)
"""


def small_index(x):
    return (x.abs() * 10).to(torch.int64).clamp(0, 63)


def layer_norm_backward(x, r, w, b):
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [x.shape[1]], w, b, 1e-05)
    return torch.ops.aten.native_layer_norm_backward(
        r, x, [x.shape[1]], mean, rstd, w, b, [True, False, False])[0]


# name, parameters, body of the graph, the same in PyTorch
KERNELS = [
    ("chain", X, "        s = torch.ops.aten.sigmoid.default(x)\n        c = torch.ops.aten.mul.Tensor(s, x)\n"
     "        a = torch.ops.aten.add.Tensor(c, 1.5)\n", lambda x: torch.sigmoid(x) * x + 1.5),
    ("bias_gelu", X + ', b: "f32[s1][1]cpu", r: "f32[s0, s1][s1, 1]cpu"',
     "        c = torch.ops.aten.add.Tensor(x, b)\n        d = torch.ops.aten.gelu.default(c)\n"
     "        a = torch.ops.aten.add.Tensor(d, r)\n", lambda x, b, r: F.gelu(x + b) + r),
    ("softmax", X, call("_softmax.default(x, 1, False)"), lambda x: torch.softmax(x, 1)),
    ("layer_norm", X + ", " + ROW, LAYER_NORM,
     lambda x, w, b: F.layer_norm(x, (x.shape[1],), w, b)),
    ("row_sum", X, call("sum.dim_IntList(x, [1])"), lambda x: x.sum(1)),
    ("column_sum", X, call("sum.dim_IntList(x, [0])"), lambda x: x.sum(0)),
    ("cumsum", X, call("cumsum.default(x, 1)"), lambda x: x.cumsum(1)),
    ("full_sum", X, call("sum.default(x)"), lambda x: x.sum()),
    ("pad", X, call("constant_pad_nd.default(x, [3, 5, 2, 1], 0.0)"),
     lambda x: F.pad(x, (3, 5, 2, 1))),
    ("norm_back", X + ', r: "f32[s0, s1][s1, 1]cpu", ' + ROW, LAYER_NORM.replace("a = m[0]", "u = m[1]\n        v = m[2]")
     + "        g = torch.ops.aten.native_layer_norm_backward.default(r, x, [s1], u, v, w, b, "
     "[True, False, False])\n        a = g[0]\n",
     lambda x, r, w, b: layer_norm_backward(x, r, w, b)),
    ("cat", X + ', r: "f32[s0, s1][s1, 1]cpu"', call("cat.default([x, r], 1)"),
     lambda x, r: torch.cat([x, r], 1)),
    ("gather", X + ', r: "f32[s0, s1][s1, 1]cpu"', SMALL_INDEX + call("gather.default(r, 1, i)"),
     lambda x, r: torch.gather(r, 1, small_index(x))),
    ("embedding", X + ', b: "f32[s1][1]cpu", r: "f32[s0, s1][s1, 1]cpu"',
     SMALL_INDEX.replace("(x)", "(b)") + call("embedding.default(r, i)"),
     lambda x, b, r: F.embedding(small_index(b), r)),
    ("embed_back", X + ', b: "f32[s0][1]cpu"', SMALL_INDEX.replace("(x)", "(b)")
     + "        z = torch.ops.aten.full.default([64, s1], 0.0, dtype = torch.float32, device = device(type='cpu'), "
     "pin_memory = False)\n" + call("index_put.default(z, [i], x, True)"),
     lambda x, b: torch.zeros(64, x.shape[1], device=x.device, dtype=x.dtype).index_put(
         (small_index(b),), x, accumulate=True)),
    ("transpose", X, "        t = torch.ops.aten.permute.default(x, [1, 0])\n"
     + call("clone.default(t, memory_format = torch.contiguous_format)"),
     lambda x: x.t().contiguous()),
]
LEAST_ROWS = {"embedding": 64}  # that its indices ask for
MOST_COLUMNS = {"embedding": 1 << 15}  # that its result, a row for each column, has memory for
SIZES = {"cpu": [(64, 256), (1, 4096), (7, 70), (127, 1000), (33, 65), (1024, 768), (513, 511), (4096, 64),
                 (1999, 1537), (3, 100003), (300, 3000), (2048, 2048)],
         "cuda": [(65536, 1024), (16384, 4096), (4096, 16384), (262144, 256), (30011, 2047),
                  (60000, 1000), (1024, 65536)]}


def median_ms(run, on_gpu, burst, count=15):
    if on_gpu:
        return timed(run, count, burst=burst)
    run()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def inputs(parameters, rows, columns, device, dtype):
    shapes = {"x": (rows, columns), "r": (rows, columns), "w": (columns,),
              "b": (rows if '"f32[s0][1]' in parameters else columns,)}
    names = [part.split(":")[0].strip() for part in parameters.split(', ') if ": " in part]
    return [torch.randn(shapes[name], device=device).to(dtype) for name in names]


def copy_bytes_per_ms(rows, columns, device, dtype, burst):
    """Bytes that PyTorch's copy reads and writes."""
    source = torch.randn(rows, columns, device=device).to(dtype)
    target = torch.empty_like(source)
    return 2 * source.nbytes / timed(lambda: target.copy_(source), 15, device, burst=burst)


def assay_ms(options, graph, rows, columns):
    out = subprocess.run([options.assay, "bench", graph, "--at", f"s0={rows},s1={columns}",
                          "--json", "--threads", str(options.threads), "--runs", "15",
                          "--burst", str(options.burst), "--executor", options.executor],
                         capture_output=True, text=True, check=True).stdout
    made = json.loads(out)
    if made["changed_bytes"]:  # atomic sums may
        print(f"{pathlib.Path(graph).stem} at {rows}x{columns}: a later call gave other bits")
    return made["median_s"] * 1e3, made["bytes_per_s"] / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--executor", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--burst", type=int, help="calls in a row that are timed together; 10 on a GPU, else 1")
    parser.add_argument("--only", help="names of kernels, separated by commas")
    options = parser.parse_args()
    on_gpu = options.executor == "cuda"
    options.burst = options.burst or (10 if on_gpu else 1)
    dtype = torch.float32 if options.dtype == "f32" else torch.bfloat16
    wanted = options.only.split(",") if options.only else [row[0] for row in KERNELS]
    torch.set_num_threads(options.threads)
    ratios = {"eager": [], "inductor": []}
    print(f"{'kernel':<12}{'sizes':<12}{'assay':>9}{'eager':>9}{'inductor':>9}{'e/a':>7}{'i/a':>7}{'of copy':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, parameters, body, function in KERNELS:
            graph = pathlib.Path(folder) / f"{name}.txt"
            if name not in wanted:
                continue
            if options.dtype != "f32" and name == "embed_back":
                continue  # narrow sums at indices are no kernel
            text = HEADER.format(parameters, body, "a").replace("f32[", options.dtype + "[")
            graph.write_text(text.replace("]cpu", "]cuda:0") if on_gpu else text)
            compiled = torch.compile(function, dynamic=True)
            for rows, columns in SIZES[options.executor]:
                if rows < LEAST_ROWS.get(name, 0) or columns > MOST_COLUMNS.get(name, columns):
                    continue
                data = inputs(parameters, rows, columns, options.executor, dtype)
                copy = copy_bytes_per_ms(rows, columns, options.executor, dtype, options.burst)
                measured = [(*assay_ms(options, graph, rows, columns),
                             median_ms(lambda: function(*data), on_gpu, options.burst),
                             median_ms(lambda: compiled(*data), on_gpu, options.burst)) for _ in range(options.rounds)]
                mine, bandwidth, eager, inductor = map(statistics.median, zip(*measured))
                ratios["eager"].append(eager / mine)
                ratios["inductor"].append(inductor / mine)
                print(f"{name:<12}{rows}x{columns:<7}{mine:9.3f}{eager:9.3f}{inductor:9.3f}"
                      f"{eager / mine:7.2f}{inductor / mine:7.2f}{bandwidth / copy:9.2f}", flush=True)
    for peer, values in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, values)))
        print(f"geometric mean of {peer}/assay: {mean:.2f}, lowest {min(values):.2f}")


if __name__ == "__main__":
    main()
