#!/usr/bin/env python3
"""Code of block products, run without a GPU (ptx_machine.py), against products of numbers.

    products.py ASSAY WRAPPER

WRAPPER is tests/data/wrappers/mm_template.py. What adds in the order of k must give the same bits as
one fma after the other; what tensor cores add, the sum of the rounded operands but for rounding.
"""
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import ptx_machine as ptx
import ptx_numbers

assay, wrapper = sys.argv[1:]
KINDS = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64"}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def variant(dtype, tf32, blocks, sizes, turned):
    """The wrapper's kernel for other dtypes, blocks and sizes; `turned`: b is contiguous along k."""
    text = Path(wrapper).read_text()
    out = "*fp64" if dtype == "fp64" else "*fp32"
    text = text.replace("'out_ptr0': '*fp16'", f"'out_ptr0': '{out}'").replace("*fp16", "*" + dtype)
    if dtype == "fp64":
        text = text.replace("tl.float32", "tl.float64")
    text = text.replace("ALLOW_TF32 : tl.constexpr = False", f"ALLOW_TF32 : tl.constexpr = {tf32}")
    for name, block in zip("MNK", blocks):
        text = re.sub(rf"BLOCK_{name} : tl.constexpr = \d+", f"BLOCK_{name} : tl.constexpr = {block}", text)
    if turned:
        text = text.replace("rbn[None, :] + 90*b_k", "50*rbn[None, :] + b_k")
    for name, usual, size in zip("MNK", (70, 90, 50), sizes):
        text = re.sub(rf"\b{usual}\b", f"<{size}>", text)
    return re.sub(r"<(\d+)>", r"\1", text)


def check(dtype, tf32, blocks, sizes, turned, by_fragments):
    m, n, k = sizes
    kind = KINDS[dtype]
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(variant(dtype, tf32, blocks, sizes, turned))
        file.flush()
        text = subprocess.run([assay, "compile", file.name, "--ptx"], text=True, capture_output=True).stdout
    if ("mma.sync" in text) != by_fragments or ".entry" not in text:
        return text[-400:]
    chance = random.Random(7)
    a, b = ([ptx_numbers.to_bits(chance.uniform(-2, 2), kind) for _ in range(count)] for count in (m * k, k * n))
    memory = [bytearray(b"".join(x.to_bytes(SIZES[kind], "little") for x in one)) for one in (a, b)]
    for one in memory:  # memory is handed out in pieces of 16 bytes and more, and read in such ones
        one += bytes(-len(one) % 16)
    made = "f64" if kind == "f64" else "f32"
    out = bytearray(b"\xcb" * (m * n * SIZES[made]))
    machine = ptx.Machine(text[text.index(".version"):])
    machine.run([*memory, out], -(-m // blocks[0]) * -(-n // blocks[1]))
    rounds = (lambda x: ptx_numbers.tf32(x)) if tf32 and by_fragments else (lambda x: x)
    left, right = ([ptx_numbers.to_float(rounds(x), kind) for x in one] for one in (a, b))
    for i in range(m):
        for j in range(n):
            pairs = [(left[i * k + at], right[j * k + at if turned else at * n + j]) for at in range(k)]
            at = (i * n + j) * SIZES[made]
            got = int.from_bytes(out[at:at + SIZES[made]], "little")
            if by_fragments:
                want = sum(x * y for x, y in pairs)
                most = 2**-20 * sum(abs(x * y) for x, y in pairs)
                if not abs(ptx_numbers.to_float(got, made) - want) <= most:
                    return f"({i}, {j}) is {ptx_numbers.to_float(got, made)}, not {want}"
                continue
            want = 0.0
            # The kernel adds the sum of each block of k to what it has.
            for first in range(0, k, blocks[2]):
                part = 0.0
                for x, y in pairs[first:first + blocks[2]]:
                    part = single(Fraction(x) * Fraction(y) + Fraction(part), made)
                want = single(Fraction(want) + Fraction(part), made)
            if got != ptx_numbers.to_bits(want, made):
                return f"({i}, {j}) is {ptx_numbers.to_float(got, made)}, not {want}"
    return ""


def single(exact, kind):
    return ptx_numbers.to_float(ptx_numbers.to_bits(ptx_numbers.rounded(exact, kind), kind), kind)


CASES = [
    ("fp16", False, (16, 8, 16), (20, 12, 18), False, True),
    ("fp16", False, (32, 64, 16), (40, 70, 20), False, True),
    ("fp16", False, (64, 32, 32), (40, 40, 33), True, True),
    ("bf16", False, (32, 32, 16), (20, 33, 32), False, True),
    ("bf16", False, (16, 16, 64), (18, 16, 70), True, True),
    ("fp32", True, (16, 8, 8), (17, 9, 10), False, True),
    ("fp32", True, (64, 32, 16), (40, 36, 20), True, True),
    ("fp32", False, (16, 16, 16), (18, 17, 20), False, False),
    ("fp32", False, (32, 16, 32), (20, 17, 33), True, False),
    ("fp64", False, (16, 16, 16), (17, 16, 18), False, False),
    ("fp16", False, (8, 16, 16), (9, 20, 18), False, False),
]
failed = [(case, problem) for case in CASES if (problem := check(*case))]
for case, problem in failed:
    print(case, problem)
sys.exit(1 if failed else 0)
