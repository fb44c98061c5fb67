#!/usr/bin/env python3
"""Eight whole models on a GPU beside PyTorch: `whole_models.py ASSAY [--models bert,...] [--batches 16,3,7,32]`

Needs torch with a GPU, transformers and torchvision; nothing is downloaded, weights are random. Each
model is captured once with a dynamic batch (its inference graph after Inductor's decompositions, as text);
Assay compiles and times that text (`bench --executor cuda --tf32`), PyTorch runs the model eagerly and
by torch.compile(dynamic=True), all in one run with PyTorch's own settings (TF32 in convolutions only).
Times are medians of GPU time by events, inputs on the GPU; `first` is wall-clock time of the first call
at a batch size. One line of JSON per model.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import torch

from clock import first, timed


def hugging_face(name):
    import transformers as t

    ids = lambda n: lambda b: torch.randint(0, 1000, (b, n), device="cuda")
    if name == "bert":
        return t.BertModel(t.BertConfig()), ids(128)
    if name == "gpt2":
        return t.GPT2Model(t.GPT2Config(use_cache=False)), ids(128)
    if name == "t5":
        return t.T5EncoderModel(t.T5Config(num_layers=6)), ids(128)
    config = t.LlamaConfig(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                           intermediate_size=1536, vocab_size=49152, use_cache=False)
    return t.LlamaModel(config), ids(256)


def vision(name):
    import torchvision.models as m

    made = {"resnet50": m.resnet50, "vit": m.vit_b_16, "convnext": m.convnext_tiny,
            "mobilenet": m.mobilenet_v3_large}[name]
    return made(), lambda b: torch.randn(b, 3, 224, 224, device="cuda")


HUGGING_FACE = ("bert", "gpt2", "llama", "t5")
ALL = (*HUGGING_FACE, "resnet50", "vit", "convnext", "mobilenet")


def captured(model, example, path):
    """Writes the graph's text; returns the symbol of the batch."""
    import torch._inductor.lowering  # decompositions refer to it
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    texts = []

    def keep(graph, inputs):
        texts.append(graph.print_readable(print_output=False, include_stride=True, include_device=True))
        return graph.forward

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=keep, inference_compiler=keep, decompositions=select_decomp_table())
    torch._dynamo.mark_dynamic(example, 0)
    torch.compile(model, backend=backend)(example)
    torch._dynamo.reset()
    if len(texts) != 1:
        raise RuntimeError(f"{len(texts)} graphs")
    with open(path, "w") as file:
        file.write(texts[0])
    return re.search(r"Sym\((s\d+)\)", texts[0]).group(1)


def measure(name, asked, folder):
    torch.manual_seed(0)
    model, sample = (hugging_face if name in HUGGING_FACE else vision)(name)
    model = model.eval().cuda()
    line = {"model": name}
    batches = [int(b) for b in asked.batches.split(",")]
    with torch.no_grad():
        path = os.path.join(folder, name + ".txt")
        symbol = captured(model, sample(4), path)
        if not asked.no_compile:
            compiled = torch.compile(model, dynamic=True)
            line["inductor_cold_ms"] = round(first(lambda: compiled(sample(4))), 1)
        for b in batches:
            x = sample(b)
            at = line[f"b{b}"] = {"eager_ms": round(timed(lambda: model(x), asked.calls), 3)}
            if not asked.no_compile:
                at["inductor_first_ms"] = round(first(lambda: compiled(x)), 1)
                at["inductor_ms"] = round(timed(lambda: compiled(x), asked.calls), 3)
    del model
    torch.cuda.empty_cache()
    sizes = [part for b in [4, *batches] for part in ("--at", f"{symbol}={b}")]
    began = time.perf_counter()
    done = subprocess.run([asked.assay, "bench", path, "--executor", "cuda", "--tf32", "--json",
                           "--runs", str(asked.calls), *sizes], capture_output=True, text=True)
    line["assay_process_s"] = round(time.perf_counter() - began, 2)
    if done.returncode != 0:
        line["error"] = (done.stderr + done.stdout)[-600:]
    for text, b in zip(done.stdout.splitlines(), [4, *batches]):
        mine = json.loads(text)
        parts = {k: round(v * 1e3, 2) for k, v in mine["first_parts"].items()}
        if b == 4:
            line["assay_cold_ms"] = round((mine["lowering_s"] + mine["code_s"] + mine["first_s"]) * 1e3, 1)
            line["assay_cold_parts"] = {"graph": round(mine["lowering_s"] * 1e3, 1), **parts}
            line["on_host"] = mine["on_host"]
            continue
        line[f"b{b}"].update(assay_ms=round(mine["median_s"] * 1e3, 3), assay_first_ms=round(mine["first_s"] * 1e3, 2),
                             parts=parts, launch_us=round(mine["launch_s"] * 1e6, 2),
                             library_call_us=round(mine["library_call_s"] * 1e6, 2))
    return line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--models", default=",".join(ALL))
    parser.add_argument("--batches", default="16,3,7,32")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--keep", help="folder for the captured texts")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in asked.models.split(","):
            try:
                line = measure(name, asked, asked.keep or scratch)
            except Exception as error:  # one model less, not none
                line = {"model": name, "error": f"{type(error).__name__}: {error}"[:600]}
            print(json.dumps(line))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
