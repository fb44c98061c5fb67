#!/usr/bin/env python3
"""Installs into a fresh folder, builds samples/embed against it, and runs both programs there.

usage: install_test.py BUILD_DIR SOURCE_DIR
"""
import subprocess
import sys
import tempfile
from pathlib import Path

build, source = Path(sys.argv[1]), Path(sys.argv[2])
SAMPLE = "share/assay/samples/replication_pad_channels_last/graph0_inf.json"
kFindings = 1


def run(*command, expect=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != expect:
        sys.exit(f"{command} gave {done.returncode}, not {expect}\n{done.stdout}\n{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    prefix, example = Path(folder) / "prefix", Path(folder) / "example"
    run("cmake", "--install", build, "--prefix", prefix)
    run("cmake", "-S", source / "samples/embed", "-B", example, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", example)
    said = run(prefix / "bin/assay", "debug", prefix / SAMPLE, expect=kFindings)
    embedded = run(example / "embed", prefix / SAMPLE, expect=kFindings)
    if said.strip() != embedded.strip():
        sys.exit(f"assay said\n{said}\nthe example said\n{embedded}")
    if "1 root finding" not in said:
        sys.exit(f"no finding in\n{said}")
    for script in ("bash-completion/completions/assay", "zsh/vendor-completions/_assay"):
        if "minify" not in (prefix / "share" / script).read_text():
            sys.exit(f"{script} does not complete commands")
    print("installed, embedded, run")
