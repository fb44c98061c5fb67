"""Faults for Inductor's wrappers: one wrong line, or one line that went elsewhere, of a kernel or of its caller.

Each is a pattern that knows no program. `changes(text)` gives them all; which of them are wrong at the sizes of a
run, what runs it has to say.
"""
import re

KERNEL = re.compile(r"def (triton_\w+)\(.*\):")
LAUNCH = re.compile(r"^\s+(triton_\w+)\.run\((.*), stream=")
NUMEL = r"^(\s+(triton_\w+)_\w*numel) = (.+)$"
ALLOCATION = re.compile(r"^(\s+)(buf\d+) = empty_strided_cuda\((.*)\)$")
DELETION = re.compile(r"^\s+del (\w+)$")
GONE = re.compile(r"\bdel (buf\d+)\b")
ACCESS = r"tl\.load\((\w+) \+ \((.*?)\)(?=, |\))"
STORE = r"tl\.store\((\w+) \+ \((.*?)\), "
MASKS = r"[\w& ]*mask[\w& ]*"
BLOCK = r"xoffset = tl\.program_id\(0\) \* XBLOCK"

# Of kernels. Name, kind, what a line must look like, what it becomes.
KERNEL_PLANTS = [
    ("far_load", "bounds", ACCESS, r"tl.load(\1 + (\2 + 1048576)"),
    ("next_load", "bounds", ACCESS, r"tl.load(\1 + (\2 + 1)"),
    ("load_before", "bounds", ACCESS, r"tl.load(\1 + (\2 - 1)"),
    ("far_store", "bounds", STORE, r"tl.store(\1 + (\2 + 1048576), "),
    ("next_store", "bounds", STORE, r"tl.store(\1 + (\2 + 1), "),
    ("wide_mask", "mask", r"(\w+mask) = (\w+) < (\w+)", r"\1 = \2 < (\3 + 7)"),
    ("closed_mask", "mask", r"(\w+mask) = (\w+) < (\w+)", r"\1 = \2 <= \3"),
    ("true_mask", "mask", r"(\w+mask) = (\w+) < (\w+)", r"\1 = \2 > -1"),
    ("narrow_mask", "mask", r"(\w+mask) = (\w+) < (\w+)", r"\1 = \2 < (\3 - 1)"),
    ("unmasked_load", "mask", rf"(tl\.load\(\w+ \+ \(.*?\)), {MASKS}(?=[,)])", r"\1, None"),
    ("unmasked_store", "mask", rf"(tl\.store\(.*), {MASKS}\)", r"\1, None)"),
    ("one_mask", "mask", r"(\w*mask) & \w*mask(?=[,)])", r"\1"),
    ("other_mask", "mask", r"\w*mask & (\w*mask)(?=[,)])", r"\1"),
    ("same_block", "race", BLOCK, "xoffset = 0 * tl.program_id(0) * XBLOCK"),
    ("overlap", "race", BLOCK, "xoffset = tl.program_id(0) * (XBLOCK // 2)"),
    ("same_place", "race", STORE, r"tl.store(\1 + (0 * (\2)), "),
    ("same_pair", "race", r"^(\s+)(x\d) = xindex$", r"\1\2 = xindex // 2"),
    ("shifted_load", "race", r"tl\.load\((in_out_ptr\d) \+ \((.*?)\), ", r"tl.load(\1 + ((\2 + 1025) % xnumel), "),
    ("mirrored_load", "race", r"tl\.load\((in_out_ptr\d) \+ \((.*?)\), ", r"tl.load(\1 + (xnumel - 1 - (\2)), "),
    ("shifted_store", "race", r"tl\.store\((in_out_ptr\d) \+ \((.*?)\), ", r"tl.store(\1 + ((\2 + 1025) % xnumel), "),
    ("plain_add", "race", r"tl\.atomic_add\((.*), sem='relaxed'\)", r"tl.store(\1)"),
    ("lost_store", "uninitialised", r"^(\s+)tl\.store\(.*$", r"\1pass"),
    ("gap", "uninitialised", BLOCK, "xoffset = tl.program_id(0) * (XBLOCK * 2)"),
    ("half_store", "uninitialised", r"(tl\.store\(.*), (xmask|None)\)", r"\1, xmask & ((xindex % 2) == 0))"),
]

