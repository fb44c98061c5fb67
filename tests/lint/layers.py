#!/usr/bin/env python3
"""Who may include whom, and where third-party headers may appear. ARCHITECTURE.md says why."""
import re

import tree

# folder -> folders it may include. A folder always includes itself; the longest row that fits a
# path counts; `core` on the right stands for everything below core.
LAYERS = {
    "core/base": [],
    "core/expr": ["core/base"],
    "core/shape": ["core/base", "core/expr"],
    "core/tensor": ["core/base", "core/expr", "core/shape"],
    "core/graph": ["core/base", "core/expr", "core/shape", "core/tensor"],
    "core/function": [],
    "core/ops": ["core/base", "core/expr", "core/shape", "core/tensor", "core/function"],
    "core/finding": ["core/base", "core/expr", "core/shape", "core/tensor", "core/graph"],
    "compiler": ["core"],
    "compiler/program": ["core"],
    "compiler/read": ["core", "compiler/program"],
    "compiler/prove": ["core", "compiler/program"],
    "compiler/interpret": ["core", "compiler/program"],
    "compiler/lower": ["core", "compiler/program", "compiler/prove"],
    "compiler/schedule": ["core", "compiler/program", "compiler/prove", "compiler/lower"],
    "compiler/runtime": ["core", "compiler/program", "compiler/interpret", "compiler/prove"],
    "compiler/faults": ["core", "compiler/program", "compiler/lower", "compiler/schedule"],
    "compiler/cpu": ["core", "compiler/program", "compiler/interpret", "compiler/runtime"],
    "compiler/cuda": ["core", "compiler/program", "compiler/interpret", "compiler/runtime"],
    "compiler/codegen": ["core", "compiler/program", "compiler/cpu", "compiler/cuda"],
    "replay/formats": ["core"],
    "replay/bundle": ["core", "replay/formats"],
    "replay/cache": ["core", "compiler/runtime", "replay/bundle"],
    "replay/trace": ["core"],
    "replay/interp": ["core", "replay/formats"],
    "replay/conform": ["core", "replay/formats", "replay/interp"],
    "replay/runner": ["core", "compiler", "replay/formats", "replay/interp"],
    "replay/report": ["core", "compiler", "replay"],
    "minifier": ["core", "replay"],
    "gui/data": ["core", "replay/trace", "replay/bundle", "replay/report"],
    "gui/models": ["core", "replay/trace", "replay/bundle", "gui/data"],
    "gui/views": ["core", "replay/trace", "replay/bundle", "gui/data", "gui/models"],
    "gui/app": ["core", "replay/trace", "replay/bundle", "gui"],
    "cli": ["core", "compiler", "replay", "minifier"],
    "samples": ["core", "compiler", "replay", "minifier"],
    "tests": ["core", "compiler", "replay", "minifier", "gui", "cli"],
}

# name, pattern of the included path, folders whose sources may, folders whose headers may.
# Tests look at anything, also at the files that a library wrote.
EVERYWHERE = ["core", "compiler", "replay", "minifier", "cli"]
FENCES = [
    ("z3", r"z3(\+\+|_.*)?\.h$", ["compiler/prove"], []),
    ("llvm", r"(llvm|llvm-c|clang|mlir|lld)/", ["compiler/codegen"], ["compiler/codegen"]),
    ("cuda", r"(cuda|cuda_runtime|nvrtc|nvml|nvJitLink)(_api)?\.h$", ["compiler/runtime"], []),
    ("sqlite", r"sqlite3(ext)?\.h$", ["replay/trace", "replay/conform", "replay/cache"], []),
    ("qt", r"(Qt\w*/)?Q[A-Z]\w*$|Qt\w+/|q[a-z]+\.h$", ["gui"], ["gui", "tests/gui"]),
    ("gtest", r"(gtest|gmock)/", ["tests"], ["tests"]),
    ("benchmark", r"benchmark/benchmark\.h$", ["tests/benchmark"], []),
    ("cli11", r"CLI/", ["cli"], []),
    ("json", r"(nlohmann/.*|simdjson\.h)$", EVERYWHERE, []),
    ("zip", r"(zip|zlib|zstd)\.h$", ["replay"], []),
    ("openssl", r"openssl/", ["replay/bundle", "replay/formats"], []),
    ("eigen", r"(unsupported/)?Eigen/", ["core/ops"], []),
    ("boost", r"boost/math/", ["core/function"], []),
    ("blas", r"(cblas|lapacke?)\.h$", ["core/ops"], []),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)


def below(path, folder):
    return path.startswith(folder + "/")


def layer_of(path):
    rows = [row for row in LAYERS if below(path, row)]
    return max(rows, key=len) if rows else None


def short_pair(layer, target):
    """`core may not include replay` where no row of core allows any of replay, else sub-folders."""
    top, other = layer.split("/")[0], target.split("/")[0]
    allowed = [a for row, all_of in LAYERS.items() if below(row + "/", top) for a in all_of]
    if top != other and not any(below(a + "/", other) for a in allowed):
        return top, other
    return layer, "/".join(target.split("/")[:2]) if "/" in target else target


def check_ours(path, target):
    layer = layer_of(path)
    if layer is None:
        return "no row for this folder in tests/lint/layers.py"
    if "/" not in target or ".." in target.split("/"):
        return f'write "{target}" from the top of the tree'
    if layer_of(target) is None:
        return f'"{target}" is in no layer'
    if any(below(target, allowed) for allowed in [layer, *LAYERS[layer]]):
        return None
    return "{} may not include {}".format(*short_pair(layer, target))


def check_foreign(path, target):
    is_header = path.endswith(".h")
    for name, pattern, sources, headers in FENCES:
        if not re.match(pattern, target):
            continue
        if not is_header and below(path, "tests") and name != "benchmark":
            return None
        if any(below(path, folder) for folder in (headers if is_header else sources)):
            return None
        places = " and ".join(headers if is_header else sources)
        kind = "headers" if is_header else "sources"
        return f"{name}: <{target}> belongs into {kind} of {places or 'no folder'}"
    return None


def check(files):
    complaints = []
    for path in files.sources():
        text = files.text(path) or ""
        for found in INCLUDE.finditer(text):
            ours, foreign = found.groups()
            fault = check_foreign(path, ours or foreign)
            if fault is None and ours is not None:
                fault = check_ours(path, ours)
            if fault is not None:
                line = text.count("\n", 0, found.end()) + 1
                complaints.append(f"{path}:{line}: {fault}")
    return complaints


if __name__ == "__main__":
    tree.main(__doc__, check)
