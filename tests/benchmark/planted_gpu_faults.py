#!/usr/bin/env python3
"""Faults planted in Inductor's Triton kernels, found on a GPU? `planted_gpu_faults.py ASSAY FOLDER [options]`

FOLDER holds NAME.cuda.log (a TORCH_TRACE with one program) and NAME.cuda.json (its inputs). The wrapper of each
log is changed in one place (gpu_plants.py) and run by `assay run --check --executor tiles`, which interprets what a
GPU would run and sees every access: changes in which it finds something are wrong at these sizes, the others are
harmless and left out. Of each plant up to `--each` wrong ones, spread over the programs, are run by `assay run --check
--executor cuda`: `found` counts those in which it finds anything, `blamed` those in which a finding is of the same
kernel (outside of kernels: of the same line) as one of the interpreter's, `kind` those in which one is of the same
kernel and kind. With `--sanitizer PATH` every N-th of them (`--sanitizer-every N`) runs unchecked under each
of `--tools` of compute-sanitizer, which has found something where it counts more errors than in the program unchanged.
A run that exceeds `--timeout` s, or ends without an answer, is an error, and not found.

First all logs run unchanged, their backward passes too, in which nothing may be found; what does not run so is left
out. With `--models FOLDER` so do its graphs, FOLDER/*/graph*.json, in folders that match `--graphs`, by `assay compile
--check --redzones`, and `assay bench` says how long a call takes with and without checks. Nothing new begins after
`--minutes`. One line of JSON per program, graph and change, then the sums. Exit code 1 where a clean one has findings,
or a planted one was not found.
"""
import argparse
import collections
import fnmatch
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import gpu_plants

ERRORS = re.compile(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)")


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
    return ""


class Case:
    """A program to run: a plant, or with the name "clean" none."""

    def __init__(self, log, name, kind, kernel, text, folder, number):
        self.name, self.kind, self.kernel, self.inputs = name, kind, kernel, log[:-4] + ".json"
        self.program = os.path.basename(log)[:-9]
        self.path = os.path.join(folder, f"{self.program}_{number}.py")
        with open(self.path, "w") as file:
            file.write(text)
        self.truth = self.found = None
        self.problem, self.sanitizer = "", {}


class Bench:
    def __init__(self, asked):
        self.asked, self.end = asked, time.monotonic() + 60 * asked.minutes
        self.clean_errors = {}  # of compute-sanitizer, by program and tool

    def output(self, command):
        """Standard output and error; nothing of a run that took too long or that there was no time for."""
        left = self.end - time.monotonic()
        if left < 5:
            return None, "no time left"
        pipe = subprocess.PIPE
        done = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        try:
            return done.communicate(timeout=min(self.asked.timeout, left))
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)  # its children hold the pipes too
            done.communicate()
            return None, "timeout"

    def findings(self, case, executor, path=None):
        command = [self.asked.assay, "run", path or case.path, "--inputs", case.inputs, "--check", "--json"]
        output, errors = self.output([*command, "--executor", executor])
        try:
            report = json.loads(output or "")
        except ValueError:
            return None, errors[-300:]
        problem = " ".join(one["error"] for one in report["programs"] if "error" in one)
        found = [finding for one in report["programs"] for finding in one["findings"]]
        return (None if problem and not found else found), problem

    def look(self, case):
        """What the interpreter sees."""
        case.truth, case.problem = self.findings(case, self.asked.oracle)

    def errors(self, case, tool):
        """How many compute-sanitizer counts; null where it gives no sum."""
        command = [self.asked.sanitizer, "--tool", tool, "--target-processes", "all", "--report-api-errors", "no",
                   self.asked.assay, "run", case.path, "--inputs", case.inputs, "--executor", "cuda",
                   "--launch-timeout", "0"]
        output, errors = self.output(command)
        sums = ERRORS.findall((output or "") + errors)
        return sum(map(int, sums)) if sums else None

    def sanitize(self, case):
        for tool in self.asked.tools.split(","):
            errors, usual = self.errors(case, tool), self.clean_errors.get((case.program, tool), 0)
            case.sanitizer[tool] = errors if errors is None or usual is None else max(0, errors - usual)
        return case

    def judge(self, case):
        case.found, case.problem = self.findings(case, self.asked.executor)
        return case

    def clean(self, case):
        """Both programs of the log."""
        self.look(case)
        if case.truth is not None:
            case.found, case.problem = self.findings(case, self.asked.executor, case.inputs[:-5] + ".log")
        return case

    def graph(self, path):
        """How many findings, and ms of a call without and with checks."""
        line = {"graph": os.path.relpath(path, self.asked.models)}
        output, errors = self.output([self.asked.assay, "compile", path, "--check", "--redzones", "--json",
                                      "--executor", self.asked.executor])
        try:
            report = json.loads(output or "")
            line["findings"] = [finding["kind"] for finding in report["check"].get("findings", [])]
            for name, more in ("ms", []), ("checked_ms", ["--redzones"]):
                output, errors = self.output([self.asked.assay, "bench", path, "--json", "--executor",
                                              self.asked.executor, *more])
                line[name] = 1e3 * json.loads(output or "")["median_s"]
        except (ValueError, KeyError) as problem:
            line["error"] = f"{problem!r} {errors[-300:]}"
        return line


