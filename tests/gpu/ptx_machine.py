"""Runs PTX without a GPU, as far as Assay's kernels need it, thread by thread.

Every register holds the bits of its value. Instructions between two places where threads part, meet or wait are one
function of Python (ptx_code.py), which each thread runs by itself. Of the threads of a cluster those that stand at the
first place of all go on, so threads that part meet again; `bar.sync` waits for all of a block, `barrier.cluster` for
all. An `mbarrier` counts what it awaits, and opens once. Shared memory of another block is at its own place plus the
block's number, which stands above all addresses. Fragments of `mma` are laid out as in the PTX ISA ("Matrix Fragments
for mma.m16n8k16" and "m16n8k8"); its sums are added in float64 and rounded once. Memory is a bytearray per buffer; an
access outside of them is an error.
"""
import bisect
import math
import re

from ptx_code import RANK, Translation
from ptx_numbers import MASKS, to_bits, to_float

PARTING = ("bra", "ret", "exit", "bar", "barrier", "mma", "shfl")


class Machine:
    def __init__(self, text, units_wrong=1 << 9):
        """`units_wrong`: of an approximate reciprocal or inverse root, one on a GPU. Much more, so that a missing
        step is seen; one where none is meant to follow."""
        body = text[text.index("{", text.index(".entry")):]
        self.params = re.findall(r"\.param \.\w+ (\w+)", text[text.index(".entry"):text.index("{", text.index(".entry"))])
        self.threads = int(re.search(r"\.maxntid (\d+)", text)[1])
        self.symbols, at = {}, 1 << 24  # shared addresses have 32 bits
        for name, size in re.findall(r"\.shared \.align \d+ \.b8 (\w+)\[(\d+)\]", text):
            self.symbols[name] = (at, int(size))
            at += 1 << 24
        self.tables = {}  # constants of the module
        for size, name, values in re.findall(r"\.global \.align \d+ \.b(\d+) (\w+)\[\d+\] = \{([^}]*)\}", text):
            words = b"".join((int(one) & MASKS[64]).to_bytes(8, "little")[:int(size) // 8] for one in values.split(","))
            self.tables[name] = (at << 16, words)
            at += 1 << 24
        self.code, self.labels = [], {}
        begun = ""  # of an instruction over several lines
        for line in body[1:body.rindex("}")].split("\n"):
            line = line.split("//")[0].strip()
            if label := re.fullmatch(r"(\$\w+):", line):
                self.labels[label[1]] = len(self.code)
                continue
            *ended, begun = (begun + " " + line).split(";")
            for part in ended:
                part = part.strip().lstrip("{} ")
                if part and not part.startswith("."):
                    self.code.append(self.parse(part))
        self.translation = Translation(self.symbols, self.tables, units_wrong)
        self.pieces = {}  # by their first instruction: a function, or none of what parts, and where it ends

    def parse(self, text):
        guard = re.match(r"@(!?)(%p\d+)\s+", text)
        if guard:
            text = text[guard.end():]
        name, rest = (text.split(None, 1) + [""])[:2]
        operands = [one.strip() for one in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{\[][^,]*", rest)]
        return (guard and (guard[2], bool(guard[1])), name.strip().split("."), operands)

    def piece(self, first):
        if first not in self.pieces:
            end, targets = first, set(self.labels.values())
            while end < len(self.code) and self.code[end][1][0] not in PARTING and (end == first or end not in targets):
                end += 1
            function = self.translation.function(self.code[first:end]) if end > first else None
            self.pieces[first] = function, max(end, first + 1)
        return self.pieces[first]

    def run(self, arguments, grid, dims=None, ranks=1):
        """Buffers (bytearrays, or one and the byte in it that the parameter points to) and numbers are the first
        parameters; the one behind them is a record. `grid` counts blocks, or clusters of `ranks` blocks, or has
        blocks along x and y, `dims` threads along x, y and z. `reads` has block, thread and place of every load,
        `wide_stores` how many had sixteen bytes."""
        self.memory = []
        values, at = [], 1 << 32
        self.record = bytearray(48)
        for one in [*arguments, self.record]:
            if isinstance(one, int):
                values.append(one)
                continue
            room, skip = one if isinstance(one, tuple) else (one, 0)
            self.memory.append((at, room))
            values.append(at + skip)
            at += 1 << 28
        across, down = grid if isinstance(grid, tuple) else (grid, 1)
        self.launch(values, self.memory, (across, down * ranks, 1), dims or (self.threads, 1, 1), ranks, [])

    def launch(self, values, memory, grid, dims, ranks=1, reads=None):
        """`values` of the parameters, addresses among them; `memory` has pairs of an address and what is there.
        Loads are added to `reads`."""
        self.memory, self.reads, self.wide_stores = memory, reads, 0
        self.arguments = dict(zip(self.params, values))
        self.grid, self.dims = grid, dims
        for block in range(math.prod(grid)):
            if block // grid[0] % grid[1] % ranks == 0:
                self.run_cluster(block, ranks)

    def block(self, number):
        x, y, z = self.grid
        return {"%ctaid.x": number % x, "%ctaid.y": number // x % y, "%ctaid.z": number // (x * y), "%nctaid.x": x,
                "%nctaid.y": y, "%nctaid.z": z}

    def run_cluster(self, first, ranks):
        x, y, z = self.dims
        threads = x * y * z
        self.rooms = [*self.memory, *self.tables.values()]
        self.awaited_bytes = {}  # by the barrier's place
        for rank in range(ranks):
            self.rooms += [(at + (rank + 1 << RANK), bytearray(size)) for at, size in self.symbols.values()]
        self.rooms.sort(key=lambda one: one[0])
        self.starts = [at for at, _ in self.rooms]
        self.regs = [{"%tid.x": t % x, "%tid.y": t // x % y, "%tid.z": t // (x * y), "%ntid.x": x, "%ntid.y": y,
                      "%ntid.z": z, **self.block(first + rank * self.grid[0]),
                      "%cluster_ctarank": rank, "%cluster_nctarank": ranks, "rank": rank}
                     for rank in range(ranks) for t in range(threads)]
        every = range(len(self.regs))
        at = [0] * len(self.regs)
        waiting = {}  # thread: for its block, or for all
        steps = 0

        def go_on(some):
            """Those that wait go on where none of them is still on its way."""
            if all(at[t] < 0 or t in waiting for t in some):
                for t in some:
                    waiting.pop(t, None)

        while True:
            going = [t for t in every if at[t] >= 0 and t not in waiting]
            if not going:
                if not waiting:
                    return
                assert all(kind == "cluster" for kind in waiting.values()), "a barrier that some never reach"
                waiting.clear()
                continue
            place = min(at[t] for t in going)
            steps += 1
            assert steps < 1 << 20, "it does not end"
            here = [t for t in going if at[t] == place]
            function, end = self.piece(place)
            for t in here:
                at[t] = end
            if function:
                function(self, [self.regs[t] for t in here])
                continue
            guard, name, operands = self.code[place]
            if guard:
                here = [t for t in here if bool(self.regs[t][guard[0]]) != guard[1]]
            if name[0] == "bra":
                for t in here:
                    at[t] = self.labels[operands[0]]
            elif name[0] in ("ret", "exit"):
                for t in here:
                    at[t] = -1
            elif name[:2] == ["barrier", "cluster"]:
                if name[2] == "wait":
                    waiting.update((t, "cluster") for t in here)
            elif name[0] in ("bar", "barrier"):
                waiting.update((t, "block") for t in here)
                for rank in range(ranks):
                    block = range(rank * threads, (rank + 1) * threads)
                    if any(waiting.get(t) == "block" for t in block):
                        go_on(block)
            elif name[0] in ("mma", "shfl"):
                for start in range(0, len(self.regs), 32):
                    warp = [t for t in here if start <= t < start + 32]
                    if warp:
                        assert len(warp) == 32, "a warp that has parted"
                        getattr(self, name[0])(name, operands, warp)

    def shfl(self, name, operands, warp):
        """.idx: every lane takes what the lane of that number holds; .bfly: of its own with these bits turned."""
        held = [self.value(operands[1], self.regs[t]) for t in warp]
        own = {"idx": 0, "bfly": 31}[name[2]]
        lanes = [self.value(operands[2], self.regs[t]) & 31 ^ t & own for t in warp]
        for t, lane in zip(warp, lanes):
            self.regs[t][operands[0].split("|")[0]] = held[lane]

    def value(self, text, regs):
        return regs[text] if text.startswith("%") else int(text[2:], 16) if text.startswith("0f") else int(text, 0)

    def room(self, address, size):
        number = bisect.bisect_right(self.starts, address) - 1
        at, room = self.rooms[number]
        if number < 0 or address + size > at + len(room):
            raise IndexError(f"an access of {size} bytes at {address:#x}")
        return room, address - at

    def load(self, address, size, regs=None, is_global=False):
        assert address % size == 0, f"{size} bytes at {address:#x}"
        room, offset = self.room(address, size)
        if is_global and self.reads is not None:
            self.reads.append((*(regs[of] for of in ("%ctaid.x", "%tid.x", "%tid.y", "%tid.z")), address))
        return int.from_bytes(room[offset:offset + size], "little")

    def store(self, address, size, bits, is_global=False):
        assert address % size == 0, f"{size} bytes at {address:#x}"
        room, offset = self.room(address, size)
        self.wide_stores += is_global and size == 16
        room[offset:offset + size] = bits.to_bytes(size, "little")

    def mma(self, name, operands, warp):
        of = name[-2]
        d, a, b, c = ([one.strip() for one in part.strip("{}").split(",")] for part in operands)
        depth = 8 if of == "tf32" else 16
        A = [[0.0] * depth for _ in range(16)]
        B = [[0.0] * 8 for _ in range(depth)]
        for lane, t in enumerate(warp):
            group, inside = lane >> 2, lane & 3
            regs = self.regs[t]
            for i, one in enumerate(a):
                row = group + 8 * (i & 1)
                if of == "tf32":
                    A[row][inside + 4 * (i >> 1)] = to_float(regs[one], "f32")
                else:
                    for half in range(2):
                        A[row][inside * 2 + half + 8 * (i >> 1)] = to_float(regs[one] >> 16 * half & 0xFFFF, of)
            for i, one in enumerate(b):
                if of == "tf32":
                    B[inside + 4 * i][group] = to_float(regs[one], "f32")
                else:
                    for half in range(2):
                        B[inside * 2 + half + 8 * i][group] = to_float(regs[one] >> 16 * half & 0xFFFF, of)
        for lane, t in enumerate(warp):
            group, inside = lane >> 2, lane & 3
            regs = self.regs[t]
            made = []
            for i in range(4):
                row, column = group + 8 * (i >> 1), inside * 2 + (i & 1)
                total = to_float(self.value(c[i], regs), "f32")
                for k in range(depth):
                    total += A[row][k] * B[k][column]
                made.append(to_bits(total, "f32"))
            for one, bits in zip(d, made):
                regs[one] = bits

