#!/usr/bin/env python3
"""Faults planted into compiled programs of 5 to 100 launches, each cut down by `assay minify`.

    planted_programs.py ASSAY [FOLDER] [--count 60] [--seed 13] [--keep DIR]

Every other program is generated, the others are recorded logs with their answers: of FOLDER, without
it of the reference corpus. Every fault must leave one launch, no statement that nothing left needs, and
at most 3 k log2(N) + 60 questions, where k counts the statements and kernel lines that are left and
N those that there were. What is left must fail the same way when `assay` runs it.
"""
import argparse, json, math, pathlib, random, re, subprocess, sys, tempfile

import recorded_logs


class Generated:
    """A wrapper of `count` launches in Triton: pointwise kernels and row sums over one another."""

    def __init__(self, rng, count):
        self.rng, self.count = rng, count
        self.rows, self.columns = rng.choice([3, 5, 8]), rng.choice([7, 12, 16])
        self.kernels, self.body, self.live = [], [], ["arg0_1", "arg1_1"]
        self.written = {}  # buffer -> launch
        self.read = {}  # launch -> buffers

    def kernel(self, i, operation, fault):
        reads = 2 if operation in ("add", "mul") else 1
        lines = [
            "    xoffset = tl.program_id(0) * XBLOCK",
            "    xindex = xoffset + tl.arange(0, XBLOCK)[:]",
            "    xmask = xindex < xnumel",
            "    x0 = xindex",
        ]
        shift = " + %d" % self.columns if fault == "index" else ""
        mask = "None" if fault == "mask" else "xmask"
        for k in range(reads):
            lines.append(f"    tmp{k} = tl.load(in_ptr{k} + (x0{shift if k == 0 else ''}), {mask})")
        lines += {
            "add": ["    tmp2 = tmp0 + tmp1"],
            "mul": ["    tmp2 = tmp0 * tmp1", "    tmp3 = tmp2 * tmp2", "    tmp2 = tmp3 - tmp0"],
            "exp": ["    tmp1 = 0.5", "    tmp3 = tmp0 * tmp1", "    tmp2 = libdevice.exp(tmp3)"],
            "relu": ["    tmp1 = tl.full([1], 0, tl.int32)", "    tmp2 = triton_helpers.maximum(tmp1, tmp0)"],
        }[operation]
        if fault != "store":
            lines.append(f"    tl.store(out_ptr0 + (x0), tmp2, {mask})")
        pointers = [f"in_ptr{k}" for k in range(reads)] + ["out_ptr0"]
        signature = ", ".join(f"'{p}': '*fp32'" for p in pointers)
        name = f"triton_poi_fused_{operation}_{i}"
        self.kernels.append(
            f"{name} = async_compile.triton('{name}', '''\nimport triton\nimport triton.language as tl\n\n"
            f"@triton_heuristics.pointwise(\n    size_hints={{'x': 128}},\n"
            f"    triton_meta={{'signature': {{{signature}, 'xnumel': 'i32', 'XBLOCK': 'constexpr'}}, 'constants': {{}}}},\n"
            f"    inductor_meta={{'grid_type': 'Grid1D'}}\n)\n@triton.jit\n"
            f"def {name}({', '.join(pointers)}, xnumel, XBLOCK : tl.constexpr):\n"
            + "\n".join(lines) + "\n''', device_str='cuda')\n")
        return name, reads

    def text(self, fault):
        at = self.rng.randrange(1, self.count - 1)
        numel = self.rows * self.columns
        for i in range(self.count):
            operation = self.rng.choice(["add", "mul", "exp", "relu"])
            name, reads = self.kernel(i, operation, fault if i == at else "")
            # What lost its store is read right behind.
            operands = [self.rng.choice(self.live[-6:]) for _ in range(reads)]
            if i == at + 1:
                operands[0] = f"buf{at}"
            rows = self.rows - 1 if fault == "short" and i == at else self.rows
            self.body.append(
                f"buf{i} = empty_strided_cuda(({rows}, {self.columns}), ({self.columns}, 1), torch.float32)")
            self.body.append(f"{name}.run({', '.join(operands)}, buf{i}, {numel}, stream=stream0)")
            if fault == "free" and i == at:
                self.body.append(f"del buf{i}")
            self.live.append(f"buf{i}")
            if len(self.live) > 8 and self.live[1].startswith("buf") and self.live[1] != f"buf{at}":
                self.body.append(f"del {self.live.pop(1)}")
        left = [b for b in self.live if b.startswith("buf") and not (fault == "free" and b == f"buf{at}")]
        lines = "\n".join("        " + line for line in self.body)
        return (
            "import torch\nfrom torch._inductor.async_compile import AsyncCompile\n"
            "async_compile = AsyncCompile()\n\n\n" + "\n\n".join(self.kernels) +
            "\n\ndef call(args):\n    arg0_1, arg1_1 = args\n    args.clear()\n"
            f"    assert_size_stride(arg0_1, ({self.rows}, {self.columns}), ({self.columns}, 1))\n"
            f"    assert_size_stride(arg1_1, ({self.rows}, {self.columns}), ({self.columns}, 1))\n"
            "    with torch.cuda._DeviceGuard(0):\n        torch.cuda.set_device(0)\n"
            f"        stream0 = get_raw_stream(0)\n{lines}\n    return ({', '.join(left)}, )\n\n\n"
            "def get_args():\n    from torch._dynamo.testing import rand_strided\n" +
            "".join(f"    arg{k}_1 = rand_strided(({self.rows}, {self.columns}), ({self.columns}, 1), "
                    "device='cuda:0', dtype=torch.float32)\n" for k in (0, 1)) +
            "    return [arg0_1, arg1_1]\n")


