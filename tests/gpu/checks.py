#!/usr/bin/env python3
"""Checked code of a Triton kernel, run without a GPU (ptx_machine.py): what is right leaves nothing but the word of its
launch, what is wrong leaves its line, parameter, element and fault.

    checks.py ASSAY WRAPPER

WRAPPER is tests/data/wrappers/scale_rows.py, whose kernel is changed in one line.
"""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import ptx_machine as ptx

assay, wrapper = sys.argv[1:]
ROWS, COLUMNS = 7, 9
SIZE = ROWS * COLUMNS
FAULTS = ["false assert", "out of bounds", "uninitialised", "write conflict", "read conflict"]
LOAD = "tmp0 = tl.load(in_ptr0 + (x2), xmask)"
STORE = "tl.store(out_ptr0 + (x2), tmp2, xmask)"
SEARCH = (LOAD + "\n    tmp0 = triton_helpers.bucketize_binary_search(tmp0, {0}, {1}, {1}, 1, 0, tl.int64, False, None, "
          "None, None, ).to(tl.float32)")
READ_BY_ALL = "tmp9 = tl.load(in_ptr0 + (0 * x2 + 40), xmask)\n    "
# What stands there, what becomes of it, the block; fault, parameter and elements one of which is blamed.
CASES = [
    ("", "", 32, None, None, ()),
    ("", "", 64, None, None, ()),
    # The compiler's way to store a scalar.
    (STORE, "tl.store(out_ptr0 + (0 * x2), tl.full([XBLOCK], 2.0, tl.float32), xmask)", 64, None, None, ()),
    (LOAD, LOAD.replace("(x2)", "(x2 + 1)"), 32, "out of bounds", 0, (SIZE,)),
    (LOAD, LOAD.replace("(x2)", "(x2 - 1)"), 64, "out of bounds", 0, (-1,)),
    # Loops of products count down, and pointers go along.
    *((LOAD, f"p = in_ptr0 + x2\n    for k in range({rounds}, 0, -1):\n        p += 1\n    tmp0 = tl.load(p, xmask)",
       32, *found) for rounds, found in [(0, (None, None, ())), (1, ("out of bounds", 0, (SIZE,)))]),
    (STORE, STORE.replace("xmask", "None"), 32, "out of bounds", 2, (SIZE,)),
    (STORE, STORE.replace("(x2)", "(0 * x2)"), 32, "write conflict", 2, (0,)),
    (STORE, STORE.replace("(x2)", "(0 * x2)"), 64, "write conflict", 2, (0,)),
    (STORE, STORE.replace("(x2)", "(x2 // 2)"), 64, "write conflict", 2, range(SIZE // 2)),
    (LOAD, LOAD.replace("in_ptr0", "out_ptr0"), 32, "uninitialised", 2, range(SIZE)),
    # What a choice leaves out need not be written.
    *((LOAD, f"tmp8 = tl.load(out_ptr0 + (x2), xmask)\n    {LOAD}\n    tmp9 = tl.where(x2 > 3, tmp0, tmp8)\n"
       f"    tmp0 = tl.where(x2 < {below}, 1.0, tmp9) + 1.0", block, *found)
      for block in (32, 64)
      for below, found in [(4, (None, None, ())), (3, ("uninitialised", 2, (3,)))]),
    # Nor what is chosen, or copied, and stored, in whatever dtype, until somebody computes with it.
    *((STORE, f"tmp8 = tl.load(out_ptr0 + (x2), xmask)\n    tl.store(out_ptr0 + (x2), {stored}, xmask){behind}",
       64, *found)
      for stored in ("tl.where(x2 > 99, 1.0, tmp8)", "tl.where(x2 > 99, 1.0, tmp8).to(tl.float16)",
                     "tmp8", "tmp8.to(tl.float16)")
      for behind, found in [("", (None, None, ())),
                            ("\n    tl.debug_barrier()\n    tmp3 = tl.load(out_ptr0 + (x2), xmask)\n"
                             "    tl.store(in_ptr0 + (x2), tmp3 * 2, xmask)", ("uninitialised", 2, range(SIZE)))]),
    # What is read here is added to there.
    (STORE, "tl.atomic_add(in_ptr0 + ((x2 + 32) % xnumel), tmp2, xmask, sem='relaxed')", 32, "read conflict", 0,
     range(SIZE)),
    (STORE, "tl.atomic_add(in_ptr0 + (x2), tmp2, xmask, sem='relaxed')", 32, None, None, ()),
    (STORE, STORE.replace("out_ptr0", "in_ptr0"), 32, None, None, ()),
    (STORE, STORE.replace("out_ptr0", "in_ptr0").replace("(x2)", "((x2 + 32) % xnumel)"), 32, "read conflict", 0,
     range(SIZE)),
    (STORE, STORE.replace("out_ptr0", "in_ptr0").replace("(x2)", "((x2 + 1) % xnumel)"), 64, "read conflict", 0,
     range(SIZE)),
    (STORE, "tl.debug_barrier()\n    " + STORE.replace("out_ptr0", "in_ptr0").replace("(x2)", "((x2 + 1) % xnumel)"),
     64, None, None, ()),
    # A barrier elsewhere does not help.
    (STORE, STORE.replace("out_ptr0", "in_ptr0").replace("(x2)", "((x2 + 1) % xnumel)") + "\n    tl.debug_barrier()",
     64, "read conflict", 0, range(SIZE)),
    (LOAD, "tl.debug_barrier()\n    " + LOAD + "\n    " + STORE.replace("out_ptr0", "in_ptr0").replace("tmp2", "tmp0")
     .replace("(x2)", "((x2 + 1) % xnumel)"), 64, "read conflict", 0, range(SIZE)),
    # Nor do other programs wait at it.
    (STORE, "tl.debug_barrier()\n    " + STORE.replace("out_ptr0", "in_ptr0").replace("(x2)", "((x2 + 32) % xnumel)"),
     32, "read conflict", 0, range(SIZE)),
    # Whoever reads it last is not all who do.
    *((LOAD, READ_BY_ALL + between + LOAD + "\n    tmp0 = tmp0 + tmp9\n    "
       + STORE.replace("out_ptr0", "in_ptr0").replace("tmp2", "tmp0"), block, *found)
      for between, block, found in [("", 32, ("read conflict", 0, (40,))), ("", 64, ("read conflict", 0, (40,))),
                                    ("tl.debug_barrier()\n    ", 32, ("read conflict", 0, (40,))),
                                    ("tl.debug_barrier()\n    ", 64, (None, None, ()))]),
    (LOAD, SEARCH.format("in_ptr0", SIZE), 64, None, None, ()),
    (LOAD, SEARCH.format("in_ptr0", 2 * SIZE + 9), 64, "out of bounds", 0, range(SIZE, 2 * SIZE + 9)),
    (LOAD, SEARCH.format("out_ptr0", SIZE), 64, "uninitialised", 2, range(SIZE)),
]


def code(before, after, block):
    head = "XBLOCK : tl.constexpr):"
    text = Path(wrapper).read_text().replace(head, f"{head}\n    XBLOCK: tl.constexpr = {block}")
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(text.replace(before, after) if before else text)
        file.flush()
        done = subprocess.run([assay, "compile", file.name, "--ptx", "--redzones"], text=True, capture_output=True)
    return done.stdout


def loops_over_atomics(machine):
    """Threads that do may not meet again before the next barrier, which this machine does not show."""
    places = {at: machine.labels[operands[-1]] for at, (_, name, operands) in enumerate(machine.code) if name[0] == "bra"}
    return any(machine.code[k][1][0] == "atom" for at, to in places.items() for k in range(to, at))


def check(before, after, block, fault, param, elements):
    text = code(before, after, block)
    if ".entry" not in text:
        return text[-400:]
    machine = ptx.Machine(text[text.index(".version"):])
    if loops_over_atomics(machine) and "search" not in after:
        return "a loop over an atomic operation"
    sizes = [SIZE, ROWS, SIZE]
    buffers = [bytearray(struct.pack(f"<{size}f", *map(float, range(1, size + 1)))) for size in sizes]
    shadows = [bytearray((b"\xff" if i < 2 else b"\0") * 16 * size) for i, size in enumerate(sizes)]
    numbers = [COLUMNS, SIZE, block][:len(machine.params) - 3 - 4 * 3 - 1]
    checks = [value for size, shadow in zip(sizes, shadows) for value in (0, size, shadow, 1 << 48)]
    machine.run([*buffers, *numbers, *checks], -(-SIZE // block))
    line, where, element, found, told, origin = struct.unpack("<6q", machine.record)
    given = [machine.arguments[name] for name in machine.params[:-1]]
    word = 1 + sum((2 * i + 1) * value for i, value in enumerate(given))
    if (told - word) % (1 << 64):
        return f"its arguments make {word:#x}, and it told {told:#x}"
    if fault is None:
        return None if line == 0 else f"{FAULTS[found]} of element {element} of parameter {where}"
    if line == 0:
        return "nothing found"
    if (FAULTS[found], where) != (fault, param) or element not in elements:
        return f"{FAULTS[found]} of element {element} of parameter {where}"
    if fault == "uninitialised" and "search" not in after:  # who read it first: this launch, here or in a line before
        launch, first = origin % 2**16, origin >> 16
        if launch != 1 or (first >= line if "debug_barrier" in after else first != line):
            return f"read first in line {first} of launch {launch}, found in line {line}"
    return None


wrong = [(case[1] or "unchanged", case[2], problem) for case in CASES if (problem := check(*case))]
for change, block, problem in wrong:
    print(f"{change}, blocks of {block}: {problem}")
print(f"{len(CASES) - len(wrong)} of {len(CASES)} right")
sys.exit(bool(wrong))
