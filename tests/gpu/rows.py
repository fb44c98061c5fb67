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
import ptx_numbers

assay = sys.argv[1]
HEAD = """class G(torch.nn.Module):
    def forward(self, x: "{}[s0, s1][s1, 1]cpu"):
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
    "near exponentials": ("        b = torch.ops.aten.amax.default(x, [1], True)\n        c = torch.ops.aten.sub.Tensor(x, b)\n"
                          "        a = torch.ops.aten.exp.default(c)\n",
                          lambda m: [math.exp(v - max(row)) for row in m for v in row]),
    "shares of exponentials": ("        a = torch.ops.aten._softmax.default(x, 1, False)\n",
                               lambda m: [share for row in m for share in shares(row)]),
    "first place of the largest": ("        a = torch.ops.aten.argmax.default(x, 1)\n",
                                   lambda m: [row.index(max(row)) for row in m]),
    "padded": ("        a = torch.ops.aten.constant_pad_nd.default(x, [3, 5, 2, 1], 7.0)\n",
               lambda m: [v for row in [[]] * 2 + m + [[]] for v in
                          ([7.0] * 3 + row + [7.0] * 5 if row else [7.0] * (len(m[0]) + 8))]),
    "joined": ("        b = torch.ops.aten.neg.default(x)\n        a = torch.ops.aten.cat.default([x, b], 1)\n",
               lambda m: [v for row in m for v in row + [-w for w in row]]),
    "shifted by rows": ("        b = torch.ops.aten.slice.Tensor(x, 0, 0, 1)\n        a = torch.ops.aten.add.Tensor(x, b)\n",
                        lambda m: [v + w for row in m for v, w in zip(row, m[0])]),
}
# Rows and columns of the results of calls that have others than what is given.
RESULTS = {"padded": lambda rows, columns: (rows + 3, columns + 8),
           "joined": lambda rows, columns: (rows, 2 * columns)}
STRANGE = [0.0, -1.5, 3.25, -20.0, -86.5, -88.0, -95.0, -103.0, -104.5, -1e6, -3e38, -math.inf]


def rank(value):
    return math.inf if math.isnan(value) else value


def exponential(value, largest):
    """Of the difference in float32: within a unit in the last place of this, or of the smallest number."""
    difference = value - largest
    if abs(difference) < 3e38:
        difference = struct.unpack("f", struct.pack("f", difference))[0]
    return math.nan if math.isnan(difference) else math.exp(difference)


def shares(row):
    powers = [math.exp(v - max(row)) for v in row]
    return [power / math.fsum(powers) for power in powers]


def are_alike(got, want, name):
    if "shares" in name:  # rounded in every sum of a tree of halves, in the exponential and in the quotient
        return all(abs(a - b) <= b * 2.0**-20 for a, b in zip(got, want, strict=True))
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
        (1, 700, (32, 1, 1), 4), (1, 3001, (32, 2, 1), 8), (1, 2900, (32, 3, 1), 1), (2, 10001, (32, 5, 1), 2)]
# Of which all lanes are meant: a part of a warp, several warps, blocks of a cluster.
WHOLE_ROWS = [(5, 64, (2, 1, 16), 1), (2, 2048, (32, 2, 1), 1), (1, 4096, (32, 2, 1), 2)]
# Of threads that keep few elements: parts of rows and whole ones, and longer rows, of which they keep more.
WIDE_ROWS = [(3, 40, (16, 1, 2), 1), (5, 200, (32, 1, 2), 1), (3, 37, (8, 1, 4), 1), (2, 1001, (32, 4, 1), 1),
             (5, 64, (8, 1, 4), 1), (2, 2048, (32, 8, 1), 1), (1, 4096, (32, 8, 1), 2), (2, 5001, (32, 5, 1), 1),
             (1, 8192, (32, 4, 1), 2)]
COLUMNS = [(3, 8, (2, 4, 1), 1), (40, 128, (32, 2, 1), 1), (70, 36, (8, 8, 1), 1), (9, 7, (4, 2, 1), 1),
           (130, 33, (16, 16, 1), 1), (150, 8, (2, 64, 1), 1), (270, 3, (2, 128, 1), 1), (300, 4, (1, 256, 1), 1)]
ELEMENTS = [(3, 40, (8, 16, 1), 1), (7, 33, (8, 4, 1), 1), (2, 260, (64, 2, 1), 1), (5, 3, (2, 32, 1), 1),
            (9, 40, (8, 2, 1), 1), (23, 33, (4, 4, 1), 1)]
NARROW_ROWS = [(3, 40, (4, 1, 8), 1), (5, 201, (32, 1, 2), 1), (2, 1001, (32, 2, 1), 1), (9, 4, (2, 1, 16), 1)]
# That begin where wide accesses may, before their first element.
SHIFTED_ROWS = [(9, 197, (8, 1, 4), 1), (7, 77, (4, 1, 8), 1), (3, 1999, (32, 2, 1), 1)]
NARROW_ELEMENTS = [(3, 40, (8, 16, 1), 1), (7, 33, (8, 4, 1), 1), (11, 77, (16, 4, 1), 1), (5, 3, (2, 32, 1), 1)]
NARROW_SIZES = {"row sums": NARROW_ROWS + WHOLE_ROWS, "centred rows": NARROW_ROWS + SHIFTED_ROWS + WHOLE_ROWS,
                "shares of exponentials": NARROW_ROWS[:3] + SHIFTED_ROWS + WHOLE_ROWS, "shifted by rows": NARROW_ELEMENTS,
                "padded": NARROW_ELEMENTS, "joined": NARROW_ELEMENTS}
# Sixteen bytes are neighbours.
BYTE_SIZES = {"centred rows": [(3, 48, (2, 1, 16), 1), (5, 208, (8, 1, 4), 1), (2, 1040, (32, 2, 1), 1),
                               (3, 37, (2, 1, 16), 1)]}
FORMS = {"f32": "f", "i8": "b"}
BYTES = {"q": 8, "f": 4, "bf16": 2, "b": 1}
SIZES = {"row sums": ROWS + WHOLE_ROWS, "column sums": COLUMNS, "centred rows": ROWS + WHOLE_ROWS,
         "first place of the largest": ROWS + WHOLE_ROWS,
         "exponentials": ROWS[:5] + ROWS[6:7], "large exponentials": ROWS[:1], "near exponentials": ROWS[:2] + ROWS[6:7],
         "shares of exponentials": WIDE_ROWS, "shifted by rows": ELEMENTS}


def codes_of(call, rows, columns, kind="f32"):
    """Of each launch: its program and how many blocks it has."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(HEAD.format(kind) + call + "        return (a,)\n")
        file.flush()
        text = subprocess.run([assay, "compile", file.name, "--ptx", "--architecture", "90",
                               "--at", f"s0={rows},s1={columns}"], text=True, capture_output=True, check=True).stdout
    parts = text.split("// kernel ")[1:]
    assert all(".entry" in part for part in parts), text[-400:]
    return [(part[part.index(".version"):], int(re.search(r"// grid (\d+)", part)[1])) for part in parts]