KERNEL_CHANGES = [
    (" + tmp", " - tmp"), (" * tmp", " + tmp"), (" - tmp", " + tmp"),
    ("1.0, tl.float32", "1.5, tl.float32"), ("0.5, tl.float32", "0.25, tl.float32"),
    ("libdevice.exp", "libdevice.sin"), ("triton_helpers.maximum", "triton_helpers.minimum"),
    ("libdevice.rsqrt", "libdevice.sqrt"), ("libdevice.erf", "libdevice.sin"),
    ("tl.where(", "tl.where(~"),
]
ACCESS_CHANGES = [(" + (x0", " + (1 + x0"), (" + (x1", " + (1 + x1"), (" + (x2", " + (1 + x2"),
                  (" + (r0_1", " + (1 + r0_1"), (", xmask)", ", None)"), (", xmask, ", ", None, ")]


def launches_in(lines):
    return sum(1 for line in lines if re.search(r"^\t\s+(triton_\w+\.run\(|extern_kernels\.|buf\d+ = torch\.ops)", line))


def mutated_log(rng, text, changes):
    """A change in a kernel of a program with at least five launches; None where none fits."""
    lines = text.split("\n")
    blocks = [(first, last) for first, last in recorded_logs.programs_of(lines)
              if launches_in(lines[first:last]) >= 5]
    for _ in range(400 if blocks else 0):
        first, last = rng.choice(blocks)
        at = rng.randrange(first, last)
        before, after = rng.choice(changes)
        if not re.match(r"^\t    (    )?(tmp\d+ = |tl\.store)", lines[at]) or before not in lines[at]:
            continue
        lines[at] = lines[at].replace(before, after, 1)
        return "\n".join(lines)
    return None


