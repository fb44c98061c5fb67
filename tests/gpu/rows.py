#!/usr/bin/env python3
"""Kernels whose threads the launch chooses, run thread by thread: whatever blocks and clusters a launch has,
rows, columns and elements of any number come out as they should. Values are small whole numbers, so that no
order of sums shows; of exponentials also what is infinite, no number or below the normal range.
usage: rows.py ASSAY
"""
import math
import random
import re
import struct
import subprocess
import sys
import tempfile

import ptx_machine

assay = sys.argv[1]
HEAD = """class G(torch.nn.Module):
    def forward(self, x: "f32[s0, s1][s1, 1]cpu"):
"""
CALLS = {
    "row sums": ("        a = torch.ops.aten.sum.dim_IntList(x, [1])\n", lambda m: [sum(row) for row in m]),
    "column sums": ("        a = torch.ops.aten.sum.dim_IntList(x, [0])\n",
                    lambda m: [sum(column) for column in zip(*m)]),
    "centred rows": ("        b = torch.ops.aten.amax.default(x, [1], True)\n        a = torch.ops.aten.sub.Tensor(x, b)\n",
                     lambda m: [v - max(row) for row in m for v in row]),
    "exponentials": ("        b = torch.ops.aten.amax.default(x, [1], True)\n        c = torch.ops.aten.sub.Tensor(x, b)\n"
                     "        a = torch.ops.aten.exp.default(c)\n",
                     lambda m: [exponential(v, max(row, key=rank)) for row in m for v in row]),
    "large exponentials": ("        h = torch.ops.aten.mul.Tensor(x, 0.5)\n        b = torch.ops.aten.amax.default(h, [1], True)\n"
                           "        c = torch.ops.aten.sub.Tensor(x, b)\n        a = torch.ops.aten.exp.default(c)\n",
                           lambda m: [math.exp(v - max(row) / 2) for row in m for v in row]),
    "first place of the largest": ("        a = torch.ops.aten.argmax.default(x, 1)\n",
                                   lambda m: [row.index(max(row)) for row in m]),
    "shifted by rows": ("        b = torch.ops.aten.slice.Tensor(x, 0, 0, 1)\n        a = torch.ops.aten.add.Tensor(x, b)\n",
                        lambda m: [v + w for row in m for v, w in zip(row, m[0])]),
}
STRANGE = [0.0, -1.5, 3.25, -20.0, -86.5, -88.0, -95.0, -103.0, -104.5, -1e6, -3e38, -math.inf]


def rank(value):
    return math.inf if math.isnan(value) else value


def exponential(value, largest):
    """Of the difference in float32: within a unit in the last place of this, or of the smallest number."""
    difference = value - largest
    if abs(difference) < 3e38:
        difference = struct.unpack("f", struct.pack("f", difference))[0]
    return math.nan if math.isnan(difference) else math.exp(difference)


def are_alike(got, want, name):
    if "exponentials" not in name:
        return got == want
    return all(math.isnan(a) if math.isnan(b) else abs(a - b) <= max(b * 2.0**-23, 2.0**-149)
               for a, b in zip(got, want, strict=True))


