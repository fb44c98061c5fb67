#!/usr/bin/env python3
"""Kernels of windows, run thread by thread: depthwise convolutions, pools and sums of padded neighbours of any
sizes, strides, dilations and borders come out as they should, wherever their buffers begin, and no thread reads an
element of the image twice. Where channels are the fastest dimension a thread has several positions of a row.
Values are small whole numbers, so that no order of sums shows.
usage: windows.py ASSAY
"""
import itertools
import random
import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import ptx_machine

assay = sys.argv[1]
SAMPLES, NEIGHBOURS, POSITIONS = 2, 4, 4
HEAD = """class G(torch.nn.Module):
    def forward(self, {}):
"""


@dataclass
class Case:
    call: str
    channels: int
    sizes: tuple
    window: tuple
    stride: int = 1
    padding: tuple = (0, 0)
    dilation: int = 1
    is_last: bool = False  # channels are the fastest dimension
    threads: tuple = (2, 16)
    skip: int = 0  # bytes that buffers begin behind a multiple of 16
    overlaps: bool = False  # a thread has several positions of a row
    is_fixed: bool = False  # sizes of the image are constants of the code

    def outputs(self):
        if self.call == "chosen":
            return list(self.sizes)
        return [(size + 2 * self.padding[i] - self.dilation * (self.window[i] - 1) - 1) // self.stride + 1
                for i, size in enumerate(self.sizes)]

    def taps(self, y, x):
        """Number of each tap over the image, and where it is."""
        for number, (i, j) in enumerate(itertools.product(*map(range, self.window))):
            row = y * self.stride + i * self.dilation - self.padding[0]
            column = x * self.stride + j * self.dilation - self.padding[1]
            if 0 <= row < self.sizes[0] and 0 <= column < self.sizes[1]:
                yield number, row, column

    def wanted(self, image, weights, bias):
        made = {}
        for n, c, y, x in itertools.product(range(SAMPLES), range(self.channels), *map(range, self.outputs())):
            under = [(number, image[n, c, row, column]) for number, row, column in self.taps(y, x)]
            if self.call == "convolution":
                made[n, c, y, x] = bias[c] + sum(v * weights[c][number] for number, v in under)
            elif self.call == "maximum":
                made[n, c, y, x] = max(v for _, v in under)
            elif self.call == "chosen":  # neighbours of the image, and of the image without its last column
                here = image[n, c, y, x]
                within = [image[n, c, y, x + j - 1] for j in range(4) if 0 <= x + j - 1 < self.sizes[1] - 1]
                made[n, c, y, x] = (sum(v for _, v in under) if here > 0 else 0) + sum(within)
            else:
                made[n, c, y, x] = sum(v for _, v in under) / (self.window[0] * self.window[1])
        return made

    def place(self, sizes, n, c, y, x):
        height, width = sizes
        if self.is_last:
            return ((n * height + y) * width + x) * self.channels + c
        return ((n * self.channels + c) * height + y) * width + x

    def graph(self):
        c, (kh, kw) = self.channels, self.window
        strides = f"{c}*s1*s2, 1, {c}*s2, {c}" if self.is_last else f"{c}*s1*s2, s1*s2, s2, 1"
        inputs = [f'x: "f32[s0, {c}, s1, s2][{strides}]cuda"']
        ways = f"[{self.stride}, {self.stride}], [{self.padding[0]}, {self.padding[1]}]"
        if self.call == "convolution":
            inputs.append(f'w: "f32[{c}, 1, {kh}, {kw}][{kh * kw}, {kh * kw}, {kw}, 1]cuda", b: "f32[{c}][1]cuda"')
            body = f"a = torch.ops.aten.convolution.default(x, w, b, {ways}, [{self.dilation}, {self.dilation}], " \
                   f"False, [0, 0], {c})"
        elif self.call == "maximum":
            body = f"m = torch.ops.aten.max_pool2d_with_indices.default(x, [{kh}, {kw}], {ways}, " \
                   f"[{self.dilation}, {self.dilation}])\n        a: \"f32\" = m[0]"
        elif self.call == "chosen":
            lines = ["p = torch.ops.aten.constant_pad_nd.default(x, [1, 2], 0.0)",
                     "r = torch.ops.aten.slice.Tensor(x, 3, 0, -1)",
                     "q = torch.ops.aten.constant_pad_nd.default(r, [1, 3], 0.0)",
                     "m = torch.ops.aten.gt.Scalar(x, 0)"]
            for j in range(4):
                end = f", {j - 3}" if j < 3 else ""
                lines += [f"p{j} = torch.ops.aten.slice.Tensor(p, 3, {j}{end})",
                          f"q{j} = torch.ops.aten.slice.Tensor(q, 3, {j}{end})",
                          f"c{j} = torch.ops.aten.where.ScalarOther(m, p{j}, 0)",
                          f"d{j} = torch.ops.aten.add.Tensor(c{j}, q{j})"]
            sums = [("t", "d0", "d1"), ("u", "t", "d2"), ("a", "u", "d3")]
            lines += [f"{to} = torch.ops.aten.add.Tensor({one}, {other})" for to, one, other in sums]
            body = "\n        ".join(lines)
        else:
            body = f"a = torch.ops.aten.avg_pool2d.default(x, [{kh}, {kw}], {ways})"
        text = HEAD.format(", ".join(inputs)) + f"        {body}\n        return (a,)\n"
        return text.replace("s1", str(self.sizes[0])).replace("s2", str(self.sizes[1])) if self.is_fixed else text


