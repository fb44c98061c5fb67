#!/usr/bin/env python3
"""Launches that never end, lose the GPU, or end the process, on a fake GPU: each is told, and nobody hangs.

    lost_launches.py ASSAY FOLDER_OF_THE_FAKE_GPU
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

assay, fake = sys.argv[1:]
GRAPH = '''class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[6, 6][6, 1]cuda:0", y: "f32[6, 6][6, 1]cuda:0"):
        a: "f32[6, 6][6, 1]cuda:0" = torch.ops.aten.add.Tensor(x, y)
        b: "f32[6, 6][6, 1]cuda:0" = torch.ops.aten.mm.default(a, y)
        c: "f32[6, 6][6, 1]cuda:0" = torch.ops.aten.sqrt.default(b)
        d: "f32[6, 6][6, 1]cuda:0" = torch.ops.aten.mm.default(c, y)
        e: "f32[6, 6][6, 1]cuda:0" = torch.ops.aten.mul.Tensor(d, d)
        return (e,)
'''
SQRT = "sqrt.rn.f32"  # in the third of five launches
LIMIT = ["--launch-timeout", "0.5"]
CUDA = ["--executor", "cuda", *LIMIT, "--no-code-cache"]
failed = []


def run(kernels, *command):
    env = {**os.environ, "LD_LIBRARY_PATH": fake, "FAKE_GPU_KERNELS": kernels, "ASSAY_CODE_CACHE": ""}
    done = subprocess.run([assay, *map(str, command)], env=env, text=True, capture_output=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def expect(name, got, code, *texts, without=()):
    exit_code, output = got
    missing = [text for text in texts if text not in output] + [f"no {text}" for text in without if text in output]
    if exit_code != code or missing:
        failed.append(name)
        print(f"{name}: exit code {exit_code}, wanted {code}; not there: {missing}\n{output}")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "graph.txt"
    file.write_text(GRAPH)
    commands = {"run": ["run", file, *CUDA], "check": ["compile", file, "--check", *CUDA],
                "bench": ["bench", file, "--runs", 2, *CUDA], "debug": ["debug", file, *CUDA]}
    for name, command in commands.items():
        hangs = run(f"hang:{SQRT}", *command)
        expect(f"{name} hangs", hangs, 1, "launch-hangs: launch 3 of 5", "sqrt", "does not end within 0.5 s",
               "grid 1x1x1, 32x1x1 threads", "line ")
        faults = run(f"fault:{SQRT}", *command)
        expect(f"{name} faults", faults, 1, "launch-faults: launch 3 of 5", "sqrt", "CUDA_ERROR_ILLEGAL_ADDRESS")
        expect(f"{name} dies", run(f"die:{SQRT}", *command), 70, "ended by SIGSEGV")
        exit_code, output = run("hang:no kernel has this", *command)
        if "launch-" in output:
            failed.append(name)
            print(f"{name} without a kernel that hangs: {output}")
    expect("json", run(f"hang:{SQRT}", *commands["bench"], "--json"), 1, '"kind": "launch-hangs"', '"message"')
    # Nobody waits for long where none is asked to.
    expect("run", run("hang:no kernel has this", *commands["run"]), 0, without=["launch-"])
    for kind, said in ("hang", "launch-hangs"), ("fault", "launch-faults"):
        out = Path(folder) / kind
        cut = run(f"{kind}:{SQRT}", "minify", file, "--oracle", "executor:cuda", "-j", 3, "-o", out, *LIMIT)
        expect(f"minify {kind}", cut, 1, said)
        calls = re.search(r"calls +5 -> (\d+)", cut[1])
        repro = out / "repro.py"
        if not calls or calls[1] != "1" or "sqrt" not in repro.read_text():
            failed.append(f"minify {kind}")
            print(cut[1])
sys.exit(1 if failed else 0)
