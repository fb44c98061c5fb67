#!/usr/bin/env python3
"""Mutations of wrappers and kernels of right programs: does `assay debug` find them, and where?

    planted_stages.py ASSAY [FOLDER] [--count 300] [--seed 5] [--keep DIR]

FOLDER holds recorded logs with their answers; without it those of the reference corpus. A mutation counts
where it changes what the program gives or breaks a check of its run. Each must be found and blamed on
the launch that was changed; of a launch that is gone, on a buffer that it wrote.
"""
import argparse, json, pathlib, random, re, subprocess, sys, tempfile

import recorded_logs

# What is replaced, and with what: the first in a line of a kernel's body.
KERNEL = {
    "operator": [(" + tmp", " - tmp"), (" - tmp", " + tmp"), (" * tmp", " + tmp"), ("libdevice.exp(", "libdevice.sin("),
                 ("triton_helpers.maximum", "triton_helpers.minimum"), ("libdevice.rsqrt", "libdevice.sqrt"),
                 (".exp()", ".sin()"), ("at::vec::maximum", "at::vec::minimum"), ("std::exp(", "std::sin(")],
    "constant": [("1.0, tl.float32", "1.5, tl.float32"), ("0.5, tl.float32", "0.25, tl.float32"),
                 ("static_cast<float>(1.0)", "static_cast<float>(1.5)"), ("static_cast<float>(0.5)", "static_cast<float>(0.25)")],
    "index": [(" + (x0", " + (1 + x0"), (" + (x1", " + (1 + x1"), (" + (x2", " + (1 + x2"), (" + (r0_1", " + (1 + r0_1"),
              ("static_cast<int64_t>(x0)", "static_cast<int64_t>(x0 + 1L)"), ("static_cast<int64_t>(x1 + ", "static_cast<int64_t>(x1 + 1L + ")],
    "mask": [(" < xnumel", " <= xnumel"), (" < xnumel", " < xnumel - 1"), (" < r0_numel", " <= r0_numel"), (" < r0_numel", " < r0_numel - 1"),
             ("other=0.0", "other=1.0")],
    "reduction": [("tl.sum(", "triton_helpers.max2("), ("triton_helpers.max2(", "tl.sum("), ("triton_helpers.min2(", "triton_helpers.max2("),
                  ("tmp_acc0 = tmp_acc0 + ", "tmp_acc0 = tmp_acc0 * "), ("tmp_acc0_vec = tmp_acc0_vec + ", "tmp_acc0_vec = tmp_acc0_vec * ")],
    "dtype": [(".to(tl.float32)", ".to(tl.int32)"), ("tmp0.to(tl.float32)", "tmp0.to(tl.int8)"), ("static_cast<float>(tmp", "static_cast<int8_t>(tmp")],
    "barrier": [("tl.debug_barrier()", "pass")],
}


# Differs as it is: a finding there says nothing about a mutation.
LEFT_OUT = ("pointwise_many",)
# Of the sum of magnitudes: less is rounding, which nobody is to blame.
TOLERANCE = 1e-4


LAUNCH = re.compile(r"^\t\s+(?:(triton_\w+)\.run|(cpp_fused\w*))\((.*)\)$")


def kernel_at(lines, at):
    for i in range(at, 0, -1):
        found = re.match(r"^\t(\w+) = async_compile\.", lines[i])
        if found:
            return found[1]
        if not lines[i].startswith("\t"):
            return None
    return None


def mutate(rng, lines, kind):
    """The changed lines and what may be blamed; None where this kind does not fit."""
    first, last = rng.choice(recorded_logs.programs_of(lines))
    launches = [i for i in range(first, last) if LAUNCH.match(lines[i])]
    lines = list(lines)
    if kind in KERNEL:
        changes = KERNEL[kind]
        places = [(i, change) for i in range(first, last) for change in changes
                  if change[0] in lines[i] and not lines[i].lstrip().startswith("#") and
                  re.match(r"^\t(    |  )+ *(tmp|auto tmp|tl\.|x0 =|xmask|r0_mask|out_ptr|in_ptr)", lines[i])]
        if not places:
            return None
        at, (before, after) = rng.choice(places)
        lines[at] = lines[at].replace(before, after, 1)
        return lines, {kernel_at(lines, at)}
    if kind == "lost store":
        places = [i for i in range(first, last) if re.match(r"^\t\s+(tl\.store\(|tmp\d+\.store\((in_)?out_ptr|out_ptr\d+\[.*\] = )", lines[i])]
        if not places:
            return None
        at = rng.choice(places)
        blamed = {kernel_at(lines, at)}
        del lines[at]
        return lines, blamed
    if not launches:
        return None
    at = rng.choice(launches)
    found = LAUNCH.match(lines[at])
    name, args = found[1] or found[2], found[3].split(", ")
    buffers = [k for k, arg in enumerate(args) if re.fullmatch(r"buf\d+|arg\d+_1|primals_\d+|\w*tangents_\d+", arg)]
    if kind == "lost launch":
        blamed = set(arg for arg in args if arg.startswith("buf"))
        del lines[at]
        return lines, blamed
    if kind == "order":
        def is_made(later, earlier):
            """Is what the later launch takes there already?"""
            made, whole = "\n".join(lines[first:earlier]), "\n".join(lines[first:last])
            taken = re.findall(r"[A-Za-z_]\w*", LAUNCH.match(lines[later])[3])
            return all(f" {name} = " in made for name in taken if f" {name} = " in whole)
        other = [i for i in launches if i != at and is_made(max(i, at), min(i, at))]
        if not other:
            return None
        swap = rng.choice(other)
        blamed = {name, LAUNCH.match(lines[swap])[1] or LAUNCH.match(lines[swap])[2]}
        lines[at], lines[swap] = lines[swap], lines[at]
        return lines, blamed
    if kind == "argument" and len(buffers) > 1:
        a, b = rng.sample(buffers, 2)
        if args[a] == args[b]:
            return None
        text = list(args)
        text[a], text[b] = text[b], text[a]
        lines[at] = lines[at].replace(", ".join(args), ", ".join(text))
        return lines, {name}
    return None


