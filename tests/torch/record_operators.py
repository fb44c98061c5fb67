"""Records what PyTorch gives for calls of operators that other recordings seldom hold.

    python tests/torch/record_operators.py tests/data/operators/cpu.sqlite calls
    python tests/torch/record_operators.py tests/data/operators/corners.sqlite corners

A new operator gets a line in `calls`: the overload and its arguments. The file is one of recorded
calls (`assay conform FILE`); the unit tests hold the table to it. Operators of libraries that are not
installed are left out, with a message.
"""
import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import sqlite3
import sys
import zlib

import torch
from torch.utils._pytree import tree_leaves

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "samples", "record"))
from assay_record import _call  # noqa: E402


def values(*size, dtype=torch.float32, seed=0, low=-2.0, high=2.0):
    """Random numbers of a seed, integers between the limits."""
    generator = torch.Generator().manual_seed(seed + sum(size) + 7 * len(size))
    drawn = torch.rand(size, generator=generator, dtype=torch.float64) * (high - low) + low
    if dtype.is_complex:
        drawn = torch.complex(drawn, drawn.flip(0) if size else drawn)
    return drawn.to(dtype)


def turned(*size, **options):
    """The same in memory of the reversed order, behind an offset."""
    whole = values(*reversed(size), **options)
    padded = torch.cat([whole.flatten()[:3], whole.flatten()])
    return padded[3:].view(*reversed(size)).permute(*range(len(size) - 1, -1, -1))


def ints(*size, low=0, high=5, dtype=torch.int64, seed=0):
    return values(*size, low=low, high=high, seed=seed).floor().to(dtype)


def recurrent(gates, hidden=3, features=2, layers=1, both=False, bias=True, dtype=torch.float32):
    weights = []
    for layer in range(layers):
        for direction in range(1 + both):
            width = features if layer == 0 else hidden * (1 + both)
            sizes = [(gates * hidden, width), (gates * hidden, hidden)]
            sizes += [(gates * hidden,)] * 2 if bias else []
            weights += [values(*s, seed=10 * layer + direction + i, dtype=dtype)
                        for i, s in enumerate(sizes)]
    return weights


