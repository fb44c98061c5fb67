#!/usr/bin/env python3
"""The worker that judges candidates under torch.compile: its protocol, and candidates that misbehave.

    python tests/torch/torch_worker_test.py      with a Python that has torch, else all is skipped
"""
import glob
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKER = os.path.join(ROOT, "minifier", "oracle", "torch_worker.py")
HAS_TORCH = importlib.util.find_spec("torch") is not None
PATIENCE_S = 500  # the first import of torch on a busy machine

# As a repro.py looks to the worker. `bad` is a backend of the candidate's own, so that it can
# misbehave where a compiler would: while it compiles, or in what it compiled.
SCRIPT = """
import os, time, mmap, sys
import torch
made = {}
def INPUTS():
    return [("x", torch.arange(6.0).reshape(2, 3) - 2)]
def ATTRIBUTES():
    return {}
def attach(module):
    return module
def set_attribute(module, path, value):
    raise AssertionError("there are none")
class Repro(torch.nn.Module):
    def forward(self, x):
        %(forward)s
def bad(module, inputs):
    %(compile)s
    def run(*args):
        result = module(*args)
        %(run)s
        return result
    return run
torch._dynamo.register_backend(bad, name="bad")
"""


def alive(marker):
    """Processes that have the marker in their environment and are not yet dead."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                mine = marker.encode() in f.read()
            with open(f"/proc/{pid}/stat", "rb") as f:
                state = f.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if mine and state != b"Z":
            found.append(int(pid))
    return found


@unittest.skipUnless(HAS_TORCH, "needs a Python with torch")
class TorchWorkerTest(unittest.TestCase):
    extra_environment = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.marker = f"ASSAY_TEST_MARKER={os.getpid()}"
        name, value = cls.marker.split("=")
        cls.worker = subprocess.Popen(
            [sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, name: value, "TMPDIR": cls.folder.name, **cls.extra_environment})
        cls.hello = json.loads(cls.worker.stdout.readline())
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.worker.stdin.close()
        cls.worker.wait(60)
        cls.worker.stdout.close()
        cls.folder.cleanup()

    def script(self, forward="return x.relu() + 1", compile="pass", run="pass"):
        type(self).count += 1
        path = os.path.join(self.folder.name, f"repro{self.count}.py")
        with open(path, "w") as f:
            f.write(textwrap.dedent(SCRIPT) % {"forward": forward, "compile": compile, "run": run})
        return path

    def send(self, **request):
        self.worker.stdin.write(json.dumps(request) + "\n")
        self.worker.stdin.flush()

    def judge(self, backend="bad", mode="compile", timeout_s=PATIENCE_S, memory_mib=8192,
              processes=256, **script):
        path = script.pop("path", None) or self.script(**script)
        self.send(id=self.count, script=path, backend=backend, mode=mode, timeout_s=timeout_s,
                  memory_mib=memory_mib, processes=processes)
        reply = json.loads(self.worker.stdout.readline())
        self.assertEqual(self.count, reply["id"])
        return reply

    def assertReply(self, reply, **expected):
        self.assertEqual(expected, {key: reply[key] for key in expected}, reply)

    def assertNothingLeft(self):
        self.assertEqual([self.worker.pid], alive(self.marker))
        left = [name for name in os.listdir(self.folder.name) if name.startswith("assay_torch_")]
        for name in left:
            inside = os.listdir(os.path.join(self.folder.name, name))
            self.assertEqual([], [n for n in inside if n.startswith("candidate_")])

    def test_the_first_line_names_torch_python_and_the_process(self):
        import torch
        self.assertEqual(True, self.hello["ready"])
        self.assertEqual(torch.__version__.split("+")[0], self.hello["torch"])
        self.assertEqual(self.worker.pid, self.hello["pid"])

    def test_what_compiles_and_runs_passes(self):
        self.assertReply(self.judge(), outcome="passes", stage="run", signal=None, message=None)

    def test_equal_values_pass_the_comparison(self):
        self.assertReply(self.judge(mode="accuracy"), outcome="passes", numeric=None)

    def test_an_exception_of_the_compiler_is_a_failure_with_its_message(self):
        reply = self.judge(compile="raise ValueError('buf12 of (4, 17) at 0x7f3a')")
        self.assertReply(reply, outcome="fails", stage="compile",
                         error_class="torch._dynamo.exc.BackendCompilerFailed")
        self.assertIn("bufN of (N) at ADDRESS", reply["message"])
        self.assertTrue(reply["frames"])

    def test_an_exception_while_it_runs_is_another_stage(self):
        self.assertReply(self.judge(run="raise KeyError('x')"), outcome="fails", stage="run",
                         error_class="KeyError")

    def test_a_wrong_value_is_told_with_its_place_and_size(self):
        reply = self.judge(mode="accuracy", run="result = [result[0] + 1]")
        self.assertReply(reply, outcome="fails", stage="accuracy")
        self.assertEqual("mismatch", reply["numeric"]["class"])
        self.assertEqual(0, reply["numeric"]["output"])
        self.assertEqual(1.0, reply["numeric"]["max_abs"])

    def test_wrong_values_do_not_count_without_comparison(self):
        self.assertReply(self.judge(run="result = [result[0] + 1]"), outcome="passes")

    def test_each_way_to_differ_has_its_class(self):
        for run, expected in (("result = [result[0].clone().fill_(float('nan'))]", "nan"),
                              ("result = [result[0] / 0]", "inf"),
                              ("result = [result[0].double()]", "dtype"),
                              ("result = [result[0].t().contiguous().t()]", "stride"),
                              ("result = [result[0][:1]]", "shape")):
            with self.subTest(expected):
                reply = self.judge(mode="accuracy", run=run)
                self.assertEqual(expected, (reply["numeric"] or {}).get("class"), reply)

    def test_a_wrong_value_is_not_hidden_by_a_wrong_stride_before_it(self):
        reply = self.judge(mode="accuracy", forward="return x + 1, x + 2",
                           run="result = [result[0].t().contiguous().t(), result[1] + 5]")
        self.assertEqual({"output": 1, "class": "mismatch"},
                         {k: reply["numeric"][k] for k in ("output", "class")})

    def test_a_program_that_fails_in_eager_is_invalid(self):
        self.assertReply(self.judge(forward="return x @ x"), outcome="invalid", stage="eager",
                         error_class="RuntimeError")

    def test_a_script_that_does_not_load_is_invalid(self):
        path = os.path.join(self.folder.name, "broken.py")
        with open(path, "w") as f:
            f.write("def (\n")
        self.assertReply(self.judge(path=path), outcome="invalid", stage="load",
                         error_class="SyntaxError")

    def test_a_crash_is_told_by_its_signal(self):
        reply = self.judge(mode="crash", compile="import ctypes; ctypes.string_at(0)")
        self.assertReply(reply, outcome="fails", stage="compile", signal="SIGSEGV",
                         error_class="SIGSEGV")
        self.assertTrue(reply["frames"], "the stack of the crash")
        self.assertReply(self.judge(run="os.abort()"), outcome="fails", stage="run",
                         signal="SIGABRT")

    def test_a_crash_in_eager_is_invalid_and_keeps_its_signal(self):
        self.assertReply(self.judge(forward="os.abort()"), outcome="invalid", stage="eager",
                         signal="SIGABRT")

    def test_an_exit_without_a_word_is_no_pass(self):
        self.assertReply(self.judge(compile="os._exit(0)"), outcome="fails", error_class="Exit")

    def test_a_candidate_that_hangs_is_ended_and_says_where(self):
        reply = self.judge(compile="time.sleep(1000)", timeout_s=60)
        self.assertReply(reply, outcome="timeout", stage="compile", signal=None)
        self.assertIn("in bad", reply["output"])
        self.assertNothingLeft()

    def test_a_memory_eater_is_ended(self):
        reply = self.judge(compile="eaten = [bytearray(b'1' * (64 << 20)) for _ in range(100)]; "
                                   "time.sleep(1000)", memory_mib=2048)
        self.assertReply(reply, outcome="memory", error_class="OutOfMemory")
        self.assertNothingLeft()

    def test_a_fork_bomb_is_ended_with_all_it_started(self):
        bomb = "[os.fork() for _ in range(7)]; time.sleep(1000)"
        self.assertReply(self.judge(compile=bomb, processes=20, memory_mib=1 << 20),
                         outcome="memory")
        self.assertNothingLeft()

    def test_who_leaves_the_group_is_ended_too(self):
        leave = "os.fork() or (os.setsid(), os.fork(), time.sleep(1000)); time.sleep(2)"
        self.assertReply(self.judge(compile=leave), outcome="passes")
        self.assertNothingLeft()

    def test_a_flood_of_output_is_cut_to_its_tail(self):
        flood = "[print('y' * 4000) for _ in range(5000)]; print('the end', flush=True)"
        reply = self.judge(compile=flood)
        self.assertReply(reply, outcome="passes")
        self.assertLessEqual(len(reply["output"]), 64 * 1024)
        self.assertIn("the end", reply["output"])

    def test_bad_requests_are_answered_and_the_worker_goes_on(self):
        good = self.script()
        for request in ({"id": 1}, {"id": 1, "script": good, "mode": "wrong"},
                        {"id": 1, "script": good, "timeout_s": -1},
                        {"id": 1, "script": good, "surprise": 1}):
            self.send(**request)
            reply = json.loads(self.worker.stdout.readline())
            self.assertReply(reply, id=1, outcome="invalid", stage="request")
        self.worker.stdin.write("no json\n")
        self.worker.stdin.flush()
        self.assertReply(json.loads(self.worker.stdout.readline()), id=None, stage="request")
        self.assertReply(self.judge(), outcome="passes")

    def test_replies_come_in_the_order_of_completion(self):
        self.send(id="slow", script=self.script(compile="time.sleep(20)"), backend="bad",
                  timeout_s=PATIENCE_S)
        self.send(id="fast", script=self.script(), backend="bad", timeout_s=PATIENCE_S)
        order = [json.loads(self.worker.stdout.readline())["id"] for _ in range(2)]
        self.assertEqual(["fast", "slow"], order)

    def test_inputs_that_the_program_wrote_to_are_fresh_for_the_compiled_run(self):
        self.assertReply(self.judge(mode="accuracy", forward="return x.add_(1) * 2"),
                         outcome="passes", numeric=None)


@unittest.skipUnless(HAS_TORCH, "needs a Python with torch")
class EndTest(unittest.TestCase):
    def start(self, folder):
        worker = subprocess.Popen([sys.executable, WORKER], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env={**os.environ, "ASSAY_TEST_END": str(os.getpid()),
                                       "TMPDIR": folder})
        worker.stdout.readline()
        path = os.path.join(folder, "repro.py")
        with open(path, "w") as f:
            f.write(textwrap.dedent(SCRIPT) % {
                "forward": "return x + 1", "compile": "time.sleep(1000)", "run": "pass"})
        worker.stdin.write(json.dumps({"id": 1, "script": path, "backend": "bad",
                                       "timeout_s": PATIENCE_S}) + "\n")
        worker.stdin.flush()
        until = time.monotonic() + PATIENCE_S
        inside = os.path.join(folder, "assay_torch_*", "candidate_*")
        while time.monotonic() < until and not glob.glob(inside):
            time.sleep(0.1)
        return worker

    def check(self, end):
        with tempfile.TemporaryDirectory() as folder:
            worker = self.start(folder)
            end(worker)
            worker.wait(60)
            self.assertEqual([], alive(f"ASSAY_TEST_END={os.getpid()}"))
            self.assertEqual([], [n for n in os.listdir(folder) if n.startswith("assay_torch_")])
            worker.stdout.close()
            worker.stdin.close()

    def test_the_end_of_stdin_ends_the_worker_and_its_candidates(self):
        self.check(lambda worker: worker.stdin.close())

    def test_a_request_to_end_does_the_same(self):
        self.check(lambda worker: worker.send_signal(signal.SIGTERM))


class FreshInterpreterTest(TorchWorkerTest):
    """Candidates that start over, as they must where the worker has touched CUDA."""
    extra_environment = {"ASSAY_TORCH_SPAWN": "1"}


KEPT = ("test_what_compiles_and_runs_passes", "test_a_crash_is_told_by_its_signal",
        "test_a_candidate_that_hangs_is_ended_and_says_where",
        "test_an_exception_of_the_compiler_is_a_failure_with_its_message")
for inherited in dir(TorchWorkerTest):
    if inherited.startswith("test_") and inherited not in KEPT:
        setattr(FreshInterpreterTest, inherited, None)


if __name__ == "__main__":
    if not HAS_TORCH:
        print("SKIPPED: this Python has no torch")
    unittest.main()
