#!/usr/bin/env python3
"""Whole captured graphs beside PyTorch: `model_peers.py ASSAY FOLDER [--device cpu] [--sizes s52=16,s27=128 ...]`

FOLDER holds graph0_fwd.json with its graph0_fwd.repro.py. Both run the same graph on inputs of the same
layouts, at the recorded sizes and at those given: PyTorch eagerly and by torch.compile(dynamic=True), Assay by
`assay bench`, all anew, without what caches hold. Times are medians (on a GPU by its events, inputs there); the first call after a change of sizes is
wall-clock time, at the first sizes that of compiling. One line of JSON per size.
"""
import argparse
import json
import os
import re
import subprocess
import sys

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # read when torch is imported
import torch

from clock import first, timed


def load_module(path, device):
    text = open(path).read()
    if device != "cpu":
        text = text.replace("device(type='cpu')", "device(type='cuda', index=0)")
    text = text[: text.index("def load_args")] if "def load_args" in text else text
    names = {"__name__": "captured"}
    exec(compile(text, path, "exec"), names)
    return names["Repro"]().to(device)


def evaluate(expression, symbols):
    if not isinstance(expression, str):
        return expression
    return int(eval(re.sub(r"(?<!/)/(?!/)", "//", expression), {"Max": max, "Min": min}, symbols))


def arguments(capture, symbols, device):
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
        base = (torch.rand(extent, device=device) * 0.5 - 0.25).to(dtype) if dtype.is_floating_point \
            else torch.zeros(extent, dtype=dtype, device=device)
        made.append(base.as_strided(size, stride))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder")
    parser.add_argument("--graph", default="graph0_fwd")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--sizes", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    stem = f"{asked.folder}/{asked.graph}"
    capture = json.load(open(stem + ".json"))
    module = load_module(stem + ".repro.py", asked.device)
    compiled = torch.compile(module, dynamic=True)
    for at in ["", *asked.sizes]:
        symbols = {name: s["hint"] for name, s in capture["symbols"].items()}
        given = {k: int(v) for k, v in (pair.split("=") for pair in at.split(",") if pair)}
        symbols.update(given)
        line = {"graph": stem, "at": at}
        with torch.no_grad():
            args = arguments(capture, symbols, asked.device)
            line["eager_first_ms"] = first(lambda: module(*args), asked.device)
            line["eager_ms"] = timed(lambda: module(*args), asked.calls, asked.device)
            if not asked.no_compile:
                line["inductor_first_ms"] = first(lambda: compiled(*args), asked.device)
                compiled(*args)
                line["inductor_ms"] = timed(lambda: compiled(*args), asked.calls, asked.device)
            del args
            torch.cuda.empty_cache()
        done = subprocess.run([asked.assay, "bench", stem + ".json", "--executor", asked.device,
                               *(["--at", at] if at else []), "--threads", str(asked.threads), "--no-code-cache",
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