def calls():
    """Overloads by name, and their arguments."""
    y, x, z = values(3, 5), values(5, seed=1), values(2, 3, dtype=torch.complex64)
    for dim in (-1, 0):
        yield "aten.trapezoid.dx", (turned(3, 4),), {"dx": 0.5, "dim": dim}
        yield "aten.cumulative_trapezoid.dx", (turned(3, 4),), {"dim": dim}
        yield "aten.gradient.scalarint", (values(4, 5),), {"spacing": 0.5, "dim": dim, "edge_order": 2}
    yield "aten.trapezoid.x", (y, x), {}
    yield "aten.trapz.x", (y, values(3, 5, seed=2)), {}
    yield "aten.trapz.dx", (ints(3, 4),), {"dx": 2.0}
    yield "aten.trapezoid.dx", (values(0, 3),), {"dim": 0}
    yield "aten.cumulative_trapezoid.x", (y, x), {}
    positions = torch.tensor([0.0, 0.5, 1.5, 3.0, 3.5])
    for order in (1, 2):
        yield "aten.gradient.tensorarrayint", (y,), {"spacing": [positions], "dim": 1, "edge_order": order}
    yield "aten.gradient.array", (y,), {"dim": [0, 1]}
    yield "aten.gradient.scalarrayarray", (y,), {"spacing": [0.5, 2.0], "dim": [1, 0]}
    yield "aten.cov.default", (turned(3, 5),), {"correction": 0}
    yield "aten.cov.default", (z,), {}
    weights = {"fweights": ints(5, low=1), "aweights": values(5, low=0.1)}
    yield "aten.cov.default", (y,), weights
    yield "aten.corrcoef.default", (y,), {}
    yield "aten.corrcoef.default", (x,), {}

    yield "aten.tensor_split.sections", (values(7, 2), 3), {}
    yield "aten.tensor_split.indices", (values(7, 2), [2, 9, 4]), {}
    yield "aten.hsplit.int", (values(2, 6), 3), {}
    yield "aten.vsplit.array", (values(4, 2), [1, 3]), {}
    yield "aten.dsplit.int", (values(2, 2, 4), 2), {}
    yield "aten.kron.default", (values(2, 3), values(3, 2, 2)), {}
    yield "aten.cartesian_prod.default", ([ints(2), ints(3, seed=1)],), {}
    yield "aten.combinations.default", (ints(4), 2), {}
    yield "aten.combinations.default", (ints(3), 3, True), {}
    yield "aten.cross.default", (values(2, 3), values(2, 3, seed=1)), {}
    yield "aten.vander.default", (ints(3, high=4), 4), {}
    yield "aten.vander.default", (values(3), None, True), {}
    yield "aten.linalg_vander.default", (values(2, 3),), {"N": 4}
    yield "aten.where.default", (ints(2, 3, high=2),), {}
    yield "aten.where.Scalar", (ints(2, 3, high=2) > 0, 1, 2.5), {}
    yield "aten.atleast_2d.Sequence", ([values(3), values()],), {}
    yield "aten.sum_to_size.default", (values(2, 3, 4), [3, 1]), {}
    for first in (False, True):
        for side in ("left", "right"):
            yield "aten.pad_sequence.default", ([values(3, 2), values(1, 2)], first, 1.5, side), {}
    yield "aten.fill_diagonal_.default", (values(7, 3), 9.0, True), {}
    yield "aten.fill_diagonal_.default", (values(3, 3, 3), 9.0), {}
    yield "aten.narrow.Tensor", (values(5, 2), 0, torch.tensor(2), 3), {}
    yield "aten.repeat_interleave.self_Tensor", (values(3, 2), torch.tensor([2, 0, 1]), 0), {}
    yield "aten._cast_Int.default", (values(3),), {}
    yield "aten._shape_as_tensor.default", (values(2, 3),), {}

    square = values(4, 4) + 4 * torch.eye(4)
    singular = torch.ones(3, 4)
    for rank in ("linalg_matrix_rank", "linalg_pinv"):
        yield f"aten.{rank}.atol_rtol_float", (singular,), {"atol": 0.01}
        yield f"aten.{rank}.default", (square, 1e-6), {}
        yield f"aten.{rank}.atol_rtol_tensor", (singular,), {"rtol": torch.tensor(0.01)}
    yield "aten.linalg_matrix_rank.default", (square @ square.T, 1e-3, True), {}
    yield "aten.pinverse.default", (values(3, 2),), {}
    for p in (None, 2, -2, 1, float("inf")):
        yield "aten.linalg_cond.default", (square, p), {}
    yield "aten.linalg_cond.p_str", (square, "fro"), {}
    yield "aten.nuclear_norm.dim", (values(2, 3, 4), [2, 0], True), {}
    yield "aten.logdet.default", (torch.stack([square, -square[[1, 0, 2, 3]]]),), {}
    yield "aten.linalg_tensorinv.default", (values(4, 2, 2),), {"ind": 1}
    yield "aten.linalg_tensorsolve.default", (values(2, 2, 4), values(2, 2)), {}
    yield "aten.svd.default", (values(4, 3), False), {}
    yield "aten.svd.default", (values(4, 3), True, False), {}
    yield "aten.bilinear.default", (values(5, 2), values(5, 3), values(4, 2, 3), values(4)), {}
    yield "aten.norm_except_dim.default", (values(3, 4, 2), 2, 1), {}

    padded, lengths = values(4, 3, 2), torch.tensor([4, 3, 1])
    for first in (False, True):
        given = padded.transpose(0, 1) if first else padded
        yield "aten._pack_padded_sequence.default", (given, lengths, first), {}
        data, counts = torch.ops.aten._pack_padded_sequence(given, lengths, first)
        yield "aten._pad_packed_sequence.default", (data, counts, first, 0.5, 6), {}
        yield "aten._pack_padded_sequence_backward.default", (data, list(given.shape), counts, first), {}
    for both in (False, True):
        for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
            state = values(2 * (1 + both), 3, 3, seed=3)
            states = [state, values(2 * (1 + both), 3, 3, seed=4)] if name == "lstm" else state
            yield (f"aten.{name}.data", (data, counts, states, recurrent(gates, layers=2, both=both), True,
                                         2, 0.0, False, both), {})

    yield "aten.fft_hfft.default", (z,), {}
    yield "aten.fft_ihfft.default", (x,), {"norm": "ortho"}
    for name in ("irfftn", "hfftn"):
        yield f"aten.fft_{name}.default", (values(3, 4, dtype=torch.complex64),), {"s": [3, 5]}
        yield f"aten.fft_{name[:-1]}2.default", (values(3, 4, dtype=torch.complex64),), {"norm": "forward"}
    yield "aten.fft_ihfft2.default", (values(3, 4),), {}

    image, kernel = values(2, 4, 5, 6), values(3, 4, 3, 3)
    no_flags = (False, False, False, False)
    yield "aten._convolution.default", (image, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
                                        *no_flags), {}
    yield "aten._convolution_mode.default", (image, kernel, None, [1, 1], "same", [1, 1], 1), {}
    yield "aten.thnn_conv2d.default", (image, kernel, [3, 3], values(3)), {}
    yield "aten.slow_conv_dilated2d.default", (image, kernel, [3, 3], None, [1, 1], [1, 1], [2, 2]), {}
    yield "aten.slow_conv_transpose2d.default", (image, values(4, 2, 3, 3), [3, 3], None, [2, 2], [1, 1],
                                                 [1, 1]), {}
    yield "aten.conv_tbc.default", (values(6, 2, 3), values(3, 3, 4), values(4), 1), {}
    yield "aten._add_relu.Tensor", (y, values(3, 5, seed=9)), {"alpha": 2}
    for gelu in (False, True):
        yield "aten._addmm_activation.default", (values(4), values(3, 5), values(5, 4)), {"use_gelu": gelu}
    yield "aten._masked_softmax.default", (y, ints(3, 5, high=2) > 0, 1), {}
    yield "aten.isin.Tensor_Scalar", (ints(4), 2), {"invert": True}
    yield "aten.isin.Scalar_Tensor", (2, ints(4)), {}
    yield "aten.norm.ScalarOpt_dim_dtype", (y, None, [1], True), {"dtype": torch.float64}
    yield "aten._pad_enum.default", (y, [1, 1], 0), {}
    yield "aten.max_pool1d_with_indices.default", (values(2, 3, 8), [3], [2], [1]), {}

    yield "aten.zeros.out", ([2, 3],), {"out": torch.ones(7)}
    yield "aten.arange.start_out", (1, 7, 2), {"out": torch.ones(3)}
    for given in (9, 0):
        yield "aten.mm.out", (values(2, 3), values(3, 2)), {"out": torch.ones(given)}
    yield "aten.split_copy.Tensor_out", (values(4, 2), 2), {"out": [torch.ones(2, 2), torch.ones(2, 2)]}
    yield "aten.resize_.default", (values(2, 3), [5]), {}
    yield "aten.float_power_.Scalar", (values(3, dtype=torch.float64, low=0), 2), {}
    yield "aten.arctan2_.default", (values(3), values(3, seed=1)), {}
    yield "aten.__iand__.Tensor", (ints(3), ints(3, seed=1)), {}
    yield "aten._foreach_clamp_max_.List", ([values(3)], [values(3, seed=1)]), {}
    yield "aten._foreach_add.List_out", ([values(3)], [values(3, seed=1)]), {"out": [torch.ones(3)]}

    narrow = dict(dtype=torch.int8, low=-100, high=100)
    yield "aten._int_mm.default", (ints(17, 8, **narrow), ints(8, 16, **narrow)), {}
    yield "aten._weight_int8pack_mm.default", (values(4, 8).bfloat16(), ints(6, 8, **narrow),
                                               values(6).bfloat16()), {}
    scale, zero = values(3, 1, low=0.01, high=0.1), ints(3, 1)
    yield "quantized_decomposed.choose_qparams.tensor", (y, 0, 255, 1e-5, torch.uint8), {}
    yield "quantized_decomposed.choose_qparams_symmetric.tensor", (y, -127, 127, 1e-5, torch.int8), {}
    yield "quantized_decomposed.choose_qparams_per_token.default", (y, torch.int8), {}
    yield "quantized_decomposed.choose_qparams_per_token_asymmetric.default", (y, torch.int8), {}
    yield "quantized_decomposed.quantize_per_token.default", (y, scale, zero, -128, 127, torch.int8), {}
    level = ints(3, 5, **narrow)
    yield ("quantized_decomposed.dequantize_per_token.default",
           (level, scale, zero, -128, 127, torch.int8, torch.float32), {})
    grouped, group_scale = values(3, 8), values(3, 2, low=0.01, high=0.1)
    yield ("quantized_decomposed.quantize_per_channel_group.default",
           (grouped, group_scale, ints(3, 2), -8, 7, torch.int8, 4), {})
    yield ("quantized_decomposed.dequantize_per_channel_group.default",
           (ints(3, 8, **narrow), group_scale, ints(3, 2), -8, 7, torch.int8, 4, torch.float32), {})

    regions = torch.tensor([[0, 0.5, 0.2, 4.3, 3.9], [1, 1.0, 1.0, 2.0, 2.0], [0, -1.0, 2.5, 9.0, 4.4]])
    yield "torchvision.roi_pool.default", (image, regions, 1.0, 2, 3), {}
    yield "torchvision.ps_roi_pool.default", (image, regions, 0.5, 2, 2), {}
    for samples in (-1, 2):
        yield "torchvision.ps_roi_align.default", (image, regions, 1.0, 2, 2, samples), {}
    offset = values(2, 2 * 2 * 9, 3, 4, low=-1.5, high=1.5)
    yield ("torchvision.deform_conv2d.default", (image, values(6, 2, 3, 3), offset, values(2, 2 * 9, 3, 4),
                                                 values(6), 1, 1, 0, 0, 1, 1, 2, 2, True), {})

    yield "prims.broadcast_in_dim.default", (values(3), [2, 3, 4], [1]), {}
    yield "prims.collapse_view.default", (values(2, 3, 4), 1, 2), {}
    yield "prims.split_dim.default", (values(2, 6), 1, 3), {}
    yield "prims.transpose.default", (values(2, 3), [1, 0]), {}
    yield "prims.sum.default", (values(2, 3), [1]), {}
    yield "prims.var.default", (values(2, 3), [1], 0.0), {}
    yield "prims.add.default", (turned(2, 3), values(2, 3)), {}

    yield from library_calls(image, regions)