# Of their callers.
CALL_PLANTS = [
    ("lost_launch", "uninitialised", r"^(\s+)(triton_\w+)\.run\(.*$", r"\1pass"),
    ("half_launch", "uninitialised", NUMEL, r"\1 = (\3) // 2"),
    ("large_launch", "bounds", NUMEL, r"\1 = (\3) + 1000"),
    ("large_number", "bounds", r"^(\s+triton_\w+\.run\(.*), (s\d+), ", r"\1, \2 + 3, "),
    ("short_buffer", "bounds", r"empty_strided_cuda\(\((\w+), ", r"empty_strided_cuda((\1 - 1, "),
    ("shifted_view", "bounds", r"(reinterpret_tensor\(buf\d+, \(.*?\), \(.*?\)), 0\)", r"\1, 1)"),
]


def is_used(name, lines):
    return any(re.search(rf"\b{name}\b", line) for line in lines)


def late_launch(lines, at):
    """A launch comes after the next one."""
    after = next((i for i in range(at + 1, len(lines)) if LAUNCH.search(lines[i])), None)
    if LAUNCH.search(lines[at]) and after:
        return [*lines[:at], *lines[at + 1:after + 1], lines[at], *lines[after + 1:]]
    return None


def early_deletion(lines, at):
    """A buffer goes before its last use."""
    found = DELETION.search(lines[at])
    use = found and next((i for i in range(at - 1, 0, -1) if is_used(found[1], [lines[i]])), None)
    if use and LAUNCH.search(lines[use]):
        return [*lines[:use], lines[at], *lines[use:at], *lines[at + 1:]]
    return None


def hasty_reuse(lines, at):
    """The memory of a buffer that is still read becomes that of a new one."""
    mine = ALLOCATION.search(lines[at])
    for line in lines[:at] if mine else []:
        other = ALLOCATION.search(line)
        gone = other and any(re.search(rf"\bdel {other[2]}\b", before) for before in lines[:at])
        if other and other[3] == mine[3] and not gone and is_used(other[2], lines[at + 1:]):
            return [*lines[:at], f"{mine[1]}{mine[2]} = {other[2]}; del {other[2]}  # reuse", *lines[at + 1:]]
    return None


def stale_argument(lines, at):
    """A launch keeps the pointer to a buffer that is gone."""
    gone = [found[1] for line in lines[:at] if (found := GONE.search(line))]
    if LAUNCH.search(lines[at]) and gone and re.search(r"\bbuf\d+\b", lines[at]):
        return [*lines[:at], re.sub(r"\bbuf\d+\b", gone[-1], lines[at], count=1), *lines[at + 1:]]
    return None


MOVES = [("late_launch", "uninitialised", late_launch), ("early_deletion", "stale", early_deletion),
         ("hasty_reuse", "stale", hasty_reuse), ("stale_argument", "stale", stale_argument)]


def launched_by(lines, at):
    """The kernel of the launch that a line of the caller is, or comes before; of the last one, behind it."""
    names = [found[1] for line in lines[at:] if (found := LAUNCH.search(line))]
    names = names or [found[1] for line in lines if (found := LAUNCH.search(line))][-1:]
    return names[0] if names else ""


def changes(text):
    """Tuples of name, kind, the kernel that the line belongs to, and the changed text."""
    lines, kernel, is_call = text.split("\n"), None, False
    for i, line in enumerate(lines):
        found = KERNEL.search(line)
        kernel = found[1] if found else None if line.startswith("'''") else kernel
        is_call = (is_call or "def call(" in line) and "def benchmark" not in line and "def get_args" not in line
        for name, kind, pattern, becomes in KERNEL_PLANTS if kernel else CALL_PLANTS if is_call else []:
            changed = re.sub(pattern, becomes, line, count=1)
            if changed != line:
                changed = "\n".join([*lines[:i], changed, *lines[i + 1:]])
                yield name, kind, kernel or launched_by(lines, i), changed
        for name, kind, move in MOVES if is_call else []:
            moved = move(lines, i)
            if moved:
                yield name, kind, launched_by(lines, i), "\n".join(moved)
