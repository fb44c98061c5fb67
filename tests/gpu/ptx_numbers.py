"""Numbers of PTX: registers hold bits, which these read and make."""
import math
import operator
import struct
from fractions import Fraction

MASKS = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}
FORMS = {kind: (struct.Struct(bits), struct.Struct(number)) for kind, bits, number in (
    ("f16", "<H", "<e"), ("f32", "<I", "<f"), ("f64", "<Q", "<d"))}


def width(kind):
    return 1 if kind == "pred" else int(kind[1:].replace("f16", "16")) if kind != "bf16" else 16


def is_float(kind):
    return kind[0] == "f" or kind == "bf16"


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def to_float(value, kind):
    if kind == "bf16":
        return to_float(value << 16, "f32")
    bits, number = FORMS[kind]
    return number.unpack(bits.pack(value))[0]


def to_bits(value, kind):
    """The nearest number of the dtype to one of float64."""
    if value != value:  # the one NaN that GPUs make
        return {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}[kind]
    bits, number = FORMS["f32" if kind == "bf16" else kind]
    try:
        made = bits.unpack(number.pack(value))[0]
    except OverflowError:
        made = bits.unpack(number.pack(math.copysign(math.inf, value)))[0]
    if kind != "bf16":
        return made
    near = number.unpack(bits.pack(made))[0]
    if near != value and math.isfinite(near):  # to odd, so that only one rounding shows
        made = made - (abs(near) > abs(value)) | 1
    return (made + 0x7FFF + (made >> 16 & 1)) >> 16 & 0xFFFF


def tf32(value):
    """cvt.rna: to 10 bits of mantissa, halves away from zero."""
    return (value + 0x1000) & 0xFFFFE000


def divided(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def root(a):
    return math.sqrt(a) if a >= 0 else math.nan


def power(a):
    """ex2.ftz: nothing below the normal numbers."""
    return a if a != a else math.inf if a >= 128 else 2.0 ** a if a >= -126 else 0.0


def quotient(a, b):
    """Of integers, towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def to_odd(near, is_less):
    """What rounds it again rounds only once the number that `near` is the nearest to, but not."""
    bits = struct.unpack("<q", struct.pack("<d", near))[0]
    if bits & 1 == 0:
        bits += 1 if is_less == (near > 0) else -1
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def fused(a, b, c):
    """a * b + c of numbers of at most 24 bits, to odd in float64: what rounds it again rounds it once."""
    product = a * b  # exact
    total = product + c
    if not math.isfinite(total):
        return total
    back = total - product
    rest = product - (total - back) + (c - back)
    if rest == 0:
        return total
    return to_odd(total, rest > 0)


def fused64(a, b, c):
    near = a * b + c
    if not all(map(math.isfinite, (a, b, c))):
        return near
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else near
    except OverflowError:
        return math.copysign(math.inf, exact)


def extreme(op, kind, keeps_nan):
    """max or min of bits: the number where one is none, if that is not asked for."""
    first = operator.ge if op == "max" else operator.lt

    def of(a, b):
        x, y = to_float(a, kind), to_float(b, kind)
        if x != x or y != y:
            strange = a if x != x else b
            return strange if keeps_nan or (x != x and y != y) else a if x == x else b
        return a if first(x, y) else b
    return of


def approximate(function, kind, units_wrong):
    """So much off where the result is a number."""
    def of(a):
        exact = function(to_float(a, kind))
        return to_bits(exact, kind) + (units_wrong if math.isfinite(exact) and exact != 0 else 0)
    return of


def test_of(name):
    """Of two numbers; `..u` holds also where one is none."""
    plain = {"eq": operator.eq, "ne": lambda a, b: a < b or a > b, "lt": operator.lt, "gt": operator.gt,
             "le": operator.le, "ge": operator.ge, "nan": lambda a, b: a != a or b != b,
             "num": lambda a, b: a == a and b == b}
    if name in plain:
        return plain[name]
    return lambda a, b: plain[name[:-1]](a, b) or a != a or b != b


def converted(name):
    """cvt of or to floats, of bits."""
    to, of = name[-2], name[-1]
    whole = [how for key, how in (("rzi", math.trunc), ("rni", round), ("rmi", math.floor), ("rpi", math.ceil))
             if key in name]

    def from_float(bits):
        number = to_float(bits, of)
        for how in whole:
            if math.isfinite(number):
                number = math.copysign(how(number), number) if is_float(to) else how(number)
        if is_float(to):
            return to_bits(number, to)
        least, most = (-1 << width(to) - 1, (1 << width(to) - 1) - 1) if to[0] == "s" else (0, MASKS[width(to)])
        # Of what is signed the sign goes on through the register.
        return 0 if number != number else int(max(least, min(most, number))) & MASKS[64]

    def from_integer(bits):
        bits &= MASKS[width(of)]
        wide = signed(bits, width(of)) if of[0] == "s" else bits
        return to_bits(rounded(wide, to), to)

    return tf32 if to == "tf32" else from_float if is_float(of) else from_integer


def rounded(exact, kind):
    """An integer or a fraction in float64, to odd where the dtype has less bits: what rounds it again rounds it once."""
    near = float(exact)
    if kind == "f64" or near == exact:
        return near
    return to_odd(near, exact > near)