def outs_of_other_layouts():
    """One call for each thing that PyTorch makes of an `out` (core/ops/rows/out_names.h)."""
    empty, wrong, x = (lambda: torch.ones(0)), (lambda: torch.ones(7)), turned(3, 4)
    behind = torch.ones(30)[5:9].view(2, 2)
    for out in (empty(), wrong(), behind, torch.ones(6, 8)[::2, ::2]):
        yield "aten.add.out", (x, turned(3, 4, seed=1)), {"out": out}
    yield "aten.isnan.out", (x,), {"out": torch.ones(0, dtype=torch.bool)}
    yield "aten.clone.out", (x,), {"out": wrong()}
    yield "aten.abs.out", (values(20).as_strided((1, 10), (20, 1)),), {"out": torch.ones(3)}
    yield "aten.abs.out", (turned(3, 4, dtype=torch.complex64),), {"out": empty()}
    yield "aten.huber_loss_backward.out", (values(), turned(3, 4), values(3, 4), 1, 1.0), {"grad_input": empty()}
    volume = turned(1, 2, 4, 4, 4)
    indices = torch.ones(1, 2, 2, 2, 2, dtype=torch.int64).mT
    yield "aten.max_pool3d_with_indices.out", (volume, [2, 2, 2]), {"out": turned(1, 2, 2, 2, 2), "indices": indices}
    yield "aten.replication_pad2d.out", (values(1, 2, 3, 4), [1, 0, 0, 1]), {"out": turned(1, 2, 4, 5)}
    yield "aten.log_sigmoid_forward.output", (x,), {"output": torch.ones(4, 3).t(), "buffer": torch.ones(3, 4)}
    for name, arguments in (("_softmax", (values(3, 4), 1, False)), ("_log_softmax", (values(3, 4), 0, False))):
        yield f"aten.{name}.out", arguments, {"out": torch.ones(4, 3).t()}
    yield "aten.avg_pool3d.out", (volume, [2, 2, 2]), {"out": torch.ones(2, 2, 2, 2, 1).permute(4, 3, 2, 1, 0)}
    windows = torch.tensor([[[[0, 2], [9, 11]]]])
    yield ("aten.fractional_max_pool2d_backward.grad_input",
           (values(1, 1, 2, 2), values(1, 1, 4, 4), [2, 2], [2, 2], windows),
           {"grad_input": torch.ones(1, 1, 4, 8)[..., ::2]})
    square = values(3, 3) + 3 * torch.eye(3)
    for out in (empty(), wrong()):
        yield "aten.geqrf.a", (values(4, 3),), {"a": out.clone(), "tau": out.clone()}
        yield "aten.cholesky_inverse.out", (square.tril(),), {"out": out}
    yield "aten.linalg_qr.out", (values(4, 3),), {"Q": empty(), "R": wrong()}
    yield "aten.linspace.out", (0, 1, 6), {"out": torch.ones(3, 2).t()}
    yield "aten.sort.values", (x, 0), {"values": empty(), "indices": torch.ones(7, dtype=torch.int64)}
    yield "aten.split_copy.Tensor_out", (x, 2), {"out": [torch.ones(4, 2).t(), torch.ones(2, 4)[:1]]}
    probability, label = turned(3, 4, low=0.1, high=0.9), values(3, 4, low=0, high=1)
    for out, reduction in ((torch.ones(()), 1), (torch.ones(5), 2), (torch.ones(2), 0), (torch.ones(3, 4), 0)):
        yield "aten.binary_cross_entropy.out", (probability, label, None, reduction), {"out": out}
    yield ("aten.binary_cross_entropy_backward.grad_input", (values(3, 4), probability, label, None, 0),
           {"grad_input": torch.ones(5)})
    yield "aten.addbmm_.default", (values(1), values(2, 3, 4), values(2, 4, 5)), {"beta": 0.5}
    yield "aten._linalg_svd.U", (values(4, 3),), {"U": empty(), "S": empty(), "Vh": wrong()}