def body_of(text):
    """Statements of `call` behind the line that unpacks its inputs."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip().startswith("def call("))
    body = []
    for line in lines[first + 1:]:
        if line and not line.startswith(" "):
            break
        if line.strip() and not line.strip().startswith("#"):
            body.append(line.strip())
    return body


def superfluous(text):
    """Statements that neither the launch nor what it forces mentions."""
    body = body_of(text)
    call = re.compile(r"^(\w+\.run\(|extern_kernels\.|cpp_fused|.*torch\.ops\.)")
    notes = ("args", "with ", "torch.cuda", "stream", "return")
    needed = set(re.findall(r"\w+", " ".join(line for line in body if call.match(line))))
    left = [line for line in set(body) if body.count(line) > 1]
    for line in reversed(body):
        if call.match(line) or line.startswith(notes) or line.endswith("= args"):
            continue
        names = set(re.findall(r"\w+", line))
        own = re.match(r"^(\w+) = ", line)
        checked = re.match(r"^(?:assert_\w+|del) ?\(?(\w+)", line)
        if (own and own[1] in needed) or (checked and checked[1] in needed):
            needed |= names
        else:
            left.append(line)
    return left


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


class Case:
    def __init__(self, name, file, oracle, extra=()):
        self.name, self.file, self.oracle, self.extra = name, file, oracle, list(extra)


def still_fails(assay, folder, oracle, failure):
    """Does what was written fail the same way by itself?"""
    minimal = folder / "minimal.py"
    if oracle != "stage":
        again = run([assay, "minify", minimal, "--oracle", oracle, "--calls-only", "--json",
                     "-o", folder / "again"])
        return again.returncode == 1 and json.loads(again.stdout)["failure"] == failure
    # The script asserts what its graph gives: the program gives something else, within bounds.
    ran = run([assay, "run", minimal, "--check", "--json"])
    if ran.returncode != 1:
        return False
    told = json.loads(ran.stdout)
    return (not told["made_up_inputs"] and not any(program["findings"] for program in told["programs"])
            and any(one["message"] for one in told["compared"]))


def judge(assay, case, folder):
    done = run([assay, "minify", case.file, "--oracle", case.oracle, *case.extra, "--json", "-o", folder])
    if done.returncode not in (0, 1):
        return {"problem": (done.stderr or done.stdout).strip()[:200]}
    if done.returncode == 0:
        return None  # changes nothing
    result = json.loads(done.stdout)
    text = (folder / "minimal.py").read_text()
    left = result["statements"]["after"] + result["kernel_lines"]["after"]
    all_lines = result["statements"]["before"] + result["kernel_lines"]["before"]
    result["most"] = 3 * left * math.log2(max(all_lines, 2)) + 60
    result["superfluous"] = superfluous(text)
    result["again"] = still_fails(assay, folder, case.oracle, result["failure"])
    return result


def cases(rng, folder, work):
    """Endless: generated programs, and recorded ones where there are some."""
    logs = sorted(log for log in folder.rglob("*.log") if ".cpu." not in log.name)
    number = 0
    while True:
        number += 1
        if number % 2 == 0:
            log = rng.choice(logs)
            answers = log.with_suffix(".json")
            is_stage = answers.exists() and rng.random() < 0.7
            text = mutated_log(rng, log.read_text(), KERNEL_CHANGES if is_stage else ACCESS_CHANGES)
            if text is None:
                continue
            file = work / f"{number}.log"
            file.write_text(text)
            if is_stage:
                yield Case(f"{log.name} value", file, "stage", ["--inputs", answers])
            else:
                yield Case(f"{log.name} access", file, "run", ["--programs"])
            continue
        fault = rng.choice(["index", "mask", "store", "short", "free"])
        count = rng.choice([5, 8, 13, 21, 34, 55, 100])
        file = work / f"{number}.py"
        file.write_text(Generated(rng, count).text(fault))
        yield Case(f"generated {count} {fault}", file, rng.choice(["run", "prove"]) if fault in ("index", "short") else "run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    bad = planted = tries = asked = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(arguments.keep or folder)
        work.mkdir(parents=True, exist_ok=True)
        source = recorded_logs.folder_of(arguments.folder, ["programs", "torch_trace"],
                                         pathlib.Path(folder) / "corpus")
        for case in cases(rng, source, work):
            if planted == arguments.count or tries == 4 * arguments.count:
                break
            tries += 1
            result = judge(arguments.assay, case, work / f"out{tries}")
            if result is None:
                continue
            planted += 1
            if "problem" in result:
                bad += 1
                print(f"MISS {case.file.name} {case.name} ({case.oracle}): {result['problem']}", flush=True)
                continue
            asked += result["asked"]
            misses = []
            if result["launches"]["after"] != 1:
                misses.append("launches")
            if result["asked"] > result["most"]:
                misses.append("questions")
            if result["superfluous"]:
                misses.append(f"statements {result['superfluous']}")
            if not result["again"]:
                misses.append("does not fail by itself")
            bad += bool(misses)
            print(f"{'MISS' if misses else 'ok  '} {case.file.name} {case.name} ({case.oracle}): launches "
                  f"{result['launches']['before']} -> {result['launches']['after']}, statements "
                  f"{result['statements']['before']} -> {result['statements']['after']}, lines "
                  f"{result['kernel_lines']['before']} -> {result['kernel_lines']['after']}, asked "
                  f"{result['asked']} of {result['most']:.0f}; {'; '.join(misses)}", flush=True)
    print(f"{planted} planted, {planted - bad} as they should be, {asked / max(planted, 1):.0f} questions in the mean")
    return 1 if bad or planted < arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
