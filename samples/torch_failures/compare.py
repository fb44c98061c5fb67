# What PyTorch's own minifier makes of the failures in this folder.
#
#   python samples/torch_failures/compare.py [NAME ...] [--limit SECONDS]
#
# For each: runs NAME.py --compile with TORCHDYNAMO_REPRO_AFTER=aot, then the launcher script that
# this writes, and prints nodes before and after, seconds of both, and how it ended.
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from verify import FAILURES, HERE


def run(command, limit_s, **kwargs):
    """Exit code (None where it took too long), combined output, seconds; ends the whole group."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True, **kwargs)
    try:
        output, _ = process.communicate(timeout=limit_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, code = process.communicate()[0], None
    return code, output, time.monotonic() - start


def calls(path):
    """Call nodes of the program in a repro script, counted by what assigns their results."""
    with open(path, errors="replace") as f:
        return len(re.findall(r"^        \w+ = (?:torch\.ops\.|operator\.|\w+\[)", f.read(), re.M))


def ending(code, output):
    if code is None:
        return "out of time"
    if code < 0:
        return "died of " + signal.Signals(-code).name
    lines = [line for line in output.splitlines() if re.match(r"^[\w.]*(Error|Exception)\b", line)]
    return lines[-1][:90] if lines else f"exit {code}"


def compare(name, limit_s):
    expected = FAILURES[name]
    with tempfile.TemporaryDirectory() as folder:
        level = "4" if expected["mode"] == "accuracy" else "2"
        env = {**os.environ, "TORCHDYNAMO_REPRO_AFTER": "aot", "TORCHDYNAMO_REPRO_LEVEL": level,
               "TORCH_COMPILE_DEBUG_DIR": folder, "TMPDIR": folder,
               "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "cache")}
        code, output, first = run([sys.executable, os.path.join(HERE, name + ".py"), "--compile"],
                                  limit_s, cwd=folder, env=env)
        launchers = glob.glob(os.path.join(folder, "**", "minifier_launcher.py"), recursive=True)
        if not launchers:
            return f"{name}: no launcher written: {ending(code, output)}; {first:.0f} s"
        before = calls(launchers[0])
        code, output, second = run([sys.executable, launchers[0]], limit_s, env=env,
                                   cwd=os.path.dirname(launchers[0]))
        repros = glob.glob(os.path.join(folder, "**", "repro.py"), recursive=True)
        checkpoints = glob.glob(os.path.join(folder, "**", "checkpoints", "*.py"), recursive=True)
        newest = max(repros + checkpoints, key=os.path.getmtime, default=None)
        after = "nothing" if newest is None else f"{calls(newest)} nodes"
        return (f"{name}: {before} nodes, {after} left; {first:.0f} s to write the launcher, "
                f"{second:.0f} s to minimise: {ending(code, output)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(FAILURES))
    parser.add_argument("--limit", type=float, default=600, help="seconds for each of the two runs")
    given = parser.parse_args()
    for name in given.names:
        print(compare(name.removesuffix(".py"), given.limit), flush=True)


if __name__ == "__main__":
    main()