def values_of(name, rows, columns):
    chance = random.Random(rows * columns)
    if name == "large exponentials":
        return [[chance.choice([160.0, 100.0, 0.0, -20.0]) for _ in range(columns)] for _ in range(rows)]
    if name != "exponentials":
        return [[chance.randrange(-9, 10) for _ in range(columns)] for _ in range(rows)]
    # One row of each: with the usual, with what is no number, and infinite as a whole.
    all_rows = [[chance.choice(STRANGE) for _ in range(columns)] for _ in range(rows)]
    if rows > 1:
        all_rows[1][columns // 2] = math.nan
    if rows > 2:
        all_rows[2] = [-math.inf] * columns
    return all_rows


# Rows and columns, threads along x, y and z, blocks of a cluster. Code of columns that are a multiple of 4, and
# of others.
ROWS = [(3, 40, (4, 1, 8), 1), (5, 200, (32, 1, 2), 1), (2, 1000, (32, 2, 1), 1), (2, 520, (32, 1, 2), 2),
        (1, 2000, (32, 2, 1), 4), (9, 4, (2, 1, 16), 1), (3, 37, (4, 1, 8), 1), (2, 1001, (32, 2, 1), 1),
        (1, 700, (32, 1, 1), 4), (1, 3001, (32, 2, 1), 8)]
COLUMNS = [(3, 8, (2, 4, 1), 1), (40, 128, (32, 2, 1), 1), (70, 36, (8, 8, 1), 1), (9, 7, (4, 2, 1), 1),
           (130, 33, (16, 16, 1), 1)]
ELEMENTS = [(3, 40, (8, 16, 1), 1), (7, 33, (8, 4, 1), 1), (2, 260, (64, 2, 1), 1), (5, 3, (2, 32, 1), 1),
            (9, 40, (8, 2, 1), 1), (23, 33, (4, 4, 1), 1)]
SIZES = {"row sums": ROWS, "column sums": COLUMNS, "centred rows": ROWS, "first place of the largest": ROWS,
         "exponentials": ROWS[:5] + ROWS[6:7], "large exponentials": ROWS[:1], "shifted by rows": ELEMENTS}


def codes_of(call, rows, columns):
    """Of each launch: its program and how many blocks it has."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(HEAD + call + "        return (a,)\n")
        file.flush()
        text = subprocess.run([assay, "compile", file.name, "--ptx", "--architecture", "90",
                               "--at", f"s0={rows},s1={columns}"], text=True, capture_output=True, check=True).stdout
    parts = text.split("// kernel ")[1:]
    assert all(".entry" in part for part in parts), text[-400:]
    return [(part[part.index(".version"):], int(re.search(r"// grid (\d+)", part)[1])) for part in parts]


def code_of(call, rows, columns):
    (code,) = codes_of(call, rows, columns)
    return code[0]


def check_parts(columns):
    """A sum over everything in two launches: a part's end is a tile's that is whole, or anywhere."""
    call = "        a = torch.ops.aten.sum.default(x)\n"
    (first, blocks), (second, _) = codes_of(call, 1, columns)
    chance = random.Random(columns)
    numbers = [chance.randrange(-9, 10) for _ in range(columns)]
    memory = bytearray(struct.pack(f"<{columns}f", *numbers)) + bytes(-4 * columns % 16)
    length = -(-columns // blocks)
    length += -length % 16
    out, sums = bytearray(4), bytearray(4 * blocks)
    for text, grid, extent, dims in ((first, blocks, length, (32, 8, 1)), (second, 1, 1, (32, 1, 1))):
        machine = ptx_machine.Machine(text)
        machine.run([1, columns, memory, out, sums, length, columns, extent, blocks, *dims, 1], grid, dims)
    got = struct.unpack("<f", out)[0]
    return None if got == sum(numbers) else f"{got}, not {sum(numbers)}"


def check(name, rows, columns, dims, ranks):
    call, wanted = CALLS[name]
    text = code_of(call, rows, columns)
    matrix = values_of(name, rows, columns)
    want = wanted(matrix)
    is_place = name.startswith("first")
    memory = bytearray(struct.pack(f"<{rows * columns}f", *(v for row in matrix for v in row)))
    memory += bytes(-len(memory) % 16)
    out = bytearray(b"\xcb" * (len(want) * (8 if is_place else 4)))
    x, y, z = dims
    machine = ptx_machine.Machine(text)
    if SIZES[name] not in (COLUMNS, ELEMENTS):
        grid = -(-rows // z) * ranks
    else:
        neighbours = 4 if columns % 4 == 0 or SIZES[name] is ELEMENTS else 1
        beyond = neighbours - 1 if SIZES[name] is ELEMENTS and columns % 4 else 0
        grid = -(-(columns + beyond) // (neighbours * x))
        if SIZES[name] is ELEMENTS:  # of which a program takes one after the other
            grid *= -(-rows // (2 * y))
    machine.run([rows, columns, memory, out, rows, columns, x, y, z, ranks], grid, dims, ranks)
    got = list(struct.unpack(f"<{len(want)}{'q' if is_place else 'f'}", out))
    if not are_alike(got, want, name):
        wrong = next(i for i in range(len(want)) if not are_alike(got[i:i + 1], want[i:i + 1], name))
        return f"element {wrong} is {got[wrong]}, not {want[wrong]}"
    return None


PARTS = [16384, 17001, 16640]
failed = 0
for columns in PARTS:
    if problem := check_parts(columns):
        failed += 1
        print(f"sum of {columns} in parts: {problem}")
for name, sizes in SIZES.items():
    for rows, columns, dims, ranks in sizes:
        if problem := check(name, rows, columns, dims, ranks):
            failed += 1
            print(f"{name} of {rows}x{columns}, {dims} threads, clusters of {ranks}: {problem}")
launches = len(PARTS) + sum(map(len, SIZES.values()))
print(f"{launches - failed} of {launches} launches are right")
sys.exit(failed > 0)
