# Does every failure of this folder still fail, once recorded and replayed from its bundle?
#
#   python samples/torch_failures/verify.py ASSAY [NAME ...]      ASSAY: path of the built program
#
# Records each, imports it with ASSAY, and lets minifier/oracle/torch_worker.py judge the bundle's
# repro.py. Exit code 1 where one does not fail as FAILURES says, with the reply.
import json
import os
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = os.path.join(os.path.dirname(os.path.dirname(HERE)), "minifier", "oracle",
                      "torch_worker.py")

# mode for the worker, and what its reply must say
FAILURES = {
    "negative_pad_linear": {"mode": "compile", "outcome": "fails", "stage": "compile",
                            "error_class": "torch._inductor.exc.InductorError"},
    "byte_minimum": {"mode": "accuracy", "outcome": "fails", "numeric": "mismatch"},
    "smallest_integer_division": {"mode": "crash", "outcome": "fails", "stage": "run",
                                  "signal": "SIGFPE"},
    "replication_pad_layout": {"mode": "accuracy", "outcome": "fails", "numeric": "stride"},
    "unpool_layout": {"mode": "accuracy", "outcome": "fails", "numeric": "stride"},
}


def record(name, assay, folder):
    """The unpacked bundle of one failure."""
    def quiet(*command):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            sys.exit(f"{name}: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")

    quiet(sys.executable, os.path.join(HERE, name + ".py"), folder)
    bundle = os.path.join(folder, "bundle.zip")
    quiet(assay, "import", os.path.join(folder, "graph0_inf.json"), "-o", bundle)
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(os.path.join(folder, "bundle"))
    return os.path.join(folder, "bundle")


def judge(worker, name, bundle, mode):
    request = {"id": name, "script": os.path.join(bundle, "repro.py"), "bundle": bundle,
               "mode": mode, "timeout_s": 600}
    worker.stdin.write(json.dumps(request) + "\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline())


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: verify.py ASSAY [NAME ...]")
    names = sys.argv[2:] or list(FAILURES)
    worker = subprocess.Popen([sys.executable, WORKER], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    worker.stdout.readline()
    wrong = 0
    for name in names:
        expected = dict(FAILURES[name])
        mode = expected.pop("mode")
        with tempfile.TemporaryDirectory() as folder:
            reply = judge(worker, name, record(name, os.path.abspath(sys.argv[1]), folder), mode)
        numeric = (reply["numeric"] or {}).get("class")
        seen = {**reply, "numeric": numeric}
        same = all(seen[key] == value for key, value in expected.items())
        wrong += not same
        what = numeric or reply["signal"] or reply["error_class"]
        print(f"{name}: {'as told' if same else 'OTHERWISE'}: {reply['outcome']} at "
              f"{reply['stage']}, {what}, {reply['seconds']:.0f} s", flush=True)
        print("   ", (reply["message"] or "").replace("\n", " | "), flush=True)
        print("   ", ", ".join(reply["frames"]) or reply["numeric"], flush=True)
        if not same and not numeric:
            print(reply["output"][-3000:])
    worker.stdin.close()
    worker.wait()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
