"""Instructions of PTX as statements of Python. `r` has a thread's registers by name, `m` is the machine."""

import ptx_numbers as numbers
from ptx_numbers import MASKS, is_float, width

RANK = 56  # of a block's number in addresses
# Of integers: {r0} an operand's register, {v0} its bits, {s0} its number, in the width of the dtype.
INTEGER = {
    "mov": "{r0}", "add": "{r0} + {r1}", "sub": "{r0} - {r1}", "mul": "{r0} * {r1}", "mad": "{r0} * {r1} + {r2}",
    "mul.hi": "{s0} * {s1} >> {bits}", "and": "{r0} & {r1}", "or": "{r0} | {r1}", "xor": "{r0} ^ {r1}", "not": "~{r0}",
    "neg": "-{r0}", "min": "min({s0}, {s1})", "max": "max({s0}, {s1})", "div": "quotient({s0}, {s1})",
    "rem": "{s0} - quotient({s0}, {s1}) * {s1}", "shl": "{r0} << {v1} if {v1} < {bits} else 0",
    "shr": "{s0} >> min({v1}, 64)", "clz": "{bits} - {v0}.bit_length()", "popc": "{v0}.bit_count()", "abs": "abs({s0})",
    "bfi": "{v1} & ~((1 << {v3}) - 1 << {v2}) | ({v0} & (1 << {v3}) - 1) << {v2}",
    "bfe": "field({v0}, {v1}, {v2}, {is_signed})", "exch": "{r1}", "cas": "{r2} if {v0} == {v1} else {r0}",
    "inc": "0 if {v0} >= {v1} else {v0} + 1"}
TESTS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# Of floats: {x0} an operand's number; the result is rounded once.
FLOAT = {"add": "{x0} + {x1}", "sub": "{x0} - {x1}", "mul": "{x0} * {x1}", "div": "divided({x0}, {x1})",
         "fma": "{fused}({x0}, {x1}, {x2})", "sqrt": "root({x0})", "ex2": "power({x0})"}
PREDICATE = {"and": "{r0} & {r1}", "or": "{r0} | {r1}", "xor": "{r0} ^ {r1}", "not": "1 - {r0}", "mov": "{r0} & 1"}
NOTHING = ("membar", "fence", "griddepcontrol")


def field(bits, start, count, is_signed):
    bits = bits >> start & (1 << count) - 1
    return numbers.signed(bits, count) if is_signed and count else bits


def own(address, r):
    """Of its own block, where the address is none of all memory."""
    return address if address >= 1 << 32 else address | r["rank"] + 1 << RANK


def parts_of(text):
    return [part.strip() for part in text.strip("{}").split(",")]