def corners():
    """Arguments of unusual layouts."""
    yield from outs_of_other_layouts()
    yield from lazy_arguments()


def lazy_arguments():
    """Conjugated and negated when they are read."""
    z = values(2, 3, dtype=torch.complex64)
    scalar = torch.tensor(1.5 - 2j)
    for number in (scalar, scalar.conj()):
        yield "aten._local_scalar_dense.default", (number,), {}
    yield "aten.view_as_real.default", (torch._neg_view(z),), {}
    yield "aten.unsafe_split.Tensor", (z.conj(), 1), {}
    yield "aten.squeeze_.dim", (values(3, 1, 2, dtype=torch.complex64).permute(1, 2, 0).conj(), 0), {}
    yield "aten._fft_c2c.default", (z[:1].expand(4, 3).conj(), [1], 0, True), {}
    yield "aten.as_strided_scatter.default", (z.t().conj(), z[0].conj(), [3], [2], 1), {}
    yield "aten.mul.Tensor", (z.t().conj(), torch._neg_view(values(3, 2))), {}
    # A number of another dtype is converted before layouts are compared.
    yield "aten.div.Tensor", (values(3, 4, dtype=torch.complex64)[None].as_strided((1, 3, 4), (1, 4, 1)),
                              values(3)[None, :, None].expand(1, 3, 4)), {}
    yield "aten.polygamma.default", (1, torch.tensor([-3, 0, 2], dtype=torch.int16)), {}
    input = values(18).as_strided((1, 6, 3), (3, 3, 1))
    yield ("aten.native_group_norm_backward.default", (values(1, 6, 3), input, values(1, 2), values(1, 2, low=0.5),
                                                       values(6), 1, 6, 3, 2, [True, True, True]), {})