def where(finding):
    return finding.get("kernel") or f"line {finding.get('line')}"


def kinds(findings):
    return sorted({finding["kind"] for finding in findings})


def told(case):
    """A line, and what it counts as."""
    line = {"plant": case.name, "kind": case.kind, "kernel": case.kernel, "program": os.path.basename(case.path),
            "truth": kinds(case.truth)}
    counts = ["run"]
    if case.problem == "no time left":
        return line | {"error": case.problem}, ["no time left"]
    if case.found is None:
        line["error"] = case.problem
        counts.append("error")
    else:
        places = {where(finding) for finding in case.truth}
        pairs = {(where(finding), finding["kind"]) for finding in case.truth}
        line["found"] = kinds(case.found)
        line["blamed"] = any(where(finding) in places for finding in case.found)
        line["same_kind"] = any((where(finding), finding["kind"]) in pairs for finding in case.found)
        counts += ["found"] * bool(case.found) + ["blamed"] * line["blamed"] + ["kind"] * line["same_kind"]
    if case.sanitizer:
        line["sanitizer"] = case.sanitizer
        ran = [errors for errors in case.sanitizer.values() if errors is not None]
        counts += ["sanitizer ran"] * bool(ran) + ["sanitizer found"] * any(ran)
        counts += ["only assay"] * bool(case.found and ran and not any(ran))
        counts += ["only sanitizer"] * bool(any(ran) and not case.found)
        counts += [f"{tool} found" for tool, errors in case.sanitizer.items() if errors]
    return line, counts


