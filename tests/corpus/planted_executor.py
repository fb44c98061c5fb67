#!/usr/bin/env python3
"""Faults of code generation planted into kernels of real graphs, each cut down by `assay minify`.

    planted_executor.py ASSAY [FOLDER] [--count 30] [--seed 5] [--keep DIR] [--most-calls 700]

Each fault is in the kernel of one node of a graph with dynamic sizes: of FOLDER, without it of the
reference corpus. What is left must be one kernel (or those of one call), which computes that node, none of
its calls may be one that could go, where a fault needs two tensors in one kernel their fusion must be
named, and no size may be one that could be smaller: each is made smaller in the text, by itself and with
all that are equal, and must no longer fail.
"""
import argparse, json, pathlib, random, re, subprocess, sys, tempfile, time

import recorded_logs

SLOWEST = 8  # seconds of one question

FAULTS = ["short-loop", "lost-tail", "lost-store"]


def run(command, limit=900):
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, timeout=limit)


def kernels_of(assay, file):
    """The nodes that each kernel of a graph's program computes."""
    told = run([assay, "compile", file, "--kernels"]).stdout
    return [line[2:].split(", ") for line in told.split("\n") if re.match(r"^# \w+(, \w+)*$", line)]


def sizes_in(text):
    """Sizes of tensors of a graph's text that are numbers."""
    return [int(one) for sizes in re.findall(r": \"\w+\[([^\]]*)\]", text) for one in sizes.split(", ")
            if one.isdigit()]


TENSOR = re.compile(r"(\w+: \"\w+)\[([\d, ]+)\]\[([\d, ]+)\]")
LIST = re.compile(r"(?<=[ (])\[([\d, -]+)\]")


def row_major(sizes):
    strides = [1] * len(sizes)
    for d in reversed(range(len(sizes) - 1)):
        strides[d] = strides[d + 1] * max(sizes[d + 1], 1)
    return strides


