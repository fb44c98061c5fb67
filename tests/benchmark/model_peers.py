#!/usr/bin/env python3
"""Whole captured graphs on a GPU beside PyTorch: `model_peers.py ASSAY FOLDER --sizes s52=16,s27=128 ...`

FOLDER holds graph0_fwd.json with its graph0_fwd.repro.py. Both run the same graph on inputs of the same
layouts: PyTorch eagerly and by torch.compile(dynamic=True), Assay by `assay bench --executor cuda`.
Times are medians of GPU time by events, inputs on the GPU; the first call after a change of sizes is
wall-clock time. One line of JSON per size.
"""
import argparse
import json
import re
import subprocess
import sys

import torch

from gpu_clock import first, timed


def load_module(path):
    text = open(path).read().replace("device(type='cpu')", "device(type='cuda', index=0)")
    text = text[: text.index("def load_args")] if "def load_args" in text else text
    names = {"__name__": "captured"}
    exec(compile(text, path, "exec"), names)
    return names["Repro"]().cuda()


def evaluate(expression, symbols):
    if not isinstance(expression, str):
        return expression
    return int(eval(re.sub(r"(?<!/)/(?!/)", "//", expression), {"Max": max, "Min": min}, symbols))


def arguments(capture, symbols):
    made = []
    for node in capture["nodes"]:
        if node["op"] != "placeholder":
            continue
        val = node["val"]
        if "sym" in val:
            made.append(symbols.get(val["sym"], 0) if isinstance(val["sym"], str) else val["sym"])
            continue
        size = [evaluate(e, symbols) for e in val["size"]]
        stride = [evaluate(e, symbols) for e in val["stride"]]
        extent = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
        dtype = getattr(torch, val["dtype"])
        base = (torch.rand(extent, device="cuda") * 0.5 - 0.25).to(dtype) if dtype.is_floating_point \
            else torch.zeros(extent, dtype=dtype, device="cuda")
        made.append(base.as_strided(size, stride))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder")
    parser.add_argument("--graph", default="graph0_fwd")
    parser.add_argument("--sizes", nargs="+", required=True)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true")
    asked = parser.parse_args()
    stem = f"{asked.folder}/{asked.graph}"
    capture = json.load(open(stem + ".json"))
    module = load_module(stem + ".repro.py")
    compiled = torch.compile(module, dynamic=True)
    for at in asked.sizes:
        symbols = {name: s["hint"] for name, s in capture["symbols"].items()}
        given = {k: int(v) for k, v in (pair.split("=") for pair in at.split(","))}
        symbols.update(given)
        line = {"graph": stem, "at": at}
        with torch.no_grad():
            args = arguments(capture, symbols)
            line["eager_first_ms"] = first(lambda: module(*args))
            line["eager_ms"] = timed(lambda: module(*args), asked.calls)
            if not asked.no_compile:
                line["inductor_first_ms"] = first(lambda: compiled(*args))
                compiled(*args)
                line["inductor_ms"] = timed(lambda: compiled(*args), asked.calls)
            del args
            torch.cuda.empty_cache()
        done = subprocess.run([asked.assay, "bench", stem + ".json", "--executor", "cuda", "--at", at,
                               "--runs", str(asked.calls), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            line["error"] = (done.stderr + done.stdout)[-300:]
        else:
            mine = json.loads(done.stdout.splitlines()[-1])
            line["assay_ms"] = mine["median_s"] * 1e3
            line["assay_compile_ms"] = (mine["lowering_s"] + mine["code_s"]) * 1e3
            line["on_host"] = mine.get("on_host", {})
        print(json.dumps(line))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