CASES = [
    Case("convolution", 2, (9, 12), (7, 7), padding=(3, 3)),
    Case("convolution", 3, (5, 7), (7, 7), padding=(3, 3)),
    Case("convolution", 3, (6, 9), (3, 3), stride=2, padding=(1, 1)),
    Case("convolution", 2, (9, 16), (3, 5), padding=(2, 4), dilation=2),
    Case("convolution", 2, (4, 18), (2, 4), stride=3, threads=(1, 32)),
    Case("convolution", 8, (5, 6), (7, 7), padding=(3, 3), is_last=True, overlaps=True),
    Case("convolution", 8, (4, 5), (7, 7), padding=(3, 3), is_last=True, overlaps=True, skip=4),
    Case("convolution", 4, (3, 14), (7, 7), padding=(3, 3), is_last=True, overlaps=True, threads=(1, 32)),
    Case("convolution", 4, (4, 14), (7, 7), stride=2, padding=(3, 3), is_last=True, overlaps=True, threads=(1, 32)),
    Case("convolution", 8, (4, 11), (3, 3), padding=(1, 1), is_last=True, overlaps=True),
    Case("convolution", 8, (5, 9), (3, 3), stride=2, padding=(1, 1), is_last=True, overlaps=True, skip=8),
    Case("convolution", 12, (4, 10), (2, 3), dilation=2, is_last=True, overlaps=True),
    Case("convolution", 8, (7, 7), (7, 7), padding=(3, 3), is_last=True, overlaps=True, is_fixed=True),
    Case("convolution", 4, (3, 9), (7, 7), padding=(3, 3), is_last=True, overlaps=True, is_fixed=True),
    Case("convolution", 8, (5, 9), (3, 3), stride=2, padding=(1, 1), is_last=True, overlaps=True, is_fixed=True),
    Case("convolution", 2, (5, 14), (7, 7), padding=(3, 3), is_fixed=True),
    Case("convolution", 2, (7, 8), (7, 7), padding=(3, 3), is_fixed=True),
    Case("convolution", 8, (6, 3), (7, 7), padding=(3, 3), is_last=True),
    Case("convolution", 6, (5, 6), (3, 3), stride=2, padding=(1, 1), is_last=True),
    Case("convolution", 6, (3, 7), (7, 7), padding=(3, 3), is_last=True),
    Case("maximum", 4, (5, 6), (3, 3), padding=(1, 1), is_last=True, overlaps=True),
    Case("convolution", 2, (3, 8), (7, 7), padding=(3, 3), skip=8),
    Case("maximum", 2, (9, 16), (3, 3), stride=2, padding=(1, 1)),
    Case("maximum", 3, (8, 11), (2, 3), padding=(0, 1)),
    Case("maximum", 4, (7, 9), (3, 3), stride=2, padding=(1, 1), is_last=True),
    Case("chosen", 2, (4, 8), (1, 4), padding=(0, 1)),
    Case("chosen", 2, (3, 7), (1, 4), padding=(0, 1)),
    Case("mean", 2, (8, 16), (4, 4), stride=2, padding=(1, 1)),
    Case("mean", 2, (6, 13), (2, 2)),
]


