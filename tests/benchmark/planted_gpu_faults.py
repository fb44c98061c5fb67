#!/usr/bin/env python3
"""Faults planted in Inductor's Triton kernels, found on a GPU? `planted_gpu_faults.py ASSAY FOLDER [--limit N]`

FOLDER holds NAME.cuda.log (a TORCH_TRACE with one program) and NAME.cuda.json (its inputs). The wrapper of each
log is changed in one line of one kernel, and run by `assay run --check` twice: by `--executor tiles`, which interprets
what a GPU would run and sees every access, and by `--executor cuda`. Counted are the changes in which the first
finds something; of those, how often the GPU run finds it, names the same kernel and the same kind.
One line of JSON per change, then the sums.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

KERNEL = re.compile(r"def (triton_\w+)\(.*\):")
# name, what a line must look like, what it becomes
PLANTS = [
    ("bounds", re.compile(r"tl\.load\((\w+) \+ \((.*?)\), "), r"tl.load(\1 + (\2 + 1048576), "),
    ("bounds_store", re.compile(r"tl\.store\((\w+) \+ \((.*?)\), "), r"tl.store(\1 + (\2 + 1048576), "),
    ("mask", re.compile(r"(xmask|rmask|r0_mask|ymask) = (\w+) < (\w+)"), r"\1 = \2 < (\3 + 7)"),
    ("lost_store", re.compile(r"^(\s+)tl\.store\(.*$"), r"\1pass"),
    ("same_block", re.compile(r"xoffset = tl\.program_id\(0\) \* XBLOCK"), r"xoffset = 0 * tl.program_id(0) * XBLOCK"),
    ("overlap", re.compile(r"xoffset = tl\.program_id\(0\) \* XBLOCK"), r"xoffset = tl.program_id(0) * (XBLOCK // 2)"),
    ("gap", re.compile(r"xoffset = tl\.program_id\(0\) \* XBLOCK"), r"xoffset = tl.program_id(0) * (XBLOCK * 2)"),
    ("race", re.compile(r"tl\.load\((in_out_ptr\d) \+ \((\w+)\), xmask"), r"tl.load(\1 + ((\2 + 1025) % xnumel), xmask"),
]


def wrapper_of(log):
    """The text of the first inductor_output_code in a TORCH_TRACE."""
    lines = open(log).read().split("\n")
    for i, line in enumerate(lines):
        if '"inductor_output_code"' in line:
            text = []
            for follow in lines[i + 1:]:
                if not follow.startswith("\t"):
                    break
                text.append(follow[1:])
            return "\n".join(text)
    return None


def changes(text):
    lines, kernel = text.split("\n"), None
    for i, line in enumerate(lines):
        found = KERNEL.search(line)
        kernel = found.group(1) if found else None if line.startswith("'''") else kernel
        if kernel is None:
            continue
        for name, pattern, becomes in PLANTS:
            if pattern.search(line):
                yield name, kernel, "\n".join([*lines[:i], pattern.sub(becomes, line, count=1), *lines[i + 1:]])


def findings(assay, path, inputs, executor):
    try:
        done = subprocess.run([assay, "run", path, "--inputs", inputs, "--check", "--json", "--executor", executor],
                              capture_output=True, text=True, timeout=100)
    except subprocess.TimeoutExpired:
        return None, "timeout"
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None, (done.stderr + done.stdout)[-300:]
    found = report.get("findings", [])
    for program in report.get("programs", []):
        found = found + program.get("findings", [])
    return found, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--oracle", default="tiles", help="what sees every access")
    parser.add_argument("--executor", default="cuda")
    asked = parser.parse_args()
    sums = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        cases = []
        for log in sorted(glob.glob(os.path.join(asked.folder, "*.cuda.log"))):
            text = wrapper_of(log)
            for n, (name, kernel, changed) in enumerate(changes(text or "")):
                path = os.path.join(scratch, f"{os.path.basename(log)[:-9]}_{n}.py")
                with open(path, "w") as file:
                    file.write(changed)
                cases.append((name, kernel, path, log[:-4] + ".json"))

        def judge(case):
            name, kernel, path, inputs = case
            truth, problem = findings(asked.assay, path, inputs, asked.oracle)
            mine, other = findings(asked.assay, path, inputs, asked.executor) if truth else ([], "")
            return name, kernel, path, truth, mine, problem or other

        step = max(1, len(cases) // asked.limit)
        with ThreadPoolExecutor(asked.jobs) as pool:
            for name, kernel, path, truth, mine, problem in pool.map(judge, cases[::step]):
                line = {"plant": name, "kernel": kernel, "program": os.path.basename(path)}
                if truth is None or mine is None:
                    line["error"] = problem
                    sums[name, "error"] += 1
                elif not truth:
                    sums[name, "harmless"] += 1
                    continue
                else:
                    sums[name, "wrong"] += 1
                    sums[name, "found"] += bool(mine)
                    kernels = {f.get("kernel") for f in truth}
                    sums[name, "kernel"] += any(f.get("kernel") in kernels for f in mine)
                    line["truth"] = sorted({f.get("kind", "?") for f in truth})
                    line["found"] = sorted({f.get("kind", "?") for f in mine})
                print(json.dumps(line))
                sys.stdout.flush()
    for (name, what), count in sorted(sums.items()):
        print(f"{name:14} {what:9} {count}")


if __name__ == "__main__":
    main()