def library_calls(image, regions):
    """Operators that composites and libraries call, and gradients of theirs."""
    x = values(3, 5)
    for dtype in (torch.float32, torch.float64):
        for shape, number in ((0.1, 0.05), (0.7, 0.5), (3.0, 0.7), (2.5, 2.0), (7.0, 20.0), (9.0, 9.2), (40.0, 20.0)):
            yield "aten._standard_gamma_grad.default", (torch.full((2,), shape, dtype=dtype),
                                                        torch.full((2,), number, dtype=dtype)), {}
        for number, alpha, total in ((0.01, 0.5, 2.0), (0.3, 1.0, 3.0), (0.99, 1.5, 2.0), (0.6, 20.0, 33.0),
                                     (0.5, 8.0, 16.0), (0.4, 3.0, 30.0), (0.7, 8.0, 12.0)):
            yield "aten._dirichlet_grad.default", tuple(torch.full((2,), v, dtype=dtype)
                                                        for v in (number, alpha, total)), {}
    turned_grad = turned(3, 4, low=0.1, high=3.0)
    yield "aten._standard_gamma_grad.default", (turned_grad, turned(3, 4, low=0.1, high=9.0, seed=1)), {}
    yield "aten._dirichlet_grad.default", (turned(2, 3, low=0.1, high=0.9), turned(2, 3, low=1, high=4),
                                           turned(2, 3, low=5, high=9)), {}
    factor = values(2, 3, 3).tril() + 3 * torch.eye(3)
    for upper in (False, True):
        yield "aten._cholesky_solve_helper.default", (values(2, 3, 2), factor, upper), {}
    yield "aten._compute_linear_combination.default", (values(3, 2, 4), values(5, 3, seed=2)), {}
    for name in ("_cummax_helper", "_cummin_helper"):
        yield f"aten.{name}.default", (turned(3, 4), torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.int64), 1), {}
    yield "aten.embedding_renorm.default", (turned(5, 3), torch.tensor([0, 3, 3]), 1.5, 2.0), {}
    for order in (2, 1, 3.5, 0):
        yield "aten.linalg__powsum.default", (turned(3, 4), order, [1], True), {}
    yield "aten.linalg__powsum.default", (x.half(), 2), {"dtype": torch.float32}
    yield "aten.range.default", (1, 4), {}
    yield "aten.range.step", (0.5, 2.6, 0.5), {"dtype": torch.float64}
    yield "aten.range.step", (5, 0, -2), {"dtype": torch.int64}
    yield "aten.range.out", (0, 5, 2), {"out": torch.ones(3)}
    yield "aten.range.out_", (0, 5), {"out": torch.ones(6)}
    yield "aten.unique_dim_consecutive.default", (ints(3, 6, high=2), 1), {}
    for size in ([3, 4], [9, 11]):
        yield "aten._upsample_lanczos2d_aa.default", (image, size, False), {}
        yield "aten._upsample_lanczos2d_aa.default", (ints(1, 3, 5, 6, high=255, dtype=torch.uint8), size, True), {}
        yield ("aten._upsample_lanczos2d_aa_backward.default",
               (values(2, 4, *size), size, [2, 4, 5, 6], False), {})
    yield "aten._masked_softmax_backward.default", (x, values(3, 5, low=0), ints(3, 5, high=2) > 0, 1), {}
    yield "aten._transform_bias_rescale_qkv.default", (values(2, 3, 24), values(24), 2), {}
    weights = (values(24, 8), values(24), values(8, 8, seed=1), values(8))
    sequence, hidden = values(2, 3, 8), torch.tensor([[False, True, False], [False, False, False]])
    for mask, kind in ((None, None), (hidden, 1), (torch.ones(3, 3).triu(1) > 0, 0)):
        for average in (False, True):
            yield ("aten._native_multi_head_attention.default",
                   (sequence, sequence, sequence, 8, 2, *weights, mask, True, average, kind), {})
        for first in (False, True):
            yield ("aten._transformer_encoder_layer_fwd.default",
                   (sequence, 8, 2, *weights, first, first, 1e-5, values(8), values(8, seed=1), values(8, seed=2),
                    values(8, seed=3), values(6, 8), values(6), values(8, 6), values(8), mask, kind), {})
    yield "aten._native_multi_head_attention.default", (sequence, sequence, sequence, 8, 2, *weights, None, False), {}
    statistics = lambda: (values(4), values(4, low=0.5))  # noqa: E731
    yield "aten._batch_norm_no_update.default", (image, values(4), None, *statistics(), 0.1, 1e-5), {}
    yield "aten._batch_norm_with_update_functional.default", (image, values(4), values(4, seed=1), *statistics(),
                                                              0.1, 1e-5), {}
    outs = {"out": torch.ones(2, 4, 5, 6), "save_mean": torch.ones(4), "save_invstd": torch.ones(4)}
    yield "aten._native_batch_norm_legit.out", (image, values(4), None, *statistics(), True, 0.1, 1e-5), outs
    yield "aten.adaptive_avg_pool3d_backward.grad_input", (values(1, 2, 2, 2, 2), values(1, 2, 4, 4, 4)), {
        "grad_input": torch.ones(1, 2, 4, 4, 4)}
    kernel = values(3, 4, 3, 3)
    convolution = (values(2, 3, 3, 4), image, kernel, [3, 3], [1, 1], [0, 0])
    yield "aten._slow_conv2d_backward.output_mask", (*convolution, [True, True, True]), {}
    yield "aten._slow_conv2d_backward.output_mask", (*convolution, [False, True, False]), {}
    yield "aten._slow_conv2d_backward.grad_input", convolution, {
        "grad_input": torch.ones(2, 4, 5, 6), "grad_weight": torch.ones(3, 4, 3, 3), "grad_bias": torch.ones(3)}
    for mode in (0, 1):
        yield ("aten._grid_sampler_2d_cpu_fallback_backward.default",
               (values(2, 4, 3, 3), image, values(2, 3, 3, 2, low=-1.2, high=1.2), mode, 0, False), {})
    for rows in (False, True):
        for symmetric in (False, True):
            for switches in ((1, 1), (1, 0), (0, 1)):
                count = 3 if rows else 1
                for least in (float("inf"), -0.5):
                    states = (torch.full((count,), least), torch.full((count,), -least), torch.ones(count),
                              torch.zeros(count, dtype=torch.int32))
                    yield ("aten._fused_moving_avg_obs_fq_helper.default",
                           (x, *(torch.tensor([s]) for s in switches), *states, 0.1, 0, 255, 0 if rows else -1, rows,
                            symmetric), {})
    one = (torch.tensor([1]), torch.tensor([1]), torch.tensor([-1.0]), torch.tensor([1.5]), torch.ones(1),
           torch.zeros(1, dtype=torch.int32))
    yield "aten._fused_moving_avg_obs_fq_helper_functional.default", (x, *one, 0.1, -128, 127, -1, False, True), {}
    for name, value in (("addcmul", 1.0), ("addcdiv", 0.5)):
        lists = ([x, values(2)], [values(3, 5, seed=1), values(2, seed=1)], [x + 3, values(2, seed=2)])
        yield f"aten._foreach_{name}.Tensor", (*lists, torch.tensor([value, 2.0])), {}
        yield f"aten._foreach_{name}_.Tensor", (*lists, torch.tensor([value, 2.0])), {}
    yield "aten._foreach_pow.ScalarAndTensor", (2.0, [x, values(2)]), {}
    yield "prims.cbrt.default", (turned(3, 4),), {}
    yield "prims.copy_strided.default", (values(2, 3), [1, 4]), {}

    sizes = (2, 4, 5, 6)
    for samples, aligned in ((-1, True), (2, False)):
        yield "torchvision._roi_align_backward.default", (values(3, 4, 2, 3), regions, 0.7, 2, 3, *sizes, samples,
                                                          aligned), {}
    pooled, sources = torch.ops.torchvision.roi_pool(image, regions, 1.0, 2, 3)
    yield "torchvision._roi_pool_backward.default", (values(3, 4, 2, 3), regions, sources, 1.0, 2, 3, *sizes), {}
    pooled, sources = torch.ops.torchvision.ps_roi_pool(image, regions, 0.5, 2, 2)
    yield "torchvision._ps_roi_pool_backward.default", (values(3, 1, 2, 2), regions, sources, 0.5, 2, 2, *sizes), {}
    for samples in (-1, 2):
        pooled, sources = torch.ops.torchvision.ps_roi_align(image, regions, 1.0, 2, 2, samples)
        yield ("torchvision._ps_roi_align_backward.default",
               (values(3, 1, 2, 2), regions, sources, 1.0, 2, 2, samples, *sizes), {})
    offset, mask = values(2, 2 * 2 * 9, 3, 4, low=-1.5, high=1.5), values(2, 2 * 9, 3, 4)
    for uses_mask in (False, True):
        yield ("torchvision._deform_conv2d_backward.default",
               (values(2, 6, 3, 4), image, values(6, 2, 3, 3), offset, mask, values(6), 1, 1, 0, 0, 1, 1, 2, 2,
                uses_mask), {})
    boxes = torch.tensor([[0, 0, 4, 2, 0], [0.5, 0.3, 4, 2, 30], [10, 10, 2, 2, 45], [0, 0, 0, 2, 0], [1, 1, 3, 3, 90]])
    for ends in ([2, 2, 5], [0, 4, 6]):
        ends = torch.tensor(ends, dtype=torch.int32)
        yield "transformers.grouped_mm_fallback.default", (turned(6, 3), values(3, 3, 4), ends), {}
        yield ("transformers.grouped_mm_fallback_backward.default",
               (turned(6, 3), values(3, 3, 4), ends, values(6, 4)), {})
    yield "torchvision.box_iou_rotated.default", (boxes, boxes + torch.tensor([0.25, 0.5, 1, 1, 10])), {}


