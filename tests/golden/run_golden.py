#!/usr/bin/env python3
"""Runs one golden file: the command on its `# RUN:` line, compared with what follows.

A golden file is comment lines, then `# RUN: assay ...` (run in the source folder), `# EXIT: n`, then
the exact expected output (stdout and stderr together). Of several such lines the output of the last
counts; `{scratch}` is a folder that they share. `--update` rewrites the expectation.
A file named fail_* must exit with findings (1) or an error (2, 3), undecided_* with 5; others with 0.
"""
import argparse
import difflib
import shlex
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("source")
    parser.add_argument("golden")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    with open(options.golden) as f:
        lines = f.read().split("\n")
    runs = [i for i, line in enumerate(lines) if line.startswith("# RUN: assay ")]
    head = runs[-1] + 1
    with tempfile.TemporaryDirectory() as scratch:
        for i in runs:
            text = lines[i].removeprefix("# RUN: assay ").replace("{scratch}", scratch)
            run = subprocess.run([options.assay, *shlex.split(text)], cwd=options.source, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    got = f"# EXIT: {run.returncode}\n{run.stdout}"
    kind = options.golden.rsplit("/", 1)[-1].split("_")[0]
    if run.returncode not in {"fail": (1, 2, 3), "undecided": (5,), "missing": (4,)}.get(kind, (0,)):
        print(f"exit code {run.returncode} does not fit the file's name")
        print(run.stdout)
        return 1
    want = "\n".join(lines[head:])
    if options.update:
        with open(options.golden, "w") as f:
            f.write("\n".join(lines[:head]) + "\n" + got)
        return 0
    if got == want:
        return 0
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), got.splitlines(True),
                                               "expected", "got"))
    print(f"\nto accept: {sys.argv[0]} {options.assay} {options.source} {options.golden} --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
