#!/usr/bin/env python3
"""Whole graphs and programs on a GPU that runs PTX thread by thread (tests/fake_gpu, emulated.py), with and without
checks: what they give is what the reference gives, at sizes that fill no tile, and nothing is found in them; what is
wrong is found. Further folders are searched for programs of Inductor (NAME.cuda.log with the answers beside it).

    graphs.py ASSAY FAKE_GPU [FOLDER...]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

assay, fake_gpu, *folders = sys.argv[1:]
HERE = Path(__file__).resolve().parent
WRAPPERS = HERE.parent / "data" / "wrappers"
ENV = dict(os.environ, LD_LIBRARY_PATH=fake_gpu, FAKE_GPU_MACHINE=str(HERE / "emulated.py"), ASSAY_CODE_CACHE="")
X = 'x: "{}[s0, s1][s1, 1]cuda:0"'
CHANNELS = 'x: "{}[s0, 3, s1][3*s1, s1, 1]cuda:0"'
ROW = 'w: "{}[s1][1]cuda:0"'
INDEX = 'i: "i64[s0][1]cuda:0"'
SEED = 'k: "i64[][]cuda:0"'
# name: parameters, statements; the results are `a` and, where there is one, `r`
GRAPHS = {
    "chain": ((X, ROW), ["b = sigmoid.default(x)", "c = mul.Tensor(b, w)", "a = add.Tensor(c, x)"]),
    "softmax": ((X,), ["a = _softmax.default(x, 1, False)"]),
    "columns": ((X,), ["a = sum.dim_IntList(x, [0])"]),
    "all": ((X,), ["a = sum.default(x)"]),
    "norm": ((X, ROW), ["m = native_layer_norm.default(x, [s1], w, w, 1e-05)", "a = m[0]"]),
    "spread": ((X,), ["m = var_mean.correction(x, [0], correction = 1)", "a = m[0]"]),
    "channels": ((CHANNELS,), ["m = var_mean.correction(x, [0, 2], correction = 0, keepdim = True)", "v = m[0]", "w = m[1]",
                               "d = sub.Tensor(x, w)", "e = rsqrt.default(v)", "a = mul.Tensor(d, e)"]),
    "channel sums": ((CHANNELS,), ["a = sum.dim_IntList(x, [0, 2])"]),
    "columns less their mean": ((X,), ["m = var_mean.correction(x, [0], correction = 0)", "v = m[0]", "w = m[1]",
                                       "d = sub.Tensor(x, w)", "e = rsqrt.default(v)", "a = mul.Tensor(d, e)",
                                       "r = add.Tensor(w, v)"]),
    "all less their mean": ((X,), ["m = mean.default(x)", "d = sub.Tensor(x, m)", "e = mul.Tensor(d, d)",
                                   "r = sum.default(e)", "a = div.Tensor(d, r)"]),
    "sums beside": ((X, ROW), ["b = mul.Tensor(x, w)", "a = relu.default(b)", "r = sum.dim_IntList(a, [0])"]),
    "sums of all beside": ((X, ROW), ["b = mul.Tensor(x, w)", "a = relu.default(b)", "r = sum.default(a)"]),
    "scan": ((X,), ["a = cumsum.default(x, 1)"]),
    "scan of columns": ((X,), ["b = mul.Tensor(x, 0.5)", "c = add.Tensor(b, 1)", "a = cumprod.default(c, 0)"]),
    "drawn of seeds": ((X, SEED), ["u = prims.inductor_random.default([s0, s1], k, 'rand')", "n = prims.inductor_random."
                                   "default([s0, s1], k, 'randn', offset = 7)", "i = prims.inductor_randint.default(-3, 11, "
                                   "[s0, s1], k)", "g = gt.Scalar(u, 0.2)", "b = mul.Tensor(g, x)", "c = add.Tensor(b, i)",
                                   "a = add.Tensor(c, n)"]),
    "sorted": ((X,), ["m = sort.stable(x, stable = True, dim = 1, descending = True)", "b = m[0]", "c = m[1]",
                      "a = add.Tensor(b, c)"]),
    "largest": ((X,), ["m = topk.default(x, 1, 1)", "b = m[0]", "c = m[1]", "a = add.Tensor(b, c)"]),
    "place": ((X,), ["b = argmax.default(x, 1)", "c = amax.default(x, [1])", "a = mul.Tensor(b, c)"]),
    "turned": ((X,), ["b = permute.default(x, [1, 0])", "c = exp.default(b)", "a = clone.default(c, "
                      "memory_format = torch.contiguous_format)"]),
    "functions": ((X,), ["b = silu.default(x)", "c = tanh.default(b)", "d = log1p.default(c)", "e = sin.default(x)",
                         "f = gelu.default(e)", "g = expm1.default(f)", "a = add.Tensor(d, g)"]),
    "roots": ((X,), ["b = relu.default(x)", "a = rsqrt.default(b)"]),
    "joined": ((X,), ["b = relu.default(x)", "c = cat.default([b, x, b], 1)", "a = constant_pad_nd.default(c, [1, 2], 1.5)"]),
    "padded": ((X,), ["a = constant_pad_nd.default(x, [3, 5, 2, 1], -1.0)"]),
    "picked": ((X, INDEX), ["b = index_select.default(x, 0, i)", "a = add.Tensor(b, x)"]),
    "added up": ((X, INDEX), ["z = mul.Tensor(x, 0)", "a = index_put.default(z, [i], x, True)"]),
}
SIZES = {"f32": [(1, 1), (7, 33), (3, 1030), (130, 5)], "bf16": [(5, 65)]}
# Rows of several axes, of which the innermost one has whole runs, short ones, or none
RUNS = {"f32": [(2, 2), (5, 12), (90, 4)], "bf16": [(3, 64), (70, 16), (5, 12), (3, 49), (600, 8)]}

# Parts
PARTS = {"f32": [(700, 40)]}
# Few rows of many elements, which are read again
MORE = {"columns less their mean": {"f32": [(16500, 2)], "bf16": [(8300, 4)]},
        "softmax": {"f32": [(5, 0)]},  # rows of nothing
        "all less their mean": {"f32": [(200, 170)]}, "channels": RUNS, "channel sums": RUNS, "sums beside": PARTS, "sums of all beside": PARTS}


def called(right):
    if right.startswith("m["):
        return right
    return ("torch.ops." if right.startswith("prims.") else "torch.ops.aten.") + right


def text(name, dtype):
    parameters, statements = GRAPHS[name]
    body = "".join(f"        {left} = {called(right)}\n" for left, right in (one.split(" = ", 1) for one in statements))
    head = ", ".join(parameters).format(*[dtype] * len(parameters))
    results = ", ".join(one for one in ("a", "r") if any(left.startswith(f"{one} = ") for left in statements))
    return f"class G(torch.nn.Module):\n    def forward(self, {head}):\n{body}        return ({results},)\n"


def run(*command):
    done = subprocess.run([assay, *command, "--executor", "cuda", "--launch-timeout", "0"], env=ENV, text=True,
                          capture_output=True)
    out = done.stdout + done.stderr
    # What runs elsewhere would be right as well.
    return done.returncode if re.search(r"emulated launches: [1-9]", out) else -1, out


def graph(folder, name, dtype, sizes, *checked):
    path = Path(folder) / f"{name} {dtype} {sizes} {checked}.txt"
    path.write_text(text(name, dtype))
    code, out = run("compile", str(path), "--check", *checked, "--at", "s0={},s1={}".format(*sizes))
    wanted = "0 wrong accesses" if checked else "accesses are not checked"
    is_right = code == 0 and " agree with the graph" in out and wanted in out
    return None if is_right and "on the host: " not in out else out[-500:]


def bits(folder, function, dtype):
    """The same bits as on the CPU, where all arguments of a thread are usual ones and where some are not."""
    lines, made = ["p = abs.default(x)", "l = mul.Tensor(x, 100000.0)", "n = sub.Tensor(p, 0.6)"], []
    lines.append("w = arange.start_step(1, 2048, 2, dtype=torch.int64, device=torch.device('cuda:0'))")
    width = "int32" if dtype == "f32" else "int16"
    for x in "pxln":
        lines += [f"{x}0 = {function}.default({x})", f"{x}1 = ne.Tensor({x}0, {x}0)",
                  f"{x}2 = masked_fill.Scalar({x}0, {x}1, 0.0)", f"{x}3 = view.dtype({x}2, torch.{width})",
                  f"{x}4 = _to_copy.default({x}3, dtype=torch.int64)", f"{x}5 = mul.Tensor({x}4, w)",
                  f"{x}6 = sum.default({x}5)", f"{x}7 = remainder.Scalar({x}6, 999983)"]
        made.append(f"{x}7")
    path = Path(folder) / f"bits of {function} {dtype}.txt"
    body = "".join(f"        {one.replace(' = ', ' = torch.ops.aten.', 1)}\n" for one in lines)
    path.write_text(f"class G(torch.nn.Module):\n    def forward(self, x: \"{dtype}[4, 1024][1024, 1]cuda:0\"):\n{body}"
                    f"        return ({', '.join(made)})\n")
    code, out = run("run", str(path))
    cpu = subprocess.run([assay, "run", str(path), "--executor", "cpu"], env=ENV, text=True, capture_output=True)
    got, wanted = (re.findall(r"^output.*", text, re.M) for text in (out, cpu.stdout))
    return None if code == 0 and len(got) == len(made) and got == wanted else f"{out[-500:]}{cpu.stdout[-300:]}"


# Numbers of generators, which `compile --check` compares with nobody's
DRAWN = ["m = native_dropout.default(x, 0.3, True)", "a = m[0]", "b = m[1]", "c = rand_like.default(x)",
         "d = randn_like.default(x)", "e = bernoulli.p(x, 0.4)", "f = exponential.default(x, 2.0)",
         "g = randint_like.low_dtype(x, -3, 12)", "h = sigmoid.default(x)", "i = bernoulli.default(h)"]


def drawn(folder, dtype, sizes):
    """What the reference prints."""
    path = Path(folder) / f"drawn {dtype} {sizes}.txt"
    body = "".join(f"        {left} = {called(right)}\n" for left, right in (one.split(" = ", 1) for one in DRAWN))
    path.write_text(f"class G(torch.nn.Module):\n    def forward(self, x: \"{dtype}{list(sizes)}[{sizes[1]}, 1]cuda:0\"):\n"
                    f"{body}        return (a, b, c, d, e, f, g, i)\n")
    code, out = run("run", str(path))
    wanted = subprocess.run([assay, "run", str(path)], env=ENV, text=True, capture_output=True).stdout
    got, wanted = (re.findall(r"^output.*", text, re.M) for text in (out, wanted))
    return None if code == 0 and len(got) == 8 and got == wanted and "on the host: " not in out else out[-900:]


def unbound(folder, name, dtype, sizes):
    """Statement by statement, which a seed asks for: what the reference prints."""
    path = Path(folder) / f"unbound {name} {dtype} {sizes}.txt"
    path.write_text(text(name, dtype))
    options = ("run", str(path), "--seed", "3", "--at", "s0={},s1={}".format(*sizes))
    code, out = run(*options)
    wanted = subprocess.run([assay, *options], env=ENV, text=True, capture_output=True).stdout
    got, wanted = (re.findall(r"^output.*", text, re.M) for text in (out, wanted))
    launches = int(re.search(r"emulated launches: (\d+)|$", out)[1] or 0)
    # The kernel that is the program's own, and those that stand for the call.
    return None if code == 0 and launches > 1 and got and got == wanted else out[-900:]


def program(path, *options, code=0):
    got, out = run("run", str(path), *options)
    return None if got == code else out[-500:]


def wrong_program(path):
    return program(path, "--check", code=1)


def copied(folder, is_read):
    """A copy of what nobody wrote is found where somebody computes with it, as the kernel's that made the copy."""
    path = Path(folder) / f"copied {is_read}.py"
    text = (WRAPPERS / "copy_of_nothing.py").read_text()
    path.write_text(text if is_read else text.replace("mul_1.run(buf1,", "mul_1.run(arg1_1,"))

    def findings(executor):
        done = subprocess.run([assay, "run", str(path), "--check", "--json", "--executor", executor], env=ENV, text=True,
                              capture_output=True)
        (made,) = json.loads(done.stdout)["programs"]
        return [[one[key] for key in ("kind", "line", "kernel", "kernel_line", "param")] for one in made["findings"]]

    got, wanted = findings("cuda"), findings("interpret")
    return None if got == wanted and len(got) == is_read else f"{got}, not {wanted}"


