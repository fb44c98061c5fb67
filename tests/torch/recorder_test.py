#!/usr/bin/env python3
"""What samples/record/assay_record.py writes, under every PyTorch that is at hand.

    python tests/torch/recorder_test.py [ASSAY]     with a Python that has torch, else it is skipped
    ASSAY_TORCH_PYTHON=/a/bin/python:/b/bin/python python tests/torch/recorder_test.py [ASSAY]

With ASSAY, the binary, it must read every capture that was written.
"""
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDER = os.path.join(ROOT, "samples", "record")
HAS_TORCH = importlib.util.find_spec("torch") is not None
ASSAY = None
READ = (0, 1, 5)  # exit codes of a command that could read its input
REFUSED = 3

if HAS_TORCH:
    sys.path.insert(0, RECORDER)
    import torch
    import assay_record


def module_of(function):
    """torch.export wants a module."""
    class Module(torch.nn.Module):
        def forward(self, *args):
            return function(*args)
    return Module()


def has(path):
    """Is there such a module in this PyTorch?"""
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:
        return False


@unittest.skipUnless(HAS_TORCH, "needs a Python with torch")
class RecorderTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "out")
        self.accepted = READ

    def tearDown(self):
        if ASSAY:
            for path in glob.glob(os.path.join(self.folder, "*.json")):
                run = subprocess.run([ASSAY, "debug", path], capture_output=True, text=True)
                self.assertIn(run.returncode, self.accepted, f"{path}\n{run.stdout}{run.stderr}")

    def files(self, pattern="*.json"):
        return sorted(map(os.path.basename, glob.glob(os.path.join(self.folder, pattern))))

    def read(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return json.load(f)

    def compile(self, function, *args, grad=False, dynamic=True, **options):
        """Records one run; the capture of its first graph."""
        compiled = torch.compile(function, dynamic=dynamic,
                                 backend=assay_record.backend(self.folder, **options))
        with torch.set_grad_enabled(grad):
            compiled(*args)
        return self.read(self.files("graph0_*.json")[0])

    def export(self, *args, **options):
        path = assay_record.export(*args, folder=self.folder, **options)
        self.assertTrue(os.path.getsize(path))
        return self.read(os.path.basename(path).replace(".pt2", ".json"))

    def node(self, capture, target):
        found = [n for n in capture["nodes"] if target in n["target"]]
        self.assertTrue(found, [n["target"] for n in capture["nodes"]])
        return found[0]

    def input(self, capture, name):
        names = [n["name"] for n in capture["nodes"] if n["op"] == "placeholder"]
        return dict(zip(names, capture["inputs"]))[name]

    # What can be recorded

    def test_max_pool2d_is_recorded_in_a_process_that_only_imports_the_recorder(self):
        script = f"""
            import sys
            sys.path.insert(0, {RECORDER!r})
            import torch, assay_record
            f = torch.compile(torch.nn.MaxPool2d(3, 2, 1), dynamic=True,
                              backend=assay_record.backend({self.folder!r}))
            with torch.no_grad():
                print(tuple(f(torch.randn(1, 2, 8, 8)).shape))
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True,
                             text=True)
        self.assertEqual("(1, 2, 4, 4)\n", run.stdout, run.stderr[-2000:])
        self.assertEqual(["graph0_inf.json"], self.files())

    def test_forward_and_backward_are_files_of_their_own(self):
        x = torch.randn(4, 3, requires_grad=True)
        compiled = torch.compile(lambda x: x.sin().sum(), backend=assay_record.backend(self.folder))
        compiled(x).backward()
        self.assertTrue(torch.allclose(x.grad, x.cos()))
        self.assertEqual(["graph0_fwd.json", "graph1_bwd.json"], self.files())
        self.assertTrue(all("file" in s for s in self.read("graph1_bwd.json")["storages"]))

    def test_what_is_real_has_layout_device_storage_and_sums(self):
        real = self.compile(lambda x: x.t() * 2, torch.arange(6.).reshape(2, 3))["real"]
        seen = next(v for v in real.values() if v.get("sum") == 30)
        self.assertEqual({"dtype": "float32", "size": [3, 2], "stride": [1, 3], "offset": 0,
                          "device": "cpu", "storage_bytes": 24, "sum": 30.0, "abs": 30.0},
                         {k: v for k, v in seen.items() if k != "alias"})

    def test_a_sparse_input_is_named_with_its_layout(self):
        self.accepted = (*READ, REFUSED)  # a graph is not run without all of its inputs
        sparse = torch.eye(3).to_sparse()
        capture = self.export(module_of(lambda s, x: torch.sparse.mm(s, x) + 1),
                              (sparse, torch.ones(3, 2)))
        name = next(n["name"] for n in capture["nodes"] if n["op"] == "placeholder")
        self.assertEqual({"value": None, "layout": "sparse_coo", "dtype": "float32",
                          "size": [3, 3], "device": "cpu"}, self.input(capture, name))
        self.assertEqual(12.0, capture["real"][self.node(capture, "add")["name"]]["sum"])

    def test_a_run_that_raises_is_recorded_up_to_there(self):
        @torch.library.custom_op("assay_recorder_test::short", mutates_args=())
        def short(x: torch.Tensor) -> torch.Tensor:
            return x[:-1].clone()

        short.register_fake(lambda x: torch.empty_like(x))
        x = torch.ones(4)
        with self.assertRaises(RuntimeError):
            self.compile(lambda x: short(x.sin()) + x, x, dynamic=False)
        capture = self.read("graph0_inf.json")
        lie = self.node(capture, "short")
        self.assertEqual([4], lie["val"]["size"])
        self.assertEqual([3], capture["real"][lie["name"]]["size"])
        self.assertNotIn(self.node(capture, "add")["name"], capture["real"])
        self.assertNotIn("mutated", capture)

    def test_inputs_that_share_a_storage_share_its_record(self):
        base = torch.arange(6.)
        capture = self.export(module_of(lambda a, b: a.sum() + b.sum()), (base[:4], base[2:]))
        a, b = (e for e in capture["inputs"] if "storage" in e)
        self.assertEqual((a["storage"], a["offset"]), (b["storage"], b["offset"] - 2))

    # Bodies of higher-order operators

    def assert_body(self, capture, operator, *targets):
        call = self.node(capture, f"higher_order.{operator}")
        names = [a["node"] for a in call["args"] if isinstance(a, dict) and "node" in a]
        paths = [n["target"] for n in capture["nodes"] if n["name"] in names and n["op"] == "get_attr"]
        bodies = [capture["graphs"][path] for path in paths]
        inside = [n["target"] for body in bodies for n in body["nodes"]]
        for target in targets:
            self.assertIn(target, inside)

    def test_both_branches_of_cond(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        capture = self.compile(f, torch.ones(3))
        self.assert_body(capture, "cond", "aten.sin.default", "aten.cos.default")

    def test_condition_and_body_of_while_loop(self):
        from torch._higher_order_ops import while_loop

        def f(x):
            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.sin()),
                              (torch.tensor(0), x))[1]
        capture = self.compile(f, torch.ones(3))
        self.assert_body(capture, "while_loop", "aten.lt.Scalar", "aten.sin.default")

    @unittest.skipUnless(HAS_TORCH and has("torch._higher_order_ops.scan"), "no scan in this PyTorch")
    def test_body_of_scan(self):
        from torch._higher_order_ops.scan import scan
        capture = self.compile(lambda x: scan(lambda c, v: (c + v, c * v), torch.zeros(4), x),
                               torch.ones(3, 4))
        self.assert_body(capture, "scan", "aten.add.Tensor", "aten.mul.Tensor")

    def test_body_of_map(self):
        from torch._higher_order_ops.map import map as map_over
        capture = self.compile(lambda x: map_over(lambda v: v.sin(), x), torch.ones(3, 4))
        self.assert_body(capture, "map_impl", "aten.sin.default")

    @unittest.skipUnless(HAS_TORCH and has("torch.nn.attention.flex_attention"),
                         "no flex attention in this PyTorch")
    def test_score_of_flex_attention(self):
        from torch.nn.attention.flex_attention import flex_attention

        def f(q):
            return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s.sin())
        capture = self.compile(f, torch.ones(1, 2, 16, 16), dynamic=False)
        self.assert_body(capture, "flex_attention", "aten.sin.default")

    # Where things come from

    def test_every_call_has_its_frame_and_line_of_code(self):
        def f(x):
            y = x.sin() + x.cos()  # the marked line
            return y
        capture = self.compile(f, torch.ones(3))
        stacks = [n["stack"] for n in capture["nodes"] if n["op"] == "call_function"]
        self.assertEqual(3, len(stacks))
        for frame, code in stacks:
            self.assertRegex(frame, r'^ *File "([^/"].*)?recorder_test.py", line \d+, in f$')
            self.assertEqual("y = x.sin() + x.cos()  # the marked line", code.strip())

    def test_no_path_of_the_recording_machine(self):
        def f(x):
            torch._check(x.shape[0] > 2)
            if x.shape[1] < 100:
                x = torch.nn.functional.linear(x, x)
            return x.nonzero()
        torch._dynamo.config.capture_dynamic_output_shape_ops = True
        capture = self.compile(f, torch.ones(5, 4))
        places = [g["where"] for g in capture["guards"]]
        stacks = [line for n in capture["nodes"] for line in n["stack"] or []]
        self.assertTrue(places)
        for place in filter(None, places):
            self.assertRegex(place, r"^[^/ #][^ #]*:\d+ in \S+$")
        for line in stacks:
            self.assertNotIn('"/', line)

    # What recording leaves as it was

    def test_export_does_not_touch_the_buffers_of_the_model(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3))
        before = {k: v.clone() for k, v in model.state_dict().items()}
        capture = self.export(model, (torch.randn(2, 2, 4, 4),))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(before[name], value), name)
        self.assertIn("batch_norm", " ".join(n["target"] for n in capture["nodes"]))

    def test_export_does_not_touch_its_arguments(self):
        x = torch.zeros(3)
        self.export(module_of(lambda x: x.add_(1) * 2), (x,))
        self.assertTrue(torch.equal(torch.zeros(3), x))

    def test_a_compiled_model_updates_its_buffers_once_as_eager_does(self):
        eager, compiled = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
        x = torch.randn(8, 3)
        eager(x)
        self.compile(compiled, x, grad=True)
        for name, value in eager.state_dict().items():
            self.assertTrue(torch.allclose(value, compiled.state_dict()[name]), name)

    def test_inputs_that_the_graph_writes_to_are_named(self):
        capture = self.export(module_of(lambda x, y: (x.add_(y), y * 2)), (torch.zeros(3), torch.ones(3)))
        writes = [n["args"][0]["node"] for n in capture["nodes"] if n["target"] == "aten.add_.Tensor"]
        self.assertEqual(writes, capture["mutated"])
        if torch.__version__ >= "2.6":  # before, exported graphs had no writes
            self.assertEqual(1, len(writes))

    def test_who_was_mutated_is_not_told_where_writes_are_not_counted(self):
        with torch.inference_mode():
            x = torch.zeros(3)
            torch.compile(lambda x: x + 1, backend=assay_record.backend(self.folder))(x)
        self.assertNotIn("mutated", self.read("graph0_inf.json"))

    # Files and options

    def test_a_second_backend_with_the_same_folder_keeps_the_files_of_the_first(self):
        self.compile(lambda x: x.sin(), torch.ones(3))
        torch._dynamo.reset()
        self.compile(lambda x: x.cos(), torch.ones(3))
        self.assertEqual(["graph0_inf.json", "graph1_inf.json"], self.files())
        self.node(self.read("graph0_inf.json"), "sin")
        self.node(self.read("graph1_inf.json"), "cos")

    def test_a_second_export_keeps_the_files_of_the_first(self):
        first = assay_record.export(module_of(torch.sin), (torch.ones(3),), self.folder)
        second = assay_record.export(module_of(torch.cos), (torch.ones(3),), self.folder)
        self.assertEqual(["export.pt2", "export_1.pt2"], [os.path.basename(p) for p in (first, second)])
        self.assertEqual(["export.json", "export_1.json"], self.files())

    def test_export_takes_keywords_and_options(self):
        class Keywords(torch.nn.Module):
            def forward(self, x, *, scale, shift=None):
                return x * scale - shift
        batch = torch.export.Dim("batch", min=2)
        capture = self.export(Keywords(), (torch.ones(3, 2),),
                              kwargs={"shift": torch.full((2,), 5.), "scale": torch.full((2,), 2.)},
                              dynamic_shapes={"x": {0: batch}, "scale": None, "shift": None})
        self.assertEqual(-18.0, capture["real"][self.node(capture, "sub")["name"]]["sum"])
        self.assertIsInstance(self.node(capture, "mul")["val"]["size"][0], str)

    def test_values_can_be_left_out(self):
        capture = self.compile(lambda x: x + 1, torch.ones(3), values=False)
        self.assertEqual([{"nbytes": 12}], capture["storages"])
        self.assertEqual([], self.files("blobs/*"))
        capture = self.export(module_of(torch.sin), (torch.ones(3),), values=False)
        self.assertEqual([{"nbytes": 12}], capture["storages"])

    def test_what_is_real_can_be_left_out(self):
        self.assertNotIn("real", self.compile(lambda x: x + 1, torch.ones(3), real=False))


ANSWERS = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 4)
        self.same, self.scale = self.linear, 0.75
    def forward(self, *parts):
        return self.same(self.norm(parts[1] - parts[0]) * self.scale).relu(), parts[0].argmax(1)

torch.manual_seed(0)
inputs = (torch.randn(5, 3), torch.randn(3, 5, requires_grad=True).t().detach().requires_grad_())
print(assay_record.answers(Model(), inputs, sys.argv[2], dynamic=True))
"""


FOUND = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

class Table:
    def __init__(self):
        self.places = torch.tensor([2, 0, 1])

def made():
    table, weights = Table(), [torch.full((3,), 2.0), torch.arange(3.)]
    def picked(x):
        weights[1].add_(1)
        return (x * weights[0] + weights[1])[table.places] + OFFSET
    return picked

OFFSET = torch.full((3, 3), 10.0)
print(assay_record.answers(made(), (torch.eye(3),), sys.argv[2]))
"""

AROUND = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

def made():
    layer, shrink, factor = torch.nn.Linear(3, 4), torch.nn.Softshrink(0.25), 1.5
    shrunk = lambda x: shrink(x) * factor
    return lambda x: shrunk(layer(x))

print(assay_record.answers(made(), (torch.ones(1, 3).expand(5, 3),), sys.argv[2], dynamic=True))
"""

CONJUGATED = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

def made():
    numbers = [-2, 3]  # inputs of what is compiled with dynamic shapes
    def conjugated(x):
        return (x * numbers[0] + numbers[1]).conj()
    return conjugated

x = torch.complex(torch.arange(3.), torch.ones(3))
print(assay_record.answers(made(), (x,), sys.argv[2], dynamic=True))
"""

WRITTEN = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

def program(kept, x):
    y = x.sin()
    kept.add_(y.mean())
    return y * kept

print(assay_record.answers(program, (torch.ones(4, 3), torch.ones(4, 3, requires_grad=True)), sys.argv[2]))
"""

SEQUENCE = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import assay_record

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
print(assay_record.answers(model, (torch.ones(5, 3),), sys.argv[2]))
"""


@unittest.skipUnless(HAS_TORCH, "needs a Python with torch")
class AnswersTest(unittest.TestCase):
    """What a module gives, beside the log of its compilation."""

    def answers(self, script):
        """What the script records; with it Assay runs the log on nothing that is made up."""
        with tempfile.TemporaryDirectory() as folder:
            logs, path = os.path.join(folder, "logs"), os.path.join(folder, "answers.json")
            run = subprocess.run([sys.executable, "-c", script, RECORDER, path], capture_output=True, text=True,
                                 env={**os.environ, "TORCH_TRACE": logs, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"})
            self.assertEqual(["right"], run.stdout.split(), run.stderr[-2000:])
            for command in (["debug", "--stages"], ["run"]) if ASSAY else ():
                (log,) = glob.glob(os.path.join(logs, "*.log"))
                ran = subprocess.run([ASSAY, command[0], log, *command[1:], "--inputs", path], capture_output=True,
                                     text=True)
                self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
                self.assertNotIn("made up", ran.stdout)
            with open(path) as file:
                return json.load(file)

    def test_modules_and_functions(self):
        said = self.answers(ANSWERS)
        self.assertEqual(["L_self_modules_norm_parameters_weight_", "L_self_modules_norm_parameters_bias_",
                          ["L_self_modules_linear_parameters_weight_", "L_self_modules_same_parameters_weight_"],
                          ["L_self_modules_linear_parameters_bias_", "L_self_modules_same_parameters_bias_"],
                          "L_self_modules_norm_buffers_running_mean_",
                          "L_self_modules_norm_buffers_running_var_",
                          "L_self_modules_norm_buffers_num_batches_tracked_", "L_parts_0_", "L_parts_1_"],
                         [one["placeholder"] for one in said["inputs"] if one["dtype"] != "float64"])
        self.assertIn("L_self_scale", [one["placeholder"] for one in said["inputs"]])
        self.assertEqual([1, 5], said["inputs"][-1]["stride"])
        self.assertEqual(5, len(said["eager"]["gradients"]))  # four parameters and an input
        self.assertEqual(1, said["eager"]["inputs_after"][6]["sum"])  # batches that were tracked
        self.assertEqual(0, said["inputs"][6]["sum"])

    def test_tensors_around_a_function(self):
        said = self.answers(FOUND)
        self.assertEqual({"L_x_", "L_table_places", "L_weights_0_", "L_weights_1_", "G_OFFSET_"},
                         {one["placeholder"] for one in said["inputs"]})
        self.assertEqual(said["eager"], said["compiled"])  # each began with the same

    def test_modules_and_numbers_around_a_function(self):
        said = self.answers(AROUND)
        self.assertEqual([0, 1], said["inputs"][0]["stride"])
        self.assertLessEqual({"L_layer_parameters_weight_", "L_layer_parameters_bias_",
                              "L_shrunk_closure_0_cell_contents", "L_shrunk_closure_1_cell_contents_lambd"},
                             {one["placeholder"] for one in said["inputs"]})
        self.assertEqual(2, len(said["eager"]["gradients"]))

    def test_inputs_that_need_gradients_once_they_are_written(self):
        said = self.answers(WRITTEN)
        self.assertEqual([False, True], [one["requires_grad"] for one in said["inputs"]])
        self.assertEqual(1, len(said["eager"]["gradients"]))

    def test_conjugates_and_numbers(self):
        said = self.answers(CONJUGATED)
        self.assertEqual("complex64", said["eager"]["outputs"][0]["dtype"])
        self.assertEqual(said["eager"], said["compiled"])

    def test_what_is_no_number_equals_itself_alone(self):
        sys.path.insert(0, RECORDER)
        import assay_record
        nan, inf = float("nan"), float("inf")
        same = [(1.0, 1.0005), (nan, nan), (inf, inf), (-inf, -inf)]
        others = [(1.0, 1.1), (1.0, nan), (nan, 1.0), (inf, 1.0), (1.0, inf), (inf, -inf), (inf, nan)]
        for cases, differ in ((same, False), (others, True)):
            for a, b in cases:
                answers = [{"sum": one, "abs": abs(one)} for one in (a, b)]
                self.assertEqual(differ, assay_record._differ(*answers), (a, b))

    def test_modules_of_torch_itself(self):
        said = self.answers(SEQUENCE)
        self.assertEqual(["L_fn_modules_0_parameters_weight_", "L_fn_modules_0_parameters_bias_", "L_args_0_"],
                         [one["placeholder"] for one in said["inputs"]])


def run_under(python):
    """This file under another Python; False if something failed."""
    environment = {k: v for k, v in os.environ.items() if k != "ASSAY_TORCH_PYTHON"}
    run = subprocess.run([python, "-B", os.path.abspath(__file__), *([ASSAY] if ASSAY else [])],
                         env=environment)
    return run.returncode == 0


if __name__ == "__main__":
    ASSAY = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
    others = [p for p in os.environ.get("ASSAY_TORCH_PYTHON", "").split(os.pathsep) if p]
    if others:
        sys.exit(0 if all([run_under(python) for python in others]) else 1)
    if HAS_TORCH:
        print(f"torch {torch.__version__}", flush=True)
    else:
        print("SKIPPED: this Python has no torch")
    unittest.main()