def code_of(call, rows, columns, kind):
    (code,) = codes_of(call, rows, columns, kind)
    return code[0]


def to_bytes(numbers, kind):
    if kind != "bf16":
        return bytearray(struct.pack(f"<{len(numbers)}{FORMS[kind]}", *numbers))
    return bytearray(struct.pack(f"<{len(numbers)}H", *(ptx_numbers.to_bits(v, kind) for v in numbers)))


def from_bytes(memory, kind):
    if kind != "bf16":
        return list(struct.unpack(f"<{len(memory) // struct.calcsize(kind)}{kind}", memory))
    return [ptx_numbers.to_float(bits, kind) for (bits,) in struct.iter_unpack("<H", memory)]


def check_parts(columns):
    """A sum over everything in two launches: a part's end is a tile's that is whole, or anywhere."""
    call = "        a = torch.ops.aten.sum.default(x)\n"
    (first, blocks), (second, _) = codes_of(call, 1, columns)
    chance = random.Random(columns)
    numbers = [chance.randrange(-9, 10) for _ in range(columns)]
    memory = bytearray(struct.pack(f"<{columns}f", *numbers)) + bytes(-4 * columns % 16)
    length = -(-columns // blocks)
    length += -length % 16
    out, sums = bytearray(4), bytearray(4 * blocks + -4 * blocks % 16)
    for text, grid, extent, dims in ((first, blocks, length, (32, 8, 1)), (second, 1, 1, (32, 1, 1))):
        machine = ptx_machine.Machine(text)
        machine.run([1, columns, memory, out, sums, bytearray(4), length, columns, extent, blocks, *dims, 1], grid, dims)
    got = struct.unpack("<f", out)[0]
    return None if got == sum(numbers) else f"{got}, not {sum(numbers)}"


def check_parts_of_columns(rows, columns, dims, kind):
    """A sum of columns in one launch, whose last program of each tile makes the whole; then once more."""
    ((text, blocks),) = codes_of("        a = torch.ops.aten.sum.dim_IntList(x, [0])\n", rows, columns, kind)
    chance = random.Random(columns)
    matrix = [[chance.randrange(-3, 4) for _ in range(columns)] for _ in range(rows)]
    memory = to_bytes([v for row in matrix for v in row], kind)
    memory += bytes(-len(memory) % 16)
    neighbours = 1 if columns % (4 if kind == "f32" else 8) else 4 if kind == "f32" else 8
    tiles = -(-columns // (neighbours * dims[0]))
    parts = blocks // tiles
    length = -(-rows // parts)
    length += -length % 16
    arrived, sums = bytearray(4 * tiles), bytearray(4 * parts * columns + 16)
    for _ in range(2):
        out = to_bytes([99.0] * columns, kind)
        ptx_machine.Machine(text).run([rows, columns, memory, out, sums, arrived, length, rows, columns,
                                       length, columns, parts, *dims, 1], blocks, dims)
        want = [ptx_numbers.to_float(ptx_numbers.to_bits(float(sum(column)), kind), kind) if kind == "bf16" else
                float(sum(column)) for column in zip(*matrix)]
        if from_bytes(out, FORMS.get(kind, kind)) != want:
            return "other sums"
        if any(arrived):
            return "programs are still counted"
    return None


def check_order_of_columns(columns, dims):
    """A row for each thread along y: their sums are those of halves, the upper one onto the lower one, to the bit."""
    rows = dims[1]
    chance = random.Random(rows)
    rounded = lambda value: ptx_numbers.to_float(ptx_numbers.to_bits(value, "f32"), "f32")
    matrix = [[rounded(chance.uniform(-1, 1) * 10.0 ** chance.randrange(6)) for _ in range(columns)] for _ in range(rows)]
    memory, out = to_bytes([v for row in matrix for v in row], "f32"), bytearray(4 * columns)
    memory += bytes(-len(memory) % 16)
    text = code_of(CALLS["column sums"][0], rows, columns, "f32")
    tiles = -(-columns // (dims[0] * (1 if columns % 4 else 4)))
    ptx_machine.Machine(text).run([rows, columns, memory, out, rows, columns, *dims, 1], tiles, dims)
    while len(matrix) > 1:
        half = len(matrix) // 2
        matrix = [[rounded(a + b) for a, b in zip(*pair)] for pair in zip(matrix[:half], matrix[half:])]
    return None if from_bytes(out, "f") == matrix[0] else "sums of another order"


def check(name, rows, columns, dims, ranks, kind="f32", skipped=0):
    """`skipped` elements stand before matrix and result, which then do not begin where a wide access may."""
    call, wanted = CALLS[name]
    text = code_of(call, rows, columns, kind)
    matrix = values_of(name, rows, columns)
    want = wanted(matrix)
    made = "q" if name.startswith("first") else FORMS.get(kind, kind)
    memory = to_bytes([v for row in matrix for v in row], kind)
    memory += bytes(-len(memory) % 16)
    out = bytearray(b"\xcb" * (len(want) * BYTES[made]))
    x, y, z = dims
    # Reciprocals of halves' exponentials are the GPU's own.
    machine = ptx_machine.Machine(text, units_wrong=1) if kind == "bf16" else ptx_machine.Machine(text)
    sizes = KINDS[kind][name]
    down, across = RESULTS.get(name, lambda *given: given)(rows, columns)
    if sizes not in (COLUMNS, ELEMENTS, NARROW_ELEMENTS):
        grid = -(-rows // z)
    else:
        is_columns = sizes is COLUMNS
        most = 4 if kind == "f32" else 8
        neighbours = 1 if is_columns and columns % most else most
        beyond = 0 if is_columns or across % most == 0 else most - 1
        grid = -(-(across + beyond) // (neighbours * x))
        if not is_columns:  # of which a program takes one after the other
            grid = (grid, -(-down // (2 * y)))
    skips = [skipped * BYTES[one] for one in (FORMS.get(kind, kind), made)]
    rooms = [bytearray(skip) + one + bytes(-skip % 16) for skip, one in zip(skips, (memory, out))]
    machine.run([rows, columns, *zip(rooms, skips), down, across, x, y, z, ranks], grid, dims, ranks)
    out = rooms[1][skips[1]:skips[1] + len(out)]
    if name == "shifted by rows":  # whole pieces of sixteen bytes are stored at once, wherever rows begin
        size = 16 // most
        whole = sum(max((row + 1) * columns * size // 16 + -row * columns * size // 16, 0) for row in range(rows))
        if machine.wide_stores != whole:
            return f"{machine.wide_stores} wide stores, not {whole}"
    got = from_bytes(out, made)
    if kind == "bf16":
        want = [ptx_numbers.to_float(ptx_numbers.to_bits(v, kind), kind) for v in want]
    if not are_alike(got, want, name):
        wrong = next(i for i in range(len(want)) if not are_alike(got[i:i + 1], want[i:i + 1], name))
        return f"element {wrong} is {got[wrong]}, not {want[wrong]}"
    return None


KINDS = {"f32": SIZES, "bf16": NARROW_SIZES, "i8": BYTE_SIZES}
PARTS = [16384, 17001, 16640]
PARTS_OF_COLUMNS = [(1100, 32, (8, 32, 1), "f32"), (2500, 19, (16, 16, 1), "f32"), (600, 64, (8, 32, 1), "bf16")]
ORDERED = [(4, (1, 4, 1)), (8, (2, 8, 1)), (3, (4, 16, 1)), (4, (1, 32, 1)), (3, (4, 64, 1)), (8, (2, 128, 1))]
failed = 0
for case in ORDERED:
    if problem := check_order_of_columns(*case):
        failed += 1
        print(f"sums of columns, {case}: {problem}")
for columns in PARTS:
    if problem := check_parts(columns):
        failed += 1
        print(f"sum of {columns} in parts: {problem}")
for case in PARTS_OF_COLUMNS:
    if problem := check_parts_of_columns(*case):
        failed += 1
        print(f"sums of columns in parts, {case}: {problem}")
for kind, all_sizes in KINDS.items():
    for name, sizes in all_sizes.items():
        for rows, columns, dims, ranks in sizes:
            is_whole = (rows, columns, dims, ranks) in WHOLE_ROWS
            if problem := check(name, rows, columns, dims, ranks, kind) or (
                    is_whole and check(name, rows, columns, dims, ranks, kind, skipped=1)):
                failed += 1
                print(f"{name} of {kind}[{rows}, {columns}], {dims} threads, clusters of {ranks}: {problem}")
launches = len(ORDERED) + len(PARTS) + len(PARTS_OF_COLUMNS) + sum(len(sizes) for made in KINDS.values() for sizes in made.values())
print(f"{launches - failed} of {launches} launches are right")
sys.exit(failed > 0)