def smaller_texts(text):
    """What was made smaller, and the graph without claims of its calls: sizes of row-major inputs and numbers
    of lists, one by one and all that are equal."""
    text = re.sub(r"^(        \w+): \".*\" = ", r"\1 = ", text, flags=re.M)
    places = []  # of the text, the numbers there, and which of them
    for found in TENSOR.finditer(text):
        sizes = [int(one) for one in found[2].split(", ")]
        if ", ".join(map(str, row_major(sizes))) == found[3]:
            places += [(found, sizes, d) for d in range(len(sizes)) if sizes[d] > 1]
    for found in LIST.finditer(text):
        numbers = [int(one) for one in found[1].split(", ")]
        places += [(found, numbers, d) for d in range(len(numbers)) if numbers[d] > 1]

    def written(chosen, by):
        numbers = {}
        for found, old, d in chosen:
            numbers.setdefault(found, list(old))[d] = by
        out = text
        for found in sorted(numbers, key=lambda one: -one.start()):
            listed = ", ".join(map(str, numbers[found]))
            strides = ", ".join(map(str, row_major(numbers[found])))
            new = f"{found[1]}[{listed}][{strides}]" if found.re is TENSOR else f"[{listed}]"
            out = out[:found.start()] + new + out[found.end():]
        return out

    for value in sorted({old[d] for _, old, d in places}):
        equal = [one for one in places if one[1][one[2]] == value]
        for by in sorted({1, value // 2, value - 1} - {0}):
            yield f"{value} to {by}", written(equal, by)
            for one in equal if len(equal) > 1 else []:
                yield f"one {value} to {by}", written([one], by)


def could_be_smaller(assay, text, fault, node, folder):
    """What could be, nothing otherwise. Inputs hold other numbers than in the minimal graph."""
    for what, candidate in smaller_texts(text):
        file = folder / "smaller.py"
        file.write_text(candidate)
        if shows(assay, file, fault, node):
            return what
    return ""


def shows(assay, file, fault, node):
    """Does the fault change what the program computes, and is that said within a few seconds?"""
    try:
        return run([assay, "compile", file, "--check", "--executor", "cpu", "--fault", f"{fault}@{node}"],
                   SLOWEST).returncode == 1
    except subprocess.TimeoutExpired:
        return False


def judge(assay, file, fault, node, folder):
    start = time.time()
    done = run([assay, "minify", file, "--oracle", f"executor:cpu:{fault}@{node}", "-o", folder])
    if done.returncode == 0:
        return None  # it does not show
    if done.returncode != 1:
        return {"problem": (done.stderr or done.stdout).strip()[-300:]}
    summary = json.loads((folder / "summary.json").read_text())
    minimal = folder / "minimal.assay.zip"
    kernels = kernels_of(assay, minimal)
    blame = re.search(r"decisions  (.*)", done.stdout)
    text = (folder / "graph.txt").read_text()
    sizes = sizes_in(text)
    return {"calls": summary["calls"], "asked": summary["queries"], "seconds": time.time() - start,
            "kernels": kernels, "fails_iff": summary["fails_iff"], "decisions": blame[1] if blame else "",
            "one_minimal": summary["one_minimal"], "largest": max(sizes, default=0),
            "smaller": could_be_smaller(assay, text, fault, node, folder)}


def misses_of(result, fault, node):
    misses = []
    if len(result["kernels"]) != 1 and result["calls"]["after"] != 1:  # one call may be two kernels
        misses.append(f"{len(result['kernels'])} kernels")
    if not any(node in kernel for kernel in result["kernels"]):
        misses.append("the node is gone")
    if not result["one_minimal"]:
        misses.append("calls that could go")
    if result["smaller"]:
        misses.append(f"a size could go from {result['smaller']}")
    if fault == "lost-store" and "fuse:" not in result["decisions"]:
        misses.append("no decision")
    return misses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--most-calls", type=int, default=700)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    planted = bad = asked = calls = tries = 0
    seconds = 0.0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(arguments.keep or folder)
        work.mkdir(parents=True, exist_ok=True)
        source = recorded_logs.folder_of(arguments.folder, ["models"], pathlib.Path(folder) / "corpus")
        graphs = [file for file in sorted(source.rglob("graph*.json"))
                  if 2 < len((loaded := json.loads(file.read_text()))["nodes"]) <= arguments.most_calls
                  and any(one["range"][0] != one["range"][1] for one in loaded["symbols"].values())]
        while planted < arguments.count and tries < 8 * arguments.count:
            tries += 1
            file, fault = rng.choice(graphs), FAULTS[planted % len(FAULTS)]
            kernels = kernels_of(arguments.assay, file)
            if fault == "lost-store":
                kernels = [kernel for kernel in kernels if len(kernel) > 1]
            if not kernels:
                continue
            node = rng.choice(rng.choice(kernels))
            if not shows(arguments.assay, file, fault, node):
                continue
            name = f"{file.parent.name}/{file.stem} {fault}@{node}"
            result = judge(arguments.assay, file, fault, node, work / f"out{tries}")
            if result is None:
                continue
            planted += 1
            if "problem" in result:
                bad += 1
                print(f"MISS {name}: {result['problem']}", flush=True)
                continue
            asked += result["asked"]
            calls += result["calls"]["after"]
            seconds += result["seconds"]
            misses = misses_of(result, fault, node)
            bad += bool(misses)
            print(f"{'MISS' if misses else 'ok  '} {name}: calls {result['calls']['before']} -> "
                  f"{result['calls']['after']}, kernels {result['kernels']}, largest size {result['largest']}, "
                  f"asked {result['asked']}, {result['seconds']:.1f} s, {result['decisions']}; fails iff {result['fails_iff'] or '-'}; "
                  f"{'; '.join(misses)}", flush=True)
    print(f"{planted} planted, {planted - bad} as they should be; in the mean {calls / max(planted, 1):.1f} calls "
          f"left, {asked / max(planted, 1):.0f} questions, {seconds / max(planted, 1):.1f} s")
    return 1 if bad or planted < arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