def run(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)


def outputs(assay, log, answers):
    """Sums of what each program gives; None where one does not run, and whether a check fails."""
    done = run([assay, "run", log, "--inputs", answers, "--check", "--json"])
    try:
        programs = json.loads(done.stdout)["programs"]
    except (json.JSONDecodeError, KeyError):
        return None, True
    return ([[(o.get("layout"), o.get("sum"), o.get("abs")) if isinstance(o, dict) else o for o in p["outputs"]] for p in programs],
            any(p["findings"] or p.get("error") for p in programs))


def differs(a, b):
    if a is None or b is None or len(a) != len(b):
        return True
    for p, q in zip(a, b):
        if len(p) != len(q):
            return True
        for x, y in zip(p, q):
            if not isinstance(x, tuple) or not isinstance(y, tuple):
                if x != y:
                    return True
                continue
            if x[0] != y[0]:
                return True
            scale = max(abs(x[2] or 0), abs(y[2] or 0), 1e-6) if isinstance(x[2], (int, float)) and isinstance(y[2], (int, float)) else None
            if scale is None:
                if x != y:
                    return True
            elif abs(x[1] - y[1]) > TOLERANCE * scale or abs(x[2] - y[2]) > TOLERANCE * scale:
                return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    kinds = [*KERNEL, "lost store", "lost launch", "order", "argument"]
    before = {}
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(arguments.keep or folder)
        work.mkdir(parents=True, exist_ok=True)
        source = recorded_logs.folder_of(arguments.folder, ["programs"], pathlib.Path(folder) / "corpus")
        logs = sorted(log for log in source.rglob("*.log")
                      if log.with_suffix(".json").exists() and not log.name.startswith(LEFT_OUT))
        planted = 0
        for number in range(60 * arguments.count):
            if planted == arguments.count:
                break
            log, kind = rng.choice(logs), rng.choice(kinds)
            made = mutate(rng, log.read_text().split("\n"), kind)
            if made is None:
                continue
            planted += 1
            lines, blamed = made
            answers = log.with_suffix(".json")
            file = work / f"{planted}.log"
            file.write_text("\n".join(lines))
            if log not in before:
                before[log] = outputs(arguments.assay, log, answers)[0]
            row = table.setdefault(kind, {"planted": 0, "none": 0, "right": 0, "elsewhere": 0, "missed": 0, "undecided": 0})
            row["planted"] += 1
            done = run([arguments.assay, "debug", file, "--inputs", answers, "--json"])
            found = []
            if done.stdout.startswith("{"):
                report = json.loads(done.stdout)
                found = [f for c in report["compilations"] for f in c["findings"] if f["decided"]]
            if not found:
                now, breaks = outputs(arguments.assay, file, answers)
                is_effective = breaks or differs(before[log], now)
                outcome = "none" if not is_effective else "undecided" if done.returncode == 5 else "missed"
            else:
                names = {name for f in found[:1] for name in (f["target"], f["node"])}
                outcome = "right" if names & blamed else "elsewhere"
            row[outcome] += 1
            if outcome in ("elsewhere", "missed", "undecided"):
                first = found[0] if found else {}
                print(f"{outcome} {file.name} {log.name} {kind}: {sorted(map(str, blamed))}, named "
                      f"{first.get('target')} {first.get('node')} in {first.get('stage')}", flush=True)
    total = {key: sum(row[key] for row in table.values()) for key in next(iter(table.values()))}
    for kind, row in [*sorted(table.items()), ("all", total)]:
        print(f"{kind:12} " + ", ".join(f"{value} {key}" for key, value in row.items()))
    effective = total["planted"] - total["none"]
    print(f"{total['right']} of {effective} found and blamed on the right launch")
    return 0 if total["right"] >= 0.99 * effective else 1


if __name__ == "__main__":
    sys.exit(main())
