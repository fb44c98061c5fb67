"""Records calls of twenty custom operators: `python custom_operators.py tests/data/custom_operators`.

`recorded.sqlite` holds the calls that rules are inferred from, `held_back.sqlite` others of the same
operators at other sizes. Those whose names end in `_lie` have a fake implementation that is wrong.
"""
import os
import sys
from typing import Tuple

import torch
from torch import Tensor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "samples", "record"))
import assay_record  # noqa: E402

OPERATORS = {}  # name: operator, sizes to record, sizes held back, arguments of sizes


def operator(name, fake, recorded, held_back, mutates=(), arguments=None):
    """Registers a function with its fake; sizes become arguments, by default one random tensor."""
    def register(function):
        op = torch.library.custom_op(f"samples::{name}", function, mutates_args=mutates)
        op.register_fake(fake)
        OPERATORS[name] = (getattr(torch.ops.samples, name), recorded, held_back, arguments or values)
        return function
    return register


def values(*size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(size))
    return torch.randn(size, generator=generator).to(dtype)


def turned(*size):
    return values(*reversed(size)).permute(*reversed(range(len(size))))


def calls(sizes, arguments):
    for size in sizes:
        made = arguments(*size)
        yield made if isinstance(made, tuple) else (made,)


PAIRS = [(3, 4), (5, 7), (8, 3), (6, 10), (11, 2), (9, 13)]
OTHER_PAIRS = [(4, 9), (17, 5), (2, 31), (12, 12)]
IMAGES = [(2, 4, 5, 7), (3, 6, 8, 5), (1, 8, 4, 9), (5, 2, 3, 6), (4, 3, 11, 2)]
OTHER_IMAGES = [(2, 5, 7, 3), (6, 4, 3, 10), (3, 7, 13, 2)]


def like(x, *_):
    return torch.empty_like(x)


# Pointwise.
@operator("scaled_add", lambda x, y, a: torch.empty_like(x + y), PAIRS, OTHER_PAIRS,
          arguments=lambda n, m: (values(n, m), values(m), 0.5))
def scaled_add(x: Tensor, y: Tensor, a: float) -> Tensor:
    return x + a * y


@operator("gate", lambda x, g: torch.empty_like(x * g), PAIRS, OTHER_PAIRS,
          arguments=lambda n, m: (turned(n, m), values(n, m, dtype=torch.float64)))
def gate(x: Tensor, g: Tensor) -> Tensor:
    return x * g.sigmoid()


@operator("quantised", lambda x, s: torch.empty_like(x, dtype=torch.int8), PAIRS, OTHER_PAIRS,
          arguments=lambda n, m: (values(n, m), 0.1))
def quantised(x: Tensor, s: float) -> Tensor:
    return (x / s).round().clamp(-128, 127).to(torch.int8)


# Reducing.
@operator("row_energy", lambda x: x.new_empty(x.shape[:1]), PAIRS, OTHER_PAIRS)
def row_energy(x: Tensor) -> Tensor:
    return (x * x).sum(1)


@operator("group_means", lambda x, g: x.new_empty(x.shape[0], g),
          [(2, 4, 2), (3, 6, 3), (5, 8, 4), (4, 10, 5), (7, 12, 2), (6, 9, 3)], [(3, 14, 7), (9, 15, 5), (2, 16, 8)],
          arguments=lambda n, c, g: (values(n, c), g))
def group_means(x: Tensor, g: int) -> Tensor:
    return x.view(x.shape[0], g, -1).mean(2)


@operator("summed_along", lambda x, d: x.sum(d), [(3, 4, 0), (5, 7, 1), (8, 3, 0), (6, 10, 1), (11, 2, 1), (9, 13, 0)],
          [(4, 9, 0), (17, 5, 1)], arguments=lambda n, m, d: (values(n, m), d))
def summed_along(x: Tensor, d: int) -> Tensor:
    return x.sum(d)


# Padding and windows.
@operator("rows_to", lambda x, k: x.new_empty((x.shape[0] + k - 1) // k * k, x.shape[1]),
          [(3, 4, 4), (5, 7, 4), (8, 3, 4), (6, 10, 8), (17, 2, 8), (9, 13, 3)], [(4, 9, 4), (17, 5, 16), (21, 3, 5)],
          arguments=lambda n, m, k: (values(n, m), k))
def rows_to(x: Tensor, k: int) -> Tensor:
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % k))