def cases(folder):
    for name in GRAPHS:
        for dtype, all_sizes in SIZES.items():
            for sizes in all_sizes + MORE.get(name, {}).get(dtype, []):
                yield f"{name} of {dtype} at {sizes}", graph, (folder, name, dtype, sizes)
        yield f"{name}, checked", graph, (folder, name, "f32", (6, 37), "--redzones")
    for function in ("exp", "exp2", "log", "log1p", "sin", "cos"):
        for dtype in ("f32", "bf16"):
            yield f"bits of {function} of {dtype}", bits, (folder, function, dtype)
    for dtype in ("f32", "bf16"):
        for sizes in ((3, 7), (5, 250), (40, 96)):
            yield f"drawn numbers of {dtype} at {sizes}", drawn, (folder, dtype, sizes)
    for name in ("sorted", "largest"):
        yield f"{name}, statement by statement", unbound, (folder, name, "f32", (5, 65))
    for dtype in ("f32", "i64"):  # tiles that are merged
        yield f"sorted of {dtype}, long", graph, (folder, "sorted", dtype, (1, 4100))
    for name in ("scale_rows.py", "rows_and_columns.py", "mm_template.py", "split_scan.py"):
        yield name, program, (WRAPPERS / name, "--check")
    for is_read in (True, False):
        yield f"copy of what nobody wrote, {is_read}", copied, (folder, is_read)
    yield "scale_rows_without_mask.py", wrong_program, (WRAPPERS / "scale_rows_without_mask.py",)
    for log in sorted(one for other in folders for one in Path(other).glob("*.cuda.log")):
        for check in ([], ["--check"]):
            yield f"{log.name} {' '.join(check)}", program, (log, "--inputs", log.with_suffix(".json"), *check)


with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    all_cases = list(cases(folder))
    problems = list(pool.map(lambda case: case[1](*case[2]), all_cases))
for (name, *_), problem in zip(all_cases, problems):
    if problem is not None:
        print(f"{name}: {problem}")
failed = sum(problem is not None for problem in problems)
print(f"{len(problems) - failed} of {len(problems)} right")
sys.exit(failed > 0)
