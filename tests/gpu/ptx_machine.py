"""Runs PTX without a GPU, as far as Assay's kernels need it, thread by thread.

Every register holds the bits of its value. Of the threads of a cluster those that stand at the first
instruction of all go on, so threads that part meet again; `bar.sync` waits for all of a block,
`barrier.cluster` for all. An `mbarrier` counts what it awaits, and opens once. Shared memory of another block is at
its own place plus the block's number, which stands above all addresses. Fragments of `mma` are laid out as in the PTX
ISA ("Matrix Fragments for mma.m16n8k16" and "m16n8k8"); its sums are added in float64 and rounded once. Memory is a bytearray per buffer; an access outside of them is an error.
"""
import math
import re
import struct
from fractions import Fraction

RANK = 56  # of a block's number in addresses
MASKS = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}


def width(kind):
    return 1 if kind == "pred" else int(kind[1:].replace("f16", "16")) if kind != "bf16" else 16


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def to_float(value, kind):
    if kind == "bf16":
        return struct.unpack("<f", struct.pack("<I", value << 16))[0]
    form = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}[kind]
    return struct.unpack(form[1], struct.pack(form[0], value))[0]


def to_bits(value, kind):
    if value != value:  # the one NaN that GPUs make
        return {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}[kind]
    if kind == "bf16":
        bits = to_bits(value, "f32")
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
    form = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}[kind]
    try:
        return struct.unpack(form[0], struct.pack(form[1], value))[0]
    except OverflowError:
        return struct.unpack(form[0], struct.pack(form[1], math.copysign(math.inf, value)))[0]


def divided(a, b):
    """Exact where both are finite and there is a quotient."""
    if math.isfinite(a) and math.isfinite(b) and b != 0:
        return Fraction(a) / Fraction(b)
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def tf32(value):
    """cvt.rna: to 10 bits of mantissa, halves away from zero."""
    return (value + 0x1000) & 0xFFFFE000