@operator("framed", lambda x, a, b: x.new_empty(x.shape[0], x.shape[1] + a + b),
          [(3, 4, 1, 2), (5, 7, 3, 0), (8, 3, 2, 5), (6, 10, 4, 1), (11, 2, 0, 7), (9, 13, 6, 3)],
          [(4, 9, 5, 8), (17, 5, 2, 9)], arguments=lambda n, m, a, b: (values(n, m), a, b))
def framed(x: Tensor, a: int, b: int) -> Tensor:
    return torch.nn.functional.pad(x, (a, b))


@operator("windows", lambda x, k, s: x.new_empty((x.shape[0] - k) // s + 1, k),
          [(12, 3, 2), (20, 4, 3), (15, 5, 1), (31, 2, 4), (27, 6, 5), (40, 7, 3), (18, 3, 3)],
          [(50, 5, 4), (33, 4, 2), (19, 8, 3)], arguments=lambda n, k, s: (values(n), k, s))
def windows(x: Tensor, k: int, s: int) -> Tensor:
    return x.unfold(0, k, s).clone(memory_format=torch.contiguous_format)


# Sizes that the data tell.
def unknown(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


@operator("positive", unknown, PAIRS, OTHER_PAIRS)
def positive(x: Tensor) -> Tensor:
    return x[x > 0]


@operator("distinct", unknown, [(n * m,) for n, m in PAIRS], [(n * m,) for n, m in OTHER_PAIRS],
          arguments=lambda n: values(n).mul(2).round())
def distinct(x: Tensor) -> Tensor:
    return x.unique()


# Layouts.
@operator("soft_clip", like, IMAGES, OTHER_IMAGES, arguments=turned)
def soft_clip(x: Tensor) -> Tensor:
    return torch.tanh(x)


@operator("blurred", lambda x: torch.empty_like(x, memory_format=torch.channels_last), IMAGES, OTHER_IMAGES)
def blurred(x: Tensor) -> Tensor:
    return (x * 0.5).contiguous(memory_format=torch.channels_last)


# Several results.
@operator("least", lambda x: (x.new_empty(x.shape[0]), x.new_empty(x.shape[0], dtype=torch.int64)), PAIRS, OTHER_PAIRS)
def least(x: Tensor) -> Tuple[Tensor, Tensor]:
    found = x.min(1)
    return found.values, found.indices


@operator("halves", lambda x: (x.new_empty(x.shape[0], x.shape[1] // 2),
                               x.new_empty(x.shape[0], x.shape[1] - x.shape[1] // 2)), PAIRS, OTHER_PAIRS)
def halves(x: Tensor) -> Tuple[Tensor, Tensor]:
    middle = x.shape[1] // 2
    return x[:, :middle].contiguous(), x[:, middle:].contiguous()


# In place.
@operator("accumulate_", lambda x, y: None, PAIRS, OTHER_PAIRS, mutates=("x",),
          arguments=lambda n, m: (values(n, m), values(m)))
def accumulate_(x: Tensor, y: Tensor) -> None:
    x += y


@operator("centred", lambda x, mean: torch.empty_like(x), PAIRS, OTHER_PAIRS, mutates=("mean",),
          arguments=lambda n, m: (values(n, m), values(m)))
def centred(x: Tensor, mean: Tensor) -> Tensor:
    mean.lerp_(x.mean(0), 0.1)
    return x - mean


# Fakes that are wrong: at multiples of k, in the strides, in the dtype.
@operator("rows_to_lie", lambda x, k: x.new_empty(x.shape[0] + k - x.shape[0] % k, x.shape[1]),
          [(3, 4, 4), (5, 7, 4), (8, 3, 4), (6, 10, 8), (17, 2, 8), (9, 13, 3)], [(4, 9, 4), (17, 5, 16), (20, 3, 5)],
          arguments=lambda n, m, k: (values(n, m), k))
def rows_to_lie(x: Tensor, k: int) -> Tensor:
    return rows_to(x, k)


@operator("soft_clip_lie", lambda x: x.new_empty(x.shape), IMAGES, OTHER_IMAGES, arguments=turned)
def soft_clip_lie(x: Tensor) -> Tensor:
    return torch.tanh(x)


@operator("mean_lie", lambda x: x.new_empty(x.shape[:1]), PAIRS, OTHER_PAIRS)
def mean_lie(x: Tensor) -> Tensor:
    return x.double().mean(1)


def main(folder):
    for name, part in (("recorded.sqlite", 1), ("held_back.sqlite", 2)):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.remove(path)
        for entry in OPERATORS.values():
            assay_record.operator(entry[0], calls(entry[part], entry[3]), folder, name)


if __name__ == "__main__":
    main(sys.argv[1])