def overload_named(name):
    space, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), op), overload)


def bytes_of(storage):
    host = storage.cpu()
    return ctypes.string_at(host.data_ptr(), host.nbytes()) if host.nbytes() else b""


def create_tables(db):
    db.execute("create table cases(id integer primary key, overload text, opinfo text, variant text,"
               " json blob, fake_differs text)")
    db.execute("create table blobs(hash text primary key, nbytes integer, data blob)")


def record(db, overload, args, kwargs, opinfo="recorded", variant="plain", most=1 << 30):
    """One call with the contents of all its tensors, before and after it.

    Errors: those of the call; ValueError if a storage afterwards has more than `most` bytes, or a
    result is no tensor with strides.
    """
    contents = {}

    def keep(raw):
        name = hashlib.sha1(raw).hexdigest()[:20]
        contents[name] = raw
        return name

    def tensors_of(tree):
        return [v for v in tree_leaves(tree) if isinstance(v, torch.Tensor)]

    tensors = tensors_of((args, kwargs))
    storages = {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors}
    before = {key: keep(bytes_of(s)) for key, s in storages.items()}
    sizes = {key: s.nbytes() for key, s in storages.items()}
    lazy = [(t.is_conj(), t.is_neg()) for t in tensors]
    results = []

    class Spy:
        """The overload as the recorder calls it, which remembers what came out."""
        _schema = overload._schema

        def __str__(self):
            return str(overload)

        def __call__(self, *a, **k):
            result = overload(*a, **k)
            results[:] = [result]
            if any(t.layout != torch.strided for t in tensors_of(result)):
                raise ValueError("a result without strides")
            return result

    call, differs = _call(Spy(), args, kwargs)
    made = {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors_of(results[0])}
    keys = list(dict.fromkeys([*storages, *made]))
    if any(s.nbytes() > most for s in (storages | made).values()):
        raise ValueError("a large result")
    for key, entry in zip(keys, call["storages"]):
        entry["data"] = before[key] if key in before else keep(bytes_of(made[key]))
        entry["nbytes"] = sizes.get(key, entry["nbytes"])
    lazy += [(t.is_conj(), t.is_neg()) for t in tensors_of(results[0])]
    for entry, (conjugated, negated) in zip(call["tensors"], lazy):
        entry.update({"conj": True} if conjugated else {}, **({"neg": True} if negated else {}))
    if any(a.alias_info is not None and a.alias_info.is_write for a in overload._schema.arguments):
        call["mutated"] = {str(i): keep(bytes_of(storages[key])) for i, key in enumerate(keys) if key in storages}
    call["seeded"] = torch.Tag.nondeterministic_seeded in overload.tags
    db.executemany("insert or ignore into blobs values (?, ?, ?)",
                   [(name, len(raw), zlib.compress(raw)) for name, raw in contents.items()])
    db.execute("insert into cases(overload, opinfo, variant, json, fake_differs) values (?, ?, ?, ?, ?)",
               (str(overload), opinfo, variant, zlib.compress(json.dumps(call).encode()), differs))


def main(path, which):
    for library in ("torchvision", "torch.ao.quantization.fx._decomposed", "transformers.integrations.moe"):
        try:
            importlib.import_module(library)
        except ImportError:
            print(f"{library} is not installed", file=sys.stderr)
    if os.path.exists(path):
        os.remove(path)
    with contextlib.closing(sqlite3.connect(path)) as db, db, torch.no_grad():
        create_tables(db)
        for name, args, kwargs in {"calls": calls, "corners": corners}[which]():
            try:
                overload = overload_named(name)
            except AttributeError:
                print(f"{name} is not there", file=sys.stderr)
                continue
            try:
                record(db, overload, args, kwargs)
            except Exception as error:
                raise RuntimeError(f"{name} refuses the call") from error


if __name__ == "__main__":
    main(*sys.argv[1:3])