class Machine:
    def __init__(self, text, units_wrong=1 << 9):
        """`units_wrong`: of an approximate reciprocal or inverse root, one on a GPU. Much more, so that a missing
        step is seen; one where none is meant to follow."""
        self.units_wrong = units_wrong
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

    def parse(self, text):
        guard = re.match(r"@(!?)(%p\d+)\s+", text)
        if guard:
            text = text[guard.end():]
        name, rest = (text.split(None, 1) + [""])[:2]
        operands = [one.strip() for one in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{\[][^,]*", rest)]
        return (guard and (guard[2], bool(guard[1])), name.strip().split("."), operands)

    def run(self, arguments, grid, dims=None, ranks=1):
        """Buffers (bytearrays, or one and the byte in it that the parameter points to) and numbers are the first
        parameters; the one behind them is a record. `grid` counts blocks, or clusters of `ranks` blocks, or has
        blocks along x and y, `dims` threads along x, y and z. `reads` has block, thread and place of every load, `wide_stores` how many had sixteen
        bytes."""
        self.memory, self.reads, self.wide_stores = [], [], 0
        values, at = [], 1 << 32
        self.record = bytearray(40)
        for one in [*arguments, self.record]:
            if isinstance(one, int):
                values.append(one)
                continue
            room, skip = one if isinstance(one, tuple) else (one, 0)
            self.memory.append((at, room))
            values.append(at + skip)
            at += 1 << 28
        across, down = grid if isinstance(grid, tuple) else (grid, 1)
        self.launch(values, self.memory, (across, down * ranks, 1), dims or (self.threads, 1, 1), ranks)

    def launch(self, values, memory, grid, dims, ranks=1):
        """`values` of the parameters, addresses among them; `memory` has pairs of an address and what is there."""
        self.memory, self.reads, self.wide_stores = memory, [], 0
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
            guard, name, operands = self.code[place]
            for t in here:
                at[t] += 1
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
            else:
                for t in here:
                    self.step(name, operands, self.regs[t])

    def shfl(self, name, operands, warp):
        """.idx: every lane takes what the lane of that number holds; .bfly: of its own with these bits turned."""
        held = [self.value(operands[1], self.regs[t]) for t in warp]
        own = {"idx": 0, "bfly": 31}[name[2]]
        lanes = [self.value(operands[2], self.regs[t]) & 31 ^ t & own for t in warp]
        for t, lane in zip(warp, lanes):
            self.regs[t][operands[0].split("|")[0]] = held[lane]

    def value(self, text, regs, kind="b64"):
        if text in self.symbols:
            return self.symbols[text][0] | regs["rank"] + 1 << RANK
        if text in self.tables:
            return self.tables[text][0]
        if text.startswith("%") or text == "there":
            return regs[text]
        if text.startswith("0f"):
            return int(text[2:], 16)
        if text.startswith("0d"):
            return int(text[2:], 16)
        return int(text, 0) & MASKS[max(width(kind), 8)]

    def room(self, address, size):
        for at, room in self.rooms:
            if at <= address and address + size <= at + len(room):
                return room, address - at
        raise IndexError(f"an access of {size} bytes at {address:#x}")

    def place(self, text, regs):
        base, _, more = text.strip("[]").partition("+")
        address = self.value(base.strip(), regs) + int(more or 0)
        return address if address >= 1 << 32 else address | regs["rank"] + 1 << RANK  # its own block's

    def await_bytes(self, what, operands, regs):
        """Of barriers with one arrival, which says how many bytes are to come."""
        if what == "init":
            self.awaited_bytes[self.place(operands[0], regs)] = 0
        elif what == "arrive":
            self.awaited_bytes[self.place(operands[1], regs)] += self.value(operands[2], regs)
        else:
            assert what == "try_wait", what
            regs[operands[0]] = int(self.awaited_bytes[self.place(operands[1], regs)] == 0)

    def access(self, name, operands, regs):
        kind = name[-1]
        size = width(kind) // 8
        if name[0] == "ld" and name[1] == "param":
            regs[operands[0]] = self.arguments[operands[1].strip("[]")]
            return
        place, other = (operands[1], operands[0]) if name[0] == "ld" else (operands[0], operands[1])
        address = self.place(place, regs)
        parts = [part.strip() for part in other.strip("{}").split(",")]
        assert address % (size * len(parts)) == 0, f"{len(parts)} times {size} bytes at {address:#x}"
        if name[:2] == ["st", "global"] and size * len(parts) == 16:
            self.wide_stores += 1
        for i, one in enumerate(parts):
            room, offset = self.room(address + i * size, size)
            if name[0] == "ld":
                if i == 0 and name[1] == "global":
                    self.reads.append((*(regs[of] for of in ("%ctaid.x", "%tid.x", "%tid.y", "%tid.z")), address))
                bits = int.from_bytes(room[offset:offset + size], "little")
                regs[one] = signed(bits, size * 8) & MASKS[64] if kind[0] == "s" else bits
            else:
                bits = self.value(one, regs, kind) & MASKS[size * 8]
                room[offset:offset + size] = bits.to_bytes(size, "little")

    def atomic(self, name, operands, regs):
        """Puts there what becomes of it, and gives what was there, to `atom`; `red` wants nothing."""
        if name[0] == "red":
            operands = ["_", *operands]
        kind, op = name[-1], next(one for one in name[1:] if one in (
            "exch", "cas", "add", "min", "max", "and", "or", "xor", "inc"))
        size = width(kind) // 8
        given = [[self.value(part.strip(), regs, kind) for part in one.strip("{}").split(",")] for one in operands[2:]]
        for i in range(len(given[0])):
            room, offset = self.room(self.place(operands[1], regs) + i * size, size)
            before = int.from_bytes(room[offset:offset + size], "little")
            after = self.combined(op, kind, before, [one[i] & MASKS[8 * size] for one in given])
            room[offset:offset + size] = after.to_bytes(size, "little")
            regs[operands[0]] = before

    def combined(self, op, kind, before, given):
        if op in ("exch", "cas"):
            return given[-1] if op == "exch" or given[0] == before else before
        if op == "inc":
            return 0 if before >= given[0] else before + 1
        regs = {"%before": before, "%given": given[0]}
        self.step([op, kind], ["there", "%before", "%given"], regs)
        return regs["there"] & MASKS[width(kind)]

    def step(self, name, operands, regs):
        op, kind = name[0], name[-1]
        if op == "st" and name[1] == "async":
            self.access(["st", "shared", kind], operands[:2], regs)
            self.awaited_bytes[self.place(operands[2], regs)] -= width(kind) // 8
            return None
        if op in ("ld", "st"):
            return self.access(name, operands, regs)
        if op in ("atom", "red"):
            return self.atomic(name, operands, regs)
        if op in ("membar", "fence", "griddepcontrol"):
            return None
        if op == "mbarrier":
            return self.await_bytes(name[1], operands, regs)
        target = operands[0]
        if op == "mapa":
            rank = self.value(operands[2], regs)
            regs[target] = self.value(operands[1], regs) & MASKS[32] | rank + 1 << RANK
            return None
        if op == "mov" and (target.startswith("{") or operands[1].startswith("{")):
            return self.packed(kind, operands, regs)
        if op == "cvt" and name[-2] == "bf16x2":
            high, low = (to_bits(to_float(self.value(one, regs), "f32"), "bf16") for one in operands[1:])
            regs[target] = high << 16 | low
            return None
        if op == "cvt":
            regs[target] = self.converted(name, self.value(operands[1], regs, kind))
            return None
        if op == "cvta":
            regs[target] = self.value(operands[1], regs)
            return None
        if kind.endswith("x2"):
            return self.pairs(op, name, kind[:-2], operands, regs)
        v = [self.value(one, regs, kind) for one in operands[1:]]
        if op == "shf":  # .r.wrap: the lower word of both, moved down
            both = v[1] << 32 | v[0] & MASKS[32]
            regs[target] = both >> (v[2] & 31) & MASKS[32]
            return None
        if op == "mul" and name[1] == "wide":
            bits = width(kind)
            a, b = (signed(x & MASKS[bits], bits) if kind[0] == "s" else x & MASKS[bits] for x in v)
            regs[target] = a * b & MASKS[2 * bits]
            return None
        if op == "selp":
            regs[target] = v[0] if regs[operands[3]] else v[1]
            return None
        if kind == "pred":
            regs[target] = {"and": lambda: v[0] & v[1], "or": lambda: v[0] | v[1], "xor": lambda: v[0] ^ v[1],
                            "not": lambda: 1 - v[0], "mov": lambda: v[0] & 1}[op]()
            return None
        if kind[0] == "f" or kind == "bf16":
            return self.floats(op, name, kind, target, v, regs)
        bits = width(kind)
        mask = MASKS[bits]
        v = [x & mask for x in v]
        s = [signed(x, bits) for x in v] if kind[0] == "s" else v
        if op == "setp":
            test = {"eq": s[0] == s[1], "ne": s[0] != s[1], "lt": s[0] < s[1], "le": s[0] <= s[1],
                    "gt": s[0] > s[1], "ge": s[0] >= s[1]}[name[1]]
            regs[target] = int(test)
            return None
        row = {"mov": lambda: v[0], "add": lambda: s[0] + s[1], "sub": lambda: s[0] - s[1],
               "mul": lambda: s[0] * s[1] >> (bits if name[1] == "hi" else 0), "mad": lambda: s[0] * s[1] + s[2],
               "and": lambda: v[0] & v[1], "or": lambda: v[0] | v[1], "xor": lambda: v[0] ^ v[1],
               "not": lambda: ~v[0], "neg": lambda: -s[0], "min": lambda: min(s[0], s[1]),
               "max": lambda: max(s[0], s[1]), "div": lambda: int(s[0] / s[1]),
               "rem": lambda: s[0] - int(s[0] / s[1]) * s[1], "shl": lambda: v[0] << v[1] if v[1] < bits else 0,
               "shr": lambda: s[0] >> min(v[1], bits - 1) if kind[0] == "s" else v[0] >> v[1],
               "clz": lambda: bits - v[0].bit_length(), "popc": lambda: v[0].bit_count(), "abs": lambda: abs(s[0]), "bfe": lambda: self.field(v, kind),
               "bfi": lambda: v[1] & ~((1 << v[3]) - 1 << v[2]) | (v[0] & (1 << v[3]) - 1) << v[2]}
        regs[target] = row[op]() & mask
        return None

    @staticmethod
    def field(v, kind):
        bits = v[0] >> v[1] & (1 << v[2]) - 1
        return signed(bits, v[2]) if kind[0] == "s" and v[2] else bits

    def pairs(self, op, name, kind, operands, regs):
        """Two floats of sixteen bits in a word, each by itself."""
        both = [self.value(one, regs) for one in operands[1:]]
        made = {}
        for shift in (0, 16):
            self.floats(op, name, kind, shift, [one >> shift & 0xFFFF for one in both], made)
        regs[operands[0]] = made[16] << 16 | made[0]

    def floats(self, op, name, kind, target, v, regs):
        if op == "mov":
            regs[target] = v[0]
            return
        if op in ("abs", "neg"):
            sign = 1 << width(kind) - 1
            regs[target] = v[0] & ~sign if op == "abs" else v[0] ^ sign
            return
        x = [to_float(one, kind) for one in v]
        if op == "sqrt":
            regs[target] = to_bits(math.sqrt(x[0]) if x[0] >= 0 else math.nan, kind)
            return
        if op == "ex2":  # .ftz: nothing below the normal numbers
            power = math.inf if x[0] >= 128 else 2.0 ** x[0] if x[0] >= -126 else 0.0
            regs[target] = to_bits(power if x[0] == x[0] else math.nan, kind)
            return
        if op in ("rcp", "rsqrt"):
            root = x[0] if op == "rcp" else math.sqrt(x[0]) if x[0] >= 0 else math.nan
            exact = divided(1.0, root)
            bits = to_bits(rounded(exact, kind) if math.isfinite(exact) else exact, kind)
            is_off = "approx" in name and math.isfinite(exact) and exact != 0
            regs[target] = bits + (self.units_wrong if is_off else 0)
            return
        if op == "setp":
            unordered = x[0] != x[0] or x[1] != x[1]
            order = {"eq": x[0] == x[1], "ne": x[0] < x[1] or x[0] > x[1], "lt": x[0] < x[1], "gt": x[0] > x[1],
                     "le": x[0] <= x[1], "ge": x[0] >= x[1], "nan": unordered, "num": not unordered}
            test = name[1]
            regs[target] = int(order[test] if test in order else order[test[:-1]] or unordered)
            return
        if op in ("max", "min"):
            strange = [one for one, number in zip(v, x) if number != number]
            if strange:  # the number, if it is not asked for
                regs[target] = strange[0] if "NaN" in name or len(strange) == 2 else v[0] if x[0] == x[0] else v[1]
                return
            regs[target] = v[0] if (x[0] >= x[1]) == (op == "max") else v[1]
            return
        if not all(map(math.isfinite, x)):
            made = {"add": lambda: x[0] + x[1], "sub": lambda: x[0] - x[1], "mul": lambda: x[0] * x[1],
                    "fma": lambda: x[0] * x[1] + x[2], "div": lambda: divided(*x)}[op]()
            regs[target] = to_bits(made, kind)
            return
        exact = {"add": lambda: Fraction(x[0]) + Fraction(x[1]), "sub": lambda: Fraction(x[0]) - Fraction(x[1]),
                 "mul": lambda: Fraction(x[0]) * Fraction(x[1]), "div": lambda: divided(*x),
                 "fma": lambda: Fraction(x[0]) * Fraction(x[1]) + Fraction(x[2])}[op]()
        regs[target] = to_bits(rounded(exact, kind) if math.isfinite(exact) else exact, kind)

    def packed(self, kind, operands, regs):
        target, source = operands
        half = width(kind) // 2
        if target.startswith("{"):
            whole = self.value(source, regs)
            for i, one in enumerate(target.strip("{}").split(",")):
                regs[one.strip()] = whole >> (half * i) & MASKS[half]
        else:
            parts = [self.value(one.strip(), regs) & MASKS[half] for one in source.strip("{}").split(",")]
            regs[target] = parts[0] | parts[1] << half

    def converted(self, name, bits):
        to, of = name[-2], name[-1]
        if to == "tf32":
            return tf32(bits)
        is_float = lambda kind: kind in ("f16", "bf16", "f32", "f64")
        whole = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}
        if is_float(of):
            number = to_float(bits, of)
            for how in whole.keys() & set(name):
                if math.isfinite(number):
                    number = math.copysign(whole[how](number), number) if is_float(to) else whole[how](number)
            if is_float(to):
                return to_bits(number, to)
            least, most = (-1 << width(to) - 1, (1 << width(to) - 1) - 1) if to[0] == "s" else (0, MASKS[width(to)])
            bits, of = 0 if number != number else int(max(least, min(most, number))) & MASKS[64], "b64"
        wide = signed(bits & MASKS[width(of)], width(of)) if of[0] == "s" else bits & MASKS[width(of)]
        if is_float(to):
            return to_bits(float(wide), to)
        # Of what is signed the sign goes on through the register.
        return signed(wide & MASKS[width(to)], width(to)) & MASKS[64] if to[0] == "s" else wide & MASKS[width(to)]

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


def rounded(exact, kind):
    """The nearest number of the dtype to a fraction: to odd in float64 first where that is wider."""
    near = float(exact)
    if kind == "f64" or near == exact or near in (float("inf"), float("-inf")):
        return near
    bits = struct.unpack("<q", struct.pack("<d", near))[0]
    if bits & 1 == 0:
        bits += 1 if abs(exact) > abs(near) else -1
    return struct.unpack("<d", struct.pack("<q", bits))[0]
