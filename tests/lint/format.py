#!/usr/bin/env python3
"""Is every source formatted as .clang-format says? Needs clang-format 19; others format otherwise."""
import shutil
import subprocess
import sys

import tree

TOOL = "clang-format-19"
SKIPPED = 77  # SKIP_RETURN_CODE of the test


def main():
    if shutil.which(TOOL) is None:
        print(f"SKIPPED: no {TOOL} here, so the format of no file was checked")
        sys.exit(SKIPPED)
    files = tree.Tree()
    run = subprocess.run([TOOL, "--dry-run", "-Werror", *files.sources()], cwd=files.root,
                         capture_output=True, text=True)
    bad = sorted({line.split(":")[0] for line in run.stderr.splitlines()
                  if "[-Wclang-format-violations]" in line})
    for path in bad:
        print(f"{path}:1: not formatted; run {TOOL} -i {path}")
    print(f"{len(bad)} of {len(files.sources())} files are not formatted")
    sys.exit(0 if run.returncode == 0 else 1)


if __name__ == "__main__":
    main()