def code_of(case):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(case.graph())
        file.flush()
        at = f"s0={SAMPLES}" + ("" if case.is_fixed else f",s1={case.sizes[0]},s2={case.sizes[1]}")
        text = subprocess.run([assay, "compile", file.name, "--ptx", "--architecture", "90", "--at", at],
                              text=True, capture_output=True, check=True).stdout
    assert text.count(".entry") == 1, text[-400:]
    extents = [int(one) for one in re.findall(r"assay_\w+=(\d+)", text[text.index("// grid"):].splitlines()[0])]
    return text[text.index(".version"):], extents


def buffer(values, skip):
    room = bytearray(skip) + struct.pack(f"<{len(values)}f", *values)
    return room + bytes(-len(room) % 16), skip


def check(case):
    chance = random.Random(1)
    rows, columns = case.outputs()
    image = {at: chance.randrange(-9, 10)
             for at in itertools.product(range(SAMPLES), range(case.channels), *map(range, case.sizes))}
    count = case.window[0] * case.window[1]
    weights = [[chance.randrange(-9, 10) for _ in range(count)] for _ in range(case.channels)]
    bias = [chance.randrange(-9, 10) for _ in range(case.channels)]
    want = case.wanted(image, weights, bias)
    values = [0] * len(image)
    for at, value in image.items():
        values[case.place(case.sizes, *at)] = value
    memory = buffer(values, case.skip)
    out = buffer([77.0] * len(want), case.skip)
    buffers = [memory, out]
    if case.call == "convolution":
        buffers = [buffer(bias, case.skip), memory, buffer(sum(weights, []), case.skip), out]
    inner, outer = columns, SAMPLES * case.channels * rows
    if case.is_last:
        inner, outer = case.channels, SAMPLES * rows * columns
    text, extents = code_of(case)
    x, y = case.threads
    beyond = NEIGHBOURS - 1 if inner % NEIGHBOURS else 0
    across = 1
    if case.overlaps:
        across, outer = -(-columns // POSITIONS), SAMPLES * rows
    grid = -(-(inner + beyond) // (NEIGHBOURS * x)) * across * -(-outer // y)
    machine = ptx_machine.Machine(text)
    sizes = [] if case.is_fixed else case.sizes
    machine.run([SAMPLES, *sizes, *buffers, *extents, x, y, 1, 1], grid, (x, y, 1))
    got = struct.unpack_from(f"<{len(want)}f", out[0], case.skip)
    for at, value in want.items():
        if abs(got[case.place((rows, columns), *at)] - value) > 1e-5 * abs(value):
            return f"element {at} is {got[case.place((rows, columns), *at)]}, not {value}"
    start = next(at for at, room in machine.memory if room is memory[0])
    reads = [one for one in machine.reads if 0 <= one[-1] - start < len(memory[0])]
    if len(set(reads)) != len(reads):
        return f"{len(reads)} loads of the image, of {len(set(reads))} places by a thread each"
    return None


failed = 0
for case in CASES:
    if problem := check(case):
        failed += 1
        print(f"{case}: {problem}")
print(f"{len(CASES) - failed} of {len(CASES)} kernels are right")
sys.exit(failed > 0)