class Translation:
    """Of the instructions of one module."""

    def __init__(self, symbols, tables, units_wrong):
        self.symbols, self.tables, self.units_wrong = symbols, tables, units_wrong
        self.names = {"own": own, "field": field, "divided": numbers.divided, "root": numbers.root,
                      "power": numbers.power, "quotient": numbers.quotient, "fused": numbers.fused,
                      "fused64": numbers.fused64}
        for kind in ("bf16", "f16", "f32", "f64"):
            self.names[f"number_{kind}"] = lambda bits, kind=kind: numbers.to_float(bits, kind)
            self.names[f"bits_{kind}"] = lambda value, kind=kind: numbers.to_bits(value, kind)
        bits, number = numbers.FORMS["f32"]
        self.names["number_f32"] = lambda value: number.unpack(bits.pack(value))[0]

    def function(self, instructions):
        """Of the machine and the registers of the threads that run them, one thread after the other."""
        lines = ["def run(m, threads):", " for r in threads:"]
        for guard, name, operands in instructions:
            indent = "  "
            if guard:
                lines.append(f"  if {'not ' * guard[1]}r['{guard[0]}']:")
                indent = "   "
            lines += [indent + line for line in self.statements(name, operands)]
        scope = dict(self.names)
        exec("\n".join(lines), scope)
        return scope["run"]

    def named(self, function):
        name = f"f{len(self.names)}"
        self.names[name] = function
        return name

    def operand(self, text, kind="b64"):
        if text in self.symbols:
            return f"({self.symbols[text][0]} | r['rank'] + 1 << {RANK})"
        if text in self.tables:
            return str(self.tables[text][0])
        if text[:2] in ("0f", "0d"):
            return str(int(text[2:], 16))
        if text[0] not in "-0123456789":
            return f"r['{text}']"
        return str(int(text, 0) & MASKS[max(width(kind), 8)])

    def place(self, text, is_global=False):
        base, _, more = text.strip("[]").partition("+")
        address = f"{self.operand(base.strip())} + {int(more or 0)}"
        return address if is_global else f"own({address}, r)"

    def expression(self, name, kind, operands):
        """Of operands that are expressions of bits."""
        op = name[0]
        if kind.endswith("x2"):  # two floats of sixteen bits in a word, each by itself
            arguments = [f"a{i}" for i in range(len(operands))]
            made = self.expression(name, kind[:-2], arguments)
            one = self.named(eval(f"lambda {', '.join(arguments)}: {made}", self.names))
            low, high = (", ".join(f"{each} >> {shift} & 65535" for each in operands) for shift in (0, 16))
            return f"{one}({low}) | {one}({high}) << 16"
        if kind == "pred":
            return PREDICATE[op].format(r0=operands[0], r1=operands[-1])
        if is_float(kind):
            return self.float_expression(name, kind, operands)
        bits = width(kind)
        values = {"bits": bits, "is_signed": kind[0] == "s"}
        for i, one in enumerate(operands):
            masked = one if one.isdigit() and int(one) >> bits == 0 else f"({one} & {MASKS[bits]})"
            is_number = kind[0] == "s" and not (one.isdigit() and int(one) < 1 << bits - 1)
            values |= {f"r{i}": one, f"v{i}": masked,
                       f"s{i}": f"(({masked} ^ {1 << bits - 1}) - {1 << bits - 1})" if is_number else masked}
        if op == "setp":
            return "int({s0} {test} {s1})".format(test=TESTS[name[1]], **values)
        if op in ("mul", "mad") and name[1] == "wide":
            more = f" + {operands[2]}" if op == "mad" else ""
            return "({s0} * {s1}{more}) & {mask}".format(more=more, mask=MASKS[2 * bits], **values)
        return f"({INTEGER[op + '.hi' if 'hi' in name else op].format(**values)}) & {MASKS[bits]}"

    def float_expression(self, name, kind, operands):
        op = name[0]
        sign = 1 << width(kind) - 1
        plain = {"mov": "{0}", "exch": "{1}", "abs": f"{{0}} & {sign - 1}", "neg": f"{{0}} ^ {sign}"}
        if op in plain:
            return plain[op].format(*operands)
        values = {f"x{i}": f"number_{kind}({one})" for i, one in enumerate(operands)}
        if op == "setp":
            return f"int({self.named(numbers.test_of(name[1]))}({values['x0']}, {values['x1']}))"
        if op in ("max", "min"):
            return f"{self.named(numbers.extreme(op, kind, 'NaN' in name))}({', '.join(operands)})"
        if op in ("rcp", "rsqrt"):
            exact = {"rcp": lambda a: numbers.divided(1.0, a),
                     "rsqrt": lambda a: numbers.divided(1.0, numbers.root(a))}[op]
            wrong = self.units_wrong if "approx" in name else 0
            return f"{self.named(numbers.approximate(exact, kind, wrong))}({operands[0]})"
        return f"bits_{kind}({FLOAT[op].format(fused='fused64' if kind == 'f64' else 'fused', **values)})"

    def statements(self, name, operands):
        op, kind = name[0], name[-1]
        if op in NOTHING:
            return ["pass"]
        if op in ("ld", "st"):
            return self.access(name, operands)
        if op in ("atom", "red"):
            return self.atomic(name, operands if op == "atom" else ["_", *operands])
        if op == "mbarrier":
            return self.await_bytes(name[1], operands)
        target, given = f"r['{operands[0]}']", [self.operand(one, kind) for one in operands[1:] if one[0] != "{"]
        if op == "mov" and "{" in (operands[0][0], operands[1][0]):
            return self.packed(kind, operands)
        if op == "mapa":
            made = f"{given[0]} & {MASKS[32]} | {given[1]} + 1 << {RANK}"
        elif op == "cvt":
            made = self.conversion(name, given)
        elif op == "cvta":
            made = given[0]
        elif op == "selp":
            made = f"{given[0]} if {given[2]} else {given[1]}"
        elif op == "shf":  # .wrap: both words, of which the lower or the upper is taken
            both, moved = f"({given[1]} << 32 | {given[0]} & {MASKS[32]})", f"({given[2]} & 31)"
            made = f"({both} >> {moved} if {name[1] == 'r'} else {both} << {moved} >> 32) & {MASKS[32]}"
        else:
            made = self.expression(name, kind, given)
        return [f"{target} = {made}"]

    def conversion(self, name, given):
        to, of = name[-2], name[-1]
        if to.endswith("x2"):
            high, low = (f"bits_{to[:-2]}(number_{of}({one}))" for one in given)
            return f"{high} << 16 | {low}"
        if to == "tf32" or is_float(to) or is_float(of):
            return f"{self.named(numbers.converted(name))}({given[0]})"
        wide = f"({given[0]} & {MASKS[width(of)]})"
        if of[0] == "s":
            wide = f"(({wide} ^ {1 << width(of) - 1}) - {1 << width(of) - 1})"
        narrow = f"{wide} & {MASKS[width(to)]}"
        sign = 1 << width(to) - 1
        return f"((({narrow}) ^ {sign}) - {sign}) & {MASKS[64]}" if to[0] == "s" else narrow

    def access(self, name, operands):
        kind, is_load = name[-1], name[0] == "ld"
        size = width(kind) // 8
        if is_load and name[1] == "param":
            return [f"r['{operands[0]}'] = m.arguments['{operands[1].strip('[]')}']"]
        if name[1] == "async":
            return [*self.access(["st", "shared", kind], operands[:2]),
                    f"m.awaited_bytes[{self.place(operands[2])}] -= {size}"]
        place, other = operands[1::-1] if is_load else operands[:2]
        address, parts = self.place(place, name[1] == "global"), parts_of(other)
        if not is_load:
            bits = [f"({self.operand(one, kind)} & {MASKS[8 * size]}) << {8 * size * i}" for i, one in enumerate(parts)]
            return [f"m.store({address}, {size * len(parts)}, {' | '.join(bits)}, {name[1] == 'global'})"]
        lines = [f"bits = m.load({address}, {size * len(parts)}, r, {name[1] == 'global'})"]
        for i, one in enumerate(parts):
            made = f"bits >> {8 * size * i} & {MASKS[8 * size]}" if len(parts) > 1 else "bits"
            sign = 1 << 8 * size - 1
            lines.append(f"r['{one}'] = " + (f"((({made}) ^ {sign}) - {sign}) & {MASKS[64]}" if kind[0] == "s" else made))
        return lines

    def atomic(self, name, operands):
        """Puts there what becomes of it, and gives what was there, to `atom`; `red` wants nothing."""
        kind, op = name[-1], next(one for one in name[1:] if one in (
            "exch", "cas", "add", "min", "max", "and", "or", "xor", "inc"))
        size, lines = width(kind[:-2] if kind.endswith("x2") else kind) // 8 * (1 + kind.endswith("x2")), []
        given = [parts_of(one) for one in operands[2:]]
        for i in range(len(given[0])):
            values = [f"({self.operand(one[i], kind)} & {MASKS[8 * size]})" for one in given]
            after = self.expression([op, kind], kind, ["before", *values])
            lines += [f"at = {self.place(operands[1])} + {i * size}", f"before = m.load(at, {size})",
                      f"m.store(at, {size}, {after})", f"r['{operands[0]}'] = before"]
        return lines

    def await_bytes(self, what, operands):
        """Of barriers with one arrival, which says how many bytes are to come."""
        place = f"m.awaited_bytes[{self.place(operands[what != 'init'])}]"
        return [{"init": f"{place} = 0", "arrive": f"{place} += {self.operand(operands[-1])}",
                 "try_wait": f"r['{operands[0]}'] = int({place} == 0)"}[what]]

    def packed(self, kind, operands):
        target, source = operands
        half = width(kind) // 2
        if target.startswith("{"):
            return [f"r['{one}'] = {self.operand(source)} >> {half * i} & {MASKS[half]}"
                    for i, one in enumerate(parts_of(target))]
        parts = [f"({self.operand(one)} & {MASKS[half]}) << {half * i}" for i, one in enumerate(parts_of(source))]
        return [f"r['{target}'] = {' | '.join(parts)}"]
