"""Single operators of `assay bench` beside PyTorch's eager mode on a GPU, in one run.

usage: operator_peers.py ASSAY [--dtype bf16] [--only NAME,...] [--rounds N]     needs torch and a GPU

Each is a graph of one operator, or of the few that stand for a layer, of sizes as models have them. Prints medians in
microseconds of GPU time, each of bursts of five calls, and their ratio; `!` marks what is slower than eager.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import torch
import torch.nn.functional as F

from clock import timed

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i64": torch.int64, "b8": torch.bool}
ELEMENTS = [8192, 4096]
IMAGE = [64, 256, 28, 28]
CHANNELS = [(256, "f32")] * 4
VOCABULARY = [8192, 32000]


def unary(name, f):
    return name, [ELEMENTS], f"a = aten.{name}.default(x0)", f


def batch_norm(x, w, b, m, v):
    return torch.ops.aten._native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-5)[0]


def batch_norm_training(x, w, b, m, v):
    return torch.ops.aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]


def batch_norm_backward(g, x, w, m, r):
    return torch.ops.aten.native_batch_norm_backward(g, x, w, None, None, m, r, True, 1e-5, [True] * 3)


def layer_norm_backward(g, x, m, r, w):
    return torch.ops.aten.native_layer_norm_backward(g, x, [1024], m, r, w, w, [True] * 3)


def rope(x, c, s):
    return x * c + torch.cat([-x[..., 64:], x[..., :64]], -1) * s


HEADS = [8, 16, 1024, 64]
LONG_HEADS = [2, 16, 4096, 128]


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_backward(g, q, k, v):
    """The forward pass is made once, outside of what is timed."""
    key = g.data_ptr()
    if attention_backward.made is None or attention_backward.made[0] != key:
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        attention_backward.made = key, leaves, attention(*leaves)
    _, leaves, out = attention_backward.made
    return torch.autograd.grad(out, leaves, g, retain_graph=True)


attention_backward.made = None
ATTENTION = "m = aten._scaled_dot_product_flash_attention.default(x0, x1, x2, 0.0, True)\na = m[0]"
ATTENTION_BACKWARD = ("n = aten._scaled_dot_product_flash_attention_backward.default(x0, x1, x2, x3, x4, x5, None, None, "
                      "1024, 1024, 0.0, True, x6, x6)\na = n[0]\nb = n[1]\nc = n[2]")
ON_GPU = "device = device(type='cuda', index=0), pin_memory = False"

# name, inputs (sizes, and a dtype where it is not the one asked for), statements; `a` and what follows it are results
OPERATORS = [
    *(unary(name, getattr(torch, name)) for name in
      ("exp", "exp2", "expm1", "log", "log1p", "sigmoid", "tanh", "erf", "sin", "cos", "rsqrt", "sqrt")),
    *(unary(name, getattr(F, name)) for name in ("relu", "silu", "gelu", "softplus", "mish", "elu", "hardswish")),
    ("gelu_tanh", [ELEMENTS], "a = aten.gelu.default(x0, approximate = 'tanh')",
     lambda x: F.gelu(x, approximate="tanh")),
    ("div", [ELEMENTS, ELEMENTS], "a = aten.div.Tensor(x0, x1)", torch.div),
    ("gelu_backward", [ELEMENTS, ELEMENTS], "a = aten.gelu_backward.default(x0, x1)",
     lambda g, x: torch.ops.aten.gelu_backward(g, x)),
    ("log_softmax", [VOCABULARY], "a = aten._log_softmax.default(x0, 1, False)", lambda x: x.log_softmax(1)),
    ("cross_entropy", [VOCABULARY, ([8192], "i64")], "l = aten._log_softmax.default(x0, 1, False)\n"
     "n = aten.nll_loss_forward.default(l, x1, None, 1, -100)\na = n[0]", F.cross_entropy),
    ("mse_loss", [ELEMENTS, ELEMENTS], "a = aten.mse_loss.default(x0, x1)", F.mse_loss),
    ("bce_with_logits", [ELEMENTS, ELEMENTS], "a = aten.binary_cross_entropy_with_logits.default(x0, x1)",
     F.binary_cross_entropy_with_logits),
    ("layer_norm_backward", [[8192, 1024], [8192, 1024], ([8192, 1], "f32"), ([8192, 1], "f32"), [1024]],
     "n = aten.native_layer_norm_backward.default(x0, x1, [1024], x2, x3, x4, x4, [True, True, True])\n"
     "a = n[0]\nb = n[1]\nc = n[2]", layer_norm_backward),
    ("group_norm", [[16, 320, 64, 64], [320]],
     "n = aten.native_group_norm.default(x0, x1, x1, 16, 320, 4096, 32, 1e-05)\na = n[0]",
     lambda x, w: F.group_norm(x, 32, w, w)),
    ("batch_norm", [IMAGE, *(([n], d) for n, d in CHANNELS)],
     "n = aten._native_batch_norm_legit_no_training.default(x0, x1, x2, x3, x4, 0.1, 1e-05)\na = n[0]", batch_norm),
    ("batch_norm_training", [IMAGE, *(([n], d) for n, d in CHANNELS)],
     "n = aten._native_batch_norm_legit_functional.default(x0, x1, x2, x3, x4, True, 0.1, 1e-05)\na = n[0]",
     batch_norm_training),
    *((f"batch_norm_training_{side}", [[64, 1024, side, side], *(([1024], "f32") for _ in CHANNELS)],
       "n = aten._native_batch_norm_legit_functional.default(x0, x1, x2, x3, x4, True, 0.1, 1e-05)\na = n[0]",
       batch_norm_training) for side in (14, 7)),
    ("batch_norm_of_channels_last", [[64, 28, 28, 256], *(([n], d) for n, d in CHANNELS)],
     "p = aten.permute.default(x0, [0, 3, 1, 2])\n"
     "n = aten._native_batch_norm_legit_functional.default(p, x1, x2, x3, x4, True, 0.1, 1e-05)\na = n[0]",
     lambda x, *rest: batch_norm_training(x.permute(0, 3, 1, 2), *rest)),
    ("batch_norm_backward_of_channels_last", [[64, 28, 28, 256], [64, 28, 28, 256], *(([n], d) for n, d in CHANNELS[1:])],
     "p = aten.permute.default(x0, [0, 3, 1, 2])\nq = aten.permute.default(x1, [0, 3, 1, 2])\n"
     "n = aten.native_batch_norm_backward.default(p, q, x2, None, None, x3, x4, True, 1e-05, [True, True, True])\n"
     "a = n[0]\nb = n[1]\nc = n[2]",
     lambda g, x, *rest: batch_norm_backward(g.permute(0, 3, 1, 2), x.permute(0, 3, 1, 2), *rest)),
    ("batch_norm_of_few", [[64, 16, 112, 112], *(([16], "f32") for _ in CHANNELS)],
     "n = aten._native_batch_norm_legit_functional.default(x0, x1, x2, x3, x4, True, 0.1, 1e-05)\na = n[0]",
     batch_norm_training),
    ("convolution", [[32, 128, 56, 56], [128, 128, 3, 3]],
     "a = aten.convolution.default(x0, x1, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)",
     lambda x, w: F.conv2d(x, w, padding=1)),
    ("convolution_of_points", [[32, 256, 56, 56], [64, 256, 1, 1]],
     "a = aten.convolution.default(x0, x1, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
     lambda x, w: F.conv2d(x, w)),
    ("convolution_backward", [[32, 128, 56, 56], [32, 128, 56, 56], [128, 128, 3, 3]],
     "n = aten.convolution_backward.default(x0, x1, x2, [128], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, "
     "[True, True, True])\na = n[0]\nb = n[1]\nc = n[2]",
     lambda g, x, w: torch.ops.aten.convolution_backward(g, x, w, [128], [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
                                                         [True] * 3)),
    ("linear", [[8192, 1024], [4096, 1024], [4096]],
     "t = aten.permute.default(x1, [1, 0])\na = aten.addmm.default(x2, x0, t)", lambda x, w, b: F.linear(x, w, b)),
    ("depthwise_backward", [[32, 96, 56, 56], [32, 96, 56, 56], [96, 1, 7, 7]],
     "n = aten.convolution_backward.default(x0, x1, x2, [96], [1, 1], [3, 3], [1, 1], False, [0, 0], 96, "
     "[True, True, True])\na = n[0]\nb = n[1]\nc = n[2]",
     lambda g, x, w: torch.ops.aten.convolution_backward(g, x, w, [96], [1, 1], [3, 3], [1, 1], False, [0, 0], 96,
                                                         [True] * 3)),
    ("softmax_of_one_row", [[1, 1 << 20]], "a = aten._softmax.default(x0, 1, False)", lambda x: x.softmax(1)),
    ("cumsum_of_tokens", [[8192, 64]], "a = aten.cumsum.default(x0, 0)", lambda x: x.cumsum(0)),
    ("cumsum_of_one_row", [[1 << 20]], "a = aten.cumsum.default(x0, 0)", lambda x: x.cumsum(0)),
    ("batch_norm_backward", [IMAGE, IMAGE, *(([n], d) for n, d in CHANNELS[1:])],
     "n = aten.native_batch_norm_backward.default(x0, x1, x2, None, None, x3, x4, True, 1e-05, [True, True, True])\n"
     "a = n[0]\nb = n[1]\nc = n[2]", batch_norm_backward),
    ("dropout", [ELEMENTS], "n = aten.native_dropout.default(x0, 0.1, True)\na = n[0]\nb = n[1]",
     lambda x: torch.native_dropout(x, 0.1, True)),
    ("rand", [ELEMENTS], f"a = aten.rand.default([8192, 4096], {ON_GPU})", lambda x: torch.rand(8192, 4096, device="cuda")),
    ("randn", [ELEMENTS], f"a = aten.randn.default([8192, 4096], {ON_GPU})",
     lambda x: torch.randn(8192, 4096, device="cuda")),
    ("bernoulli", [ELEMENTS], "a = aten.bernoulli.p(x0, 0.5)", lambda x: torch.bernoulli(x, 0.5)),
    ("dropped_and_added", [ELEMENTS, ELEMENTS, ([], "i64")],
     "r = prims.inductor_random.default([8192, 4096], x2, 'rand')\nk = aten.gt.Scalar(r, 0.1)\n"
     "m = aten.mul.Tensor(k, x0)\ns = aten.mul.Tensor(m, 1.1111)\na = aten.add.Tensor(s, x1)",
     lambda x, y, _: F.dropout(x, 0.1) + y),
    ("attention", [HEADS] * 3, ATTENTION, attention),
    ("attention_of_long", [LONG_HEADS] * 3, ATTENTION, attention),
    ("attention_backward", [HEADS] * 5 + [(HEADS[:3], "f32"), ([], "i64")], ATTENTION_BACKWARD,
     lambda g, q, k, v, out, sums, _: attention_backward(g, q, k, v)),
    ("sort", [[1024, 32000]], "n = aten.sort.default(x0, 1)\na = n[0]\nb = n[1]", lambda x: x.sort(1)),
    ("sort_short", [[4096, 1024]], "n = aten.sort.default(x0, 1)\na = n[0]\nb = n[1]", lambda x: x.sort(1)),
    ("sort_of_one_row", [[1 << 22]], "n = aten.sort.default(x0, 0)\na = n[0]\nb = n[1]", lambda x: x.sort(0)),
    ("topk", [[1024, 32000]], "n = aten.topk.default(x0, 50, 1)\na = n[0]\nb = n[1]", lambda x: x.topk(50, 1)),
    ("topk_of_experts", [[8192, 64]], "n = aten.topk.default(x0, 8, 1)\na = n[0]\nb = n[1]", lambda x: x.topk(8, 1)),
    ("logsumexp", [VOCABULARY], "a = aten.logsumexp.default(x0, [1])", lambda x: x.logsumexp(1)),
    ("vector_norm", [ELEMENTS], "a = aten.linalg_vector_norm.default(x0, 2, [1])",
     lambda x: torch.linalg.vector_norm(x, 2, 1)),
    ("argmax", [VOCABULARY], "a = aten.argmax.default(x0, 1)", lambda x: x.argmax(1)),
    ("cumsum", [[4096, 4096]], "a = aten.cumsum.default(x0, 1)", lambda x: x.cumsum(1)),
    ("max_pool2d", [[64, 64, 112, 112]],
     "n = aten.max_pool2d_with_indices.default(x0, [3, 3], [2, 2], [1, 1])\na = n[0]",
     lambda x: F.max_pool2d(x, 3, 2, 1)),
    ("upsample_nearest2d", [[16, 256, 64, 64]], "a = aten.upsample_nearest2d.vec(x0, None, [2.0, 2.0])",
     lambda x: F.interpolate(x, scale_factor=2.0)),
    ("upsample_bilinear2d", [[16, 128, 64, 64]], "a = aten.upsample_bilinear2d.vec(x0, None, False, [2.0, 2.0])",
     lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear")),
    ("im2col", [[32, 64, 56, 56]], "a = aten.im2col.default(x0, [3, 3], [1, 1], [1, 1], [1, 1])",
     lambda x: F.unfold(x, 3, padding=1)),
    ("roll", [[64, 56, 56, 96]], "a = aten.roll.default(x0, [-3, -3], [1, 2])", lambda x: x.roll((-3, -3), (1, 2))),
    ("rope", [[8, 32, 1024, 128], [1024, 128], [1024, 128]],
     "m = aten.mul.Tensor(x0, x1)\nl = aten.slice.Tensor(x0, 3, 0, 64)\n"
     "r = aten.slice.Tensor(x0, 3, 64, 9223372036854775807)\nn = aten.neg.default(r)\n"
     "c = aten.cat.default([n, l], -1)\ns = aten.mul.Tensor(c, x2)\na = aten.add.Tensor(m, s)", rope),
    ("embedding_backward", [[64, 512, 1024], ([64, 512], "i64")],
     "a = aten.embedding_dense_backward.default(x0, x1, 32000, -1, False)",
     lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 32000, -1, False)),
    ("index_add", [[4096, 1024], [8192, 1024], ([8192], "i64")], "a = aten.index_add.default(x0, 0, x2, x1)",
     lambda x, y, i: x.index_add(0, i, y)),
]
INDICES = {"index_add": 4096}  # below this; else below 32000


def strides(sizes):
    made, step = [], 1
    for size in reversed(sizes):
        made.insert(0, step)
        step *= size
    return made


def typed(inputs, dtype):
    return [one if isinstance(one, tuple) else (one, dtype) for one in inputs]


def text(inputs, body):
    head = ", ".join(f'x{i}: "{d}{sizes}{strides(sizes)}cuda:0"' for i, (sizes, d) in enumerate(inputs))
    lines = "".join(f"        {line.replace('aten.', 'torch.ops.aten.').replace('prims.', 'torch.ops.prims.')}\n"
                    for line in body.splitlines())
    results = [name for name in "abc" if f"\n{name} = n[" in body or body.splitlines()[-1].startswith(f"{name} = ")]
    return f"class G(torch.nn.Module):\n    def forward(self, {head}):\n{lines}        return ({', '.join(results)},)\n"


def tensor(name, sizes, dtype):
    if dtype == "i64":
        return torch.randint(0, INDICES.get(name, 32000), sizes, device="cuda")
    return torch.randn(sizes, device="cuda").to(DTYPES[dtype])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--dtype", default="bf16", choices=["f32", "bf16"])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    slower = 0
    rows = [row for row in OPERATORS if not options.only or row[0] in options.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for name, inputs, body, f in rows:
            inputs = typed(inputs, options.dtype)
            path = pathlib.Path(folder) / f"{name}.txt"
            path.write_text(text(inputs, body))
            tensors = [tensor(name, *one) for one in inputs]
            eager, ours = [], []
            for _ in range(options.rounds):
                eager.append(timed(lambda: f(*tensors), 9, burst=5))
                made = subprocess.run([options.assay, "bench", path, "--json", "--runs", "9", "--burst", "5", "--executor",
                                       "cuda"], capture_output=True, text=True, check=True).stdout
                ours.append(json.loads(made)["median_s"] * 1e3)
            times = statistics.median(eager) * 1e3, statistics.median(ours) * 1e3
            slower += times[1] > times[0]
            print(f"{options.dtype} {name:<20} eager {times[0]:8.1f}  assay {times[1]:8.1f}  ratio "
                  f"{times[1] / times[0]:5.2f} {'!' if times[1] > times[0] else ''}", flush=True)
    print(f"{slower} of {len(rows)} slower than eager")


if __name__ == "__main__":
    main()