def spread(cases, most):
    """Up to so many, evenly."""
    return [cases[i * len(cases) // most] for i in range(most)] if len(cases) > most else cases


def interleaved(groups):
    """One of each group, then the next of each."""
    return [group[i] for i in range(max(map(len, groups), default=0)) for group in groups if i < len(group)]


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("folder")
    parser.add_argument("--each", type=int, default=10000, help="wrong ones of a plant that run on the GPU")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--timeout", type=float, default=100, help="of a run, in s")
    parser.add_argument("--oracle", default="tiles", help="what sees every access")
    parser.add_argument("--executor", default="cuda")
    parser.add_argument("--sanitizer", default="", help="compute-sanitizer")
    parser.add_argument("--sanitizer-every", type=int, default=1)
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck")
    parser.add_argument("--models", default="")
    parser.add_argument("--graphs", default="mini_*", help="of --models: patterns of names, by commas")
    return parser.parse_args()


def main():
    asked = parsed()
    bench, sums, clean, ratios = Bench(asked), collections.Counter(), collections.Counter(), []

    def tell(line):
        print(json.dumps(line), flush=True)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(asked.jobs) as pool:
        logs = sorted(glob.glob(os.path.join(asked.folder, "*.cuda.log")))
        texts = {log: wrapper_of(log) for log in logs}
        plain = [Case(log, "clean", "", "", text, scratch, "clean") for log, text in texts.items()]
        left_out = set()
        for case in pool.map(bench.clean, plain):
            found = [*(case.truth or []), *(case.found or [])]
            clean["programs"] += 1
            clean["left out"] += case.truth is None
            clean["errors"] += case.truth is not None and case.found is None
            clean["findings"] += len(found)
            left_out |= {case.inputs} if case.truth is None else set()
            tell({"clean": case.program, "findings": kinds(found), **({"error": case.problem} if case.problem else {})})
        for path in sorted(glob.glob(os.path.join(asked.models, "*", "graph*.json"))) if asked.models else []:
            if any(fnmatch.fnmatch(os.path.relpath(path, asked.models), f"{one}/*") for one in asked.graphs.split(",")):
                line = bench.graph(path)
                tell(line)
                clean["graphs"] += 1
                clean["errors"] += "error" in line
                clean["findings"] += len(line.get("findings", []))
                ratios += [line["checked_ms"] / line["ms"]] if "checked_ms" in line else []
        planted = collections.defaultdict(list)
        for log, text in texts.items():
            for n, change in enumerate(gpu_plants.changes(text) if log[:-4] + ".json" not in left_out else []):
                planted[change[0]].append(Case(log, *change, scratch, n))
        list(pool.map(bench.look, interleaved(list(planted.values()))))
        wrong, sampled = [], []
        for name, cases in planted.items():
            mine = [case for case in cases if case.truth]
            sums[cases[0].kind, name, "planted"] = len(cases)
            sums[cases[0].kind, name, "not judged"] = sum(case.truth is None for case in cases)
            sums[cases[0].kind, name, "wrong"] = len(mine)
            wrong.append(spread(mine, asked.each))
            sampled.append(wrong[-1][::asked.sanitizer_every])
        wrong, sampled = interleaved(wrong), interleaved(sampled)
        list(pool.map(bench.judge, wrong))
        if asked.sanitizer:
            used = {case.program for case in sampled}
            tools = [(case, tool) for case in plain if case.program in used for tool in asked.tools.split(",")]
            errors = pool.map(lambda pair: bench.errors(*pair), tools)
            bench.clean_errors = {(case.program, tool): n for (case, tool), n in zip(tools, errors)}
            tell({"sanitizer_on_clean": {" ".join(key): n for key, n in bench.clean_errors.items() if n != 0}})
            list(pool.map(bench.sanitize, sampled))
        for case in wrong:
            line, counts = told(case)
            tell(line)
            sums.update((case.kind, case.name, count) for count in counts)
    for kind, name, what in list(sums):
        sums[kind, "all", what] += sums[kind, name, what]
        sums["all", "all", what] += sums[kind, name, what]
    rows = sorted({key[:2] for key in sums}, key=lambda row: (row[0] == "all", row[0], row[1] == "all", row[1]))
    for row in rows:
        counts = ", ".join(f"{what} {count}" for (*of, what), count in sums.items() if count and (*of,) == row)
        print(f"{row[0]:14} {row[1]:15} {counts}")
    print("clean:", ", ".join(f"{what} {count}" for what, count in clean.items()))
    if ratios:
        print(f"a checked call takes {statistics.median(ratios):.1f} times as long (median of {len(ratios)} graphs, "
              f"{min(ratios):.1f} to {max(ratios):.1f})")
    missed = sums["all", "all", "run"] - sums["all", "all", "found"]
    sys.exit(1 if missed or clean["findings"] else 0)


if __name__ == "__main__":
    main()
