#!/usr/bin/env python3
"""--tune on a fake GPU whose clock prefers one number of threads: that is found, kept, and used again only
where it is asked for.

    tuning.py ASSAY FOLDER_OF_THE_FAKE_GPU
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

assay, fake = sys.argv[1:]
GRAPH = '''class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[64, 512][512, 1]cuda:0"):
        a: "f32[64, 512][512, 1]cuda:0" = torch.ops.aten.add.Tensor(x, x)
        s: "f32[64][1]cuda:0" = torch.ops.aten.sum.dim_IntList(a, [1])
        return (a, s)
'''
QUICK = 64  # threads; of 512 lanes eight each, where four are usual


def run(folder, *options, quick=QUICK):
    env = {**os.environ, "LD_LIBRARY_PATH": fake, "FAKE_GPU_KERNELS": "hang:no kernel has this",
           "FAKE_GPU_QUICK": str(quick), "ASSAY_CODE_CACHE": str(Path(folder) / "code.sqlite")}
    done = subprocess.run([assay, "bench", Path(folder) / "graph.txt", "--executor", "cuda", "--runs", "3", *options],
                          env=env, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "graph.txt").write_text(GRAPH)
    before = json.loads(run(folder, "--json"))
    assert before["tuned"] == [], before
    assert set(before["first_parts"]) == {"bind", "kernels", "memory", "run"}, before
    assert abs(sum(before["first_parts"].values()) - before["first_s"]) < 1e-5, before
    assert set(before["second_parts"]) == {"capture", "graph"}, before
    first = json.loads(run(folder, "--json", "--tune"))
    assert first["tuned"] and not any(one["kept"] for one in first["tuned"]), first
    for one in first["tuned"]:
        times = [way["s"] for way in one["tried"]]
        assert len(times) > 2 and abs(min(times) - 0.25e-3) < 1e-9 and times[one["best"]] == min(times), one
    assert first["median_s"] < 0.5 * before["median_s"], (before["median_s"], first["median_s"])
    # Kept: measured no more, even where another number of threads were better by now.
    again = json.loads(run(folder, "--json", "--tune"))
    assert all(one["kept"] for one in again["tuned"]) and again["median_s"] == first["median_s"], again
    assert [one["tried"][0]["way"] for one in again["tuned"]] == \
        [one["tried"][one["best"]]["way"] for one in first["tuned"]], (first, again)
    # And used by nobody who does not ask.
    assert json.loads(run(folder, "--json"))["median_s"] == before["median_s"]
    text = run(folder, "--tune", "--no-code-cache")
    assert "tried" in text and "lanes a thread, was" in text, text
    # What is hardly faster changes nothing.
    same = json.loads(run(folder, "--json", "--tune", "--no-code-cache", quick=7))
    assert all(one["best"] == 0 for one in same["tuned"]), same
