# Judges candidates under torch.compile: imports torch once and forks for every candidate.
#
#   python torch_worker.py            requests on stdin, replies on stdout, one JSON line each
#
# First line out: {"ready": true, "torch": "2.11.0", "python": "3.11.2", "pid": 7}
# Request, all but id and script optional:
#   {"id": 7, "script": "x/repro.py", "bundle": "x", "mode": "compile|accuracy|crash",
#    "backend": "inductor", "dynamic": null, "options": {}, "timeout_s": 60, "memory_mib": 4096,
#    "tolerance": 1e-3, "strides": true, "processes": 256, "threads": 1}
# Reply, in order of completion:
#   {"id": 7, "outcome": "passes|fails|invalid|timeout|memory",
#    "stage": "request|load|eager|compile|run|accuracy", "error_class": null, "message": null,
#    "frames": [], "numeric": null, "signal": null, "seconds": 1.2, "output": ""}
# numeric: {"output": 0, "class": "shape|dtype|nan|inf|mismatch|stride", "max_abs", "ratio",
# "first": 0}: the worst difference, and the first output that differs at all.
#
# `invalid` is what says nothing about the compiler: a bad request, a script that does not load, a
# program that fails or dies before it is compiled. Only `accuracy` compares values; the other two
# modes end when the compiled program has run. A death by a signal is always told by `signal`.
# Ends at the end of stdin. Standard library and torch only; Linux only (reads /proc).
import ctypes
import faulthandler
import importlib
import importlib.util
import json
import math
import os
import platform
import random
import re
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback

OUTPUT_BYTES = 64 * 1024  # of a candidate's output, the tail
TICK_S = 0.1
WARM_UP_S = 600
STACK_WAIT_S = 0.5  # for the stack of a candidate that hangs
FRAMES = 3
MODES = ("compile", "accuracy", "crash")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
DEFAULTS = {"bundle": None, "mode": "compile", "backend": "inductor", "dynamic": None,
            "options": {}, "timeout_s": 60, "memory_mib": 4096, "tolerance": 1e-3,
            "strides": True, "processes": 256, "threads": 1}
# Severity: a wrong value is never hidden behind a wrong stride of another output.
CLASSES = ("shape", "dtype", "nan", "inf", "mismatch", "stride")
libc = ctypes.CDLL(None)


# ---- The candidate's side: runs in the forked child, torch is there.


class Script:
    """The program of a repro.py, with inputs made afresh for every run."""

    def __init__(self, path, bundle):
        sys.argv = [path] + ([bundle] if bundle else [])
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location("assay_candidate", path)
        self.names = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.names
        spec.loader.exec_module(self.names)
        self.module = self.names.attach(self.names.Repro())

    def fresh(self, convert=lambda value: value):
        """Sets the attributes anew and returns new inputs: a run may have written to the last."""
        import torch
        self.names.made.clear()
        for path, value in self.names.ATTRIBUTES().items():
            self.names.set_attribute(self.module, path, convert(value))
        torch.manual_seed(0)
        random.seed(0)
        return [convert(value) for _, value in self.names.INPUTS()]

    def run(self, program=None, convert=lambda value: value):
        """Outputs, then the inputs as the run left them, as one flat list."""
        inputs = self.fresh(convert)
        outputs = (self.module if program is None else program)(*inputs)
        return flatten(outputs) + inputs


def flatten(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


class Widen:
    """Tensors in double precision over storages that are shared as the given ones are."""

    def __init__(self):
        self.made = {}

    def __call__(self, value):
        import torch
        wide = self.dtype(value.dtype) if isinstance(value, torch.Tensor) else None
        if wide is None or wide == value.dtype:
            return value
        key = (value.untyped_storage().data_ptr(), value.dtype)
        if key not in self.made:
            count = value.untyped_storage().nbytes() // value.dtype.itemsize
            self.made[key] = value.as_strided((count,), (1,), 0).to(wide)
        return self.made[key].as_strided(value.shape, value.stride(), value.storage_offset())

    @staticmethod
    def dtype(given):
        import torch
        return torch.complex128 if given.is_complex else \
            torch.float64 if given.is_floating_point else given


def run_wide(script):
    """The same program in double precision, or None where it has no such form."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    def widen(value):
        return Widen.dtype(value) if isinstance(value, torch.dtype) else value

    class Wide(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*tree_map(widen, args), **tree_map(widen, kwargs or {}))

    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        inputs = script.fresh(Widen())
        with Wide():
            return flatten(script.module(*inputs)) + inputs
    except Exception:
        return None
    finally:
        torch.set_default_dtype(before)


def compare(reference, result, wide, tolerance, strides):
    """The worst difference by CLASSES, then by place; None where the two agree."""
    if len(reference) != len(result):
        first = min(len(reference), len(result))
        return {"output": first, "class": "shape", "max_abs": None, "ratio": None, "first": first}
    found = []
    for index, (a, b) in enumerate(zip(reference, result)):
        w = wide[index] if wide is not None and len(wide) == len(reference) else None
        name, max_abs, ratio = compare_one(a, b, w, tolerance, strides)
        if name is not None:
            found.append({"output": index, "class": name, "max_abs": number(max_abs),
                          "ratio": number(ratio)})
            found[-1]["first"] = found[0]["output"]
    return min(found, key=lambda f: (CLASSES.index(f["class"]), f["output"]), default=None)


def compare_one(a, b, wide, tolerance, strides):
    import torch
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        same = a == b or (a != a and b != b)
        return (None if same else "mismatch"), None, None
    if a.shape != b.shape:
        return "shape", None, None
    if a.dtype != b.dtype:
        return "dtype", None, None
    a, b = a.detach().cpu(), b.detach().cpu()
    name, max_abs, ratio = compare_values(a, b, wide, tolerance)
    # The stride of an axis with one place, or of an empty tensor, leads nowhere.
    if name is None and strides and a.numel() > 0 and any(
            n > 1 and p != q for n, p, q in zip(a.shape, a.stride(), b.stride())):
        return "stride", max_abs, ratio
    return name, max_abs, ratio


def compare_values(a, b, wide, tolerance):
    """As PyTorch's `same` decides, but with NaN and infinity as classes of their own."""
    import torch
    if a.numel() == 0 or torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None, None, None
    usable = (isinstance(wide, torch.Tensor) and wide.shape == a.shape
              and wide.dtype in (torch.float64, torch.complex128) and a.dtype != wide.dtype)
    wide = wide.detach().cpu() if usable else None
    narrow = wide.to(a.dtype) if usable else a  # as it would look without errors on the way
    if a.is_complex():
        a, b, narrow = (torch.view_as_real(x.resolve_conj()) for x in (a, b, narrow))
        wide = torch.view_as_real(wide) if usable else None
    if a.is_floating_point():
        for name, test in (("nan", torch.isnan), ("inf", torch.isposinf), ("inf", torch.isneginf)):
            if bool(((test(a) != test(b)) & (test(narrow) != test(b))).any()):
                return name, None, None
    valid = torch.isfinite(a) & torch.isfinite(b) & torch.isfinite(narrow)
    x, y = a[valid].double(), b[valid].double()
    if x.numel() == 0:
        return None, None, None
    max_abs = float((x - y).abs().max())
    if not a.is_floating_point():
        return "mismatch", max_abs, None
    truth = wide[valid].double() if usable else x
    error, allowed = rms(truth - y), rms(truth - x)
    factor = 3.0 if a.dtype in (torch.float16, torch.bfloat16) or a.numel() < 1000 else 2.0
    ratio = error / max(factor * allowed + tolerance / 10.0, 1e-300)
    if not usable:  # nothing to weigh the difference with: what `allclose` says stands
        close = torch.allclose(x, y, rtol=tolerance, atol=tolerance)
        return (None if close else "mismatch"), max_abs, ratio
    return ("mismatch" if ratio > 1.0 else None), max_abs, ratio


def rms(difference):
    return math.sqrt(float((difference * difference).mean()))


def number(value):
    """JSON has no infinity; a difference that large is told by its class alone."""
    return value if value is not None and math.isfinite(value) else None


def judge(request, told):
    """Runs the candidate stage by stage; `told` is told each stage as it begins."""
    import torch
    told({"stage": "load"})
    script = Script(request["script"], request["bundle"])
    with torch.no_grad():
        told({"stage": "eager"})
        reference = script.run()
        accuracy = request["mode"] == "accuracy"
        wide = run_wide(script) if accuracy else None
        told({"stage": "compile"})
        given = {"options": request["options"]} if request["options"] else {}
        if request["backend"] == "inductor":
            import torch._inductor.config as inductor
            # Random operators must draw what eager draws, or every dropout would look wrong.
            inductor.fallback_random = accuracy
        torch._dynamo.config.verbose = True  # else the frames of the compiler are cut off
        program = torch.compile(script.module, backend=request["backend"],
                                dynamic=request["dynamic"], **given)
        result = script.run(program)
    told({"stage": "accuracy" if accuracy else "run"})
    numeric = compare(reference, result, wide, request["tolerance"],
                      request["strides"]) if accuracy else None
    return {"outcome": "fails" if numeric else "passes", "numeric": numeric,
            "error_class": "AccuracyError" if numeric else None,
            "message": numeric and f"output differs: {numeric['class']}"}


def describe(error, stage, cache):
    """The signature of an exception, without what differs between two sizes of one failure."""
    inner = error
    for _ in range(16):
        inner = getattr(inner, "inner_exception", None) or inner.__cause__ or inner
    frames = [(f.filename, f.name) for e in (error, inner)
              for f in traceback.extract_tb(e.__traceback__)]
    deepest = [(f.filename, f.name) for f in traceback.extract_tb(inner.__traceback__)]
    kind = type(error)
    if stage == "compile" and not re.match(r"torch\._(dynamo|inductor)\.exc", kind.__module__):
        stage = stage_of(frames, cache)
    memory = stage in ("compile", "run") and (
        isinstance(error, MemoryError) or "can't allocate memory" in str(error))
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return {"outcome": "invalid" if stage in ("load", "eager") else
            "memory" if memory else "fails",
            "stage": stage, "error_class": name, "message": first_lines(str(error)),
            "frames": ours(deepest) or ours(frames)}


def stage_of(frames, cache):
    """Whether a stack was compiling or already running what was compiled."""
    if any(path.startswith(cache) for path, _ in frames):
        return "run"
    compiling = any(path.endswith("torch/_dynamo/convert_frame.py") for path, _ in frames)
    return "compile" if compiling else "run"


def ours(frames):
    """The innermost frames inside torch, innermost first."""
    found = [f"torch/{path.rsplit('/torch/', 1)[1]}:{name}" for path, name in frames
             if "/torch/" in path]
    return found[::-1][:FRAMES]


def first_lines(text):
    """The line that names the failure, the operator below it, and the compiler's first error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept = lines[:2] if lines and lines[0].endswith("raised:") else lines[:1]
    kept += [line for line in lines[1:6] if line.startswith("target:")][:1]
    kept += [line for line in lines[1:] if ": error: " in line][:1]
    return normalise("\n".join(kept))[:1000]


KEPT = r"(?:aten|prims|torch|quantized|inductor)(?:\.|::)[\w.:]*|\b(?:u?int|b?float|complex)\d+\b"


def normalise(text):
    """Numbers to N, lists of them to one, addresses and folders away; operators stay."""
    text = re.sub(r"0x[0-9a-fA-F]+", "ADDRESS", text)
    text = re.sub(r"(?:/[\w.+-]+)+/", "", text)
    text = re.sub(rf"({KEPT})|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
                  lambda found: found[1] or "N", text)
    return re.sub(r"-?N(?:, ?-?N)+", "N", text)


def become_candidate(request, folder, output):
    """What a forked child changes of itself before anything of the candidate runs."""
    os.setsid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, to in ((null, 0), (output, 1), (output, 2)):
        os.dup2(fd, to)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(file=2, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)
    os.environ.update(TMPDIR=folder, TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "cache"))
    tempfile.tempdir = folder
    os.chdir(folder)
    import torch
    torch.set_num_threads(max(1, int(request["threads"])))


def must_start_over():
    """Did the worker use CUDA before it forked? Nothing on a GPU works in this process then.

    ASSAY_TORCH_SPAWN=1 asks for it whatever happened: slow, but no fork of a used interpreter.
    """
    import torch
    return torch.cuda._is_in_bad_fork() or os.environ.get("ASSAY_TORCH_SPAWN") == "1"


def start_over(request, folder, result, output):
    """The candidate in an interpreter of its own, which imports torch again."""
    for fd in (result, output):
        os.set_inheritable(fd, True)
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "--candidate",
                              json.dumps(request), folder, str(result), str(output)])


def candidate(request, folder, result, output):
    """The whole life of a child; never returns."""
    stage = "load"

    def told(note):
        nonlocal stage
        stage = note.get("stage", stage)
        os.write(result, json.dumps(note).encode() + b"\n")

    try:
        become_candidate(request, folder, output)
        verdict = judge(request, told)
    except BaseException as error:
        traceback.print_exc()
        verdict = describe(error, stage, os.path.join(folder, "cache"))
    try:
        told(verdict)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


# ---- The worker's side: starts children, watches them, replies.


def processes():
    """pid -> (parent, group, session, resident bytes, start, state) of all there are."""
    page = os.sysconf("SC_PAGE_SIZE")
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                fields = f.read().rsplit(b")", 1)[1].split()
        except OSError:
            continue  # ended meanwhile
        found[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]),
                            int(fields[21]) * page, int(fields[19]), fields[0])
    return found


class Child:
    """One candidate in flight: its process, pipes and folder."""

    def __init__(self, request, scratch):
        self.request = request
        self.folder = tempfile.mkdtemp(prefix="candidate_", dir=scratch)
        self.start = time.monotonic()
        self.status = self.killed = None  # wait status; "timeout" or "memory"
        self.detail = None
        self.known = {}  # pid -> start time, also of those that left the group
        self.notes, self.output = b"", b""
        self.result, result = os.pipe()
        self.out, output = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.result)
            os.close(self.out)
            if must_start_over():
                start_over(request, self.folder, result, output)
            candidate(request, self.folder, result, output)
        os.close(result)
        os.close(output)
        for fd in (self.result, self.out):
            os.set_blocking(fd, False)

    def members(self, table):
        """Processes of this candidate that live, those included that started a session."""
        grown = True
        mine = {p for p, row in table.items() if self.pid in (p, row[1], row[2])
                or self.known.get(p) == row[4]}
        while grown:
            more = {p for p, row in table.items() if row[0] in mine and p not in mine}
            mine |= more
            grown = bool(more)
        self.known.update((p, table[p][4]) for p in mine)
        return {p for p in mine if table[p][5] != b"Z"}

    def check(self, table):
        """Why the candidate must end now, or None."""
        mine = self.members(table)
        if time.monotonic() - self.start > self.request["timeout_s"]:
            return "timeout", f"longer than {self.request['timeout_s']} s"
        if len(mine) > self.request["processes"]:
            return "memory", f"more than {self.request['processes']} processes"
        if sum(table[p][3] for p in mine) > self.request["memory_mib"] << 20:
            return "memory", f"more than {self.request['memory_mib']} MiB"
        return None

    def kill(self):
        """Ends the group, then whoever left it, until nobody is there."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                if self.status is None:  # so young that it has no group of its own yet
                    os.kill(self.pid, signal.SIGKILL)
            others = self.members(processes()) - {self.pid}
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in others:
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
            if not others:
                return
            time.sleep(0.01)

    def read(self):
        """Takes what is in the pipes; the output's tail only, so that a flood costs nothing.

        Returns the pipes that were closed at the other end.
        """
        closed = []
        for fd in (self.result, self.out):
            for _ in range(64):
                try:
                    data = os.read(fd, OUTPUT_BYTES)
                except BlockingIOError:
                    break
                if not data:
                    closed.append(fd)
                    break
                if fd == self.out:
                    self.output = (self.output + data)[-OUTPUT_BYTES:]
                elif len(self.notes) < 16 * OUTPUT_BYTES:
                    self.notes += data
        return closed

    def show_stack(self):
        """Lets a candidate that hangs print where, before it is killed."""
        try:
            os.kill(self.pid, signal.SIGUSR1)
        except ProcessLookupError:
            return
        until = time.monotonic() + STACK_WAIT_S
        while time.monotonic() < until and b"most recent call first" not in self.output:
            self.read()
            time.sleep(0.01)
        time.sleep(0.02)
        self.read()

    def close(self):
        self.read()
        os.close(self.result)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def reply(self):
        text = self.output.decode(errors="replace")
        reply = {"id": self.request["id"], "outcome": "fails", "stage": "load",
                 "error_class": None, "message": None, "frames": [], "numeric": None,
                 "signal": None}
        final = False
        for line in self.notes.splitlines():
            try:
                note = json.loads(line)
            except ValueError:
                continue
            reply.update({k: v for k, v in note.items() if k in reply and k != "id"})
            final = final or "outcome" in note
        if not final or self.killed:
            self.explain(reply, text)
        reply["seconds"] = round(time.monotonic() - self.start, 3)
        reply["output"] = text
        return reply

    def explain(self, reply, text):
        """A child that ended without a verdict: killed by us, by a signal, or by itself."""
        before = reply["stage"] in ("load", "eager")
        stack = re.findall(r'^  File "([^"]+)", line \d+ in (\S+)', text, re.M)[::-1]
        if stack and not before and reply["stage"] == "compile":
            reply["stage"] = stage_of(stack, os.path.join(self.folder, "cache"))
        reply["frames"] = ours(stack)
        if self.killed:
            reply.update(outcome=self.killed, message=self.detail, numeric=None,
                         error_class={"timeout": "Timeout", "memory": "OutOfMemory"}[self.killed])
            return
        reply["outcome"] = "invalid" if before else "fails"
        if os.WIFSIGNALED(self.status):
            name = signal.Signals(os.WTERMSIG(self.status)).name
            reply.update(signal=name, error_class=name, message=f"ended by {name}")
            # Nobody here sends SIGKILL unnoted: it is the kernel, out of memory.
            if name == "SIGKILL" and not before:
                reply["outcome"] = "memory"
        else:
            code = os.WEXITSTATUS(self.status)
            reply.update(error_class="Exit", message=f"ended by exit {code}")


class Worker:
    def __init__(self, stdout):
        self.stdout = stdout
        self.scratch = tempfile.mkdtemp(prefix="assay_torch_")
        self.children = {}
        self.warm = set()
        self.pending = b""
        self.selector = selectors.DefaultSelector()

    def say(self, data):
        text = json.dumps(data, allow_nan=False, default=str).encode() + b"\n"
        while text:
            text = text[os.write(self.stdout, text):]

    def import_torch(self):
        # Threads that exist before a fork are missing after it: none may be started here.
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                     "TORCHINDUCTOR_COMPILE_THREADS"):
            os.environ[name] = "1"
        # A CUDA driver that was asked anything here is dead in every fork; NVML is not.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        os.environ.update(TMPDIR=self.scratch,
                          TORCHINDUCTOR_CACHE_DIR=os.path.join(self.scratch, "warm"))
        tempfile.tempdir = self.scratch
        import torch
        self.say({"ready": True, "torch": torch.__version__.split("+")[0],
                  "python": platform.python_version(), "pid": os.getpid()})

    def warm_up(self, backend):
        """What every candidate would do again: imports, the vector unit, the compiled headers.

        A trial in a child says which modules a compilation loads; nothing is compiled in here.
        """
        self.warm.add(backend)
        import torch._dynamo  # noqa: F401
        if backend == "inductor":
            from torch._inductor import cpu_vec_isa
            cpu_vec_isa.pick_vec_isa()
        notes = os.path.join(self.scratch, "modules")
        pid = os.fork()
        if pid == 0:
            self.trial(backend, notes)
        os.waitpid(pid, 0)
        try:
            with open(notes) as f:
                names = f.read().split()
        except OSError:
            return  # the trial failed, and said why; candidates will tell in their turn
        for name in names:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError:
                pass  # what the trial generated, not a part of torch
            except Exception as error:
                print(f"torch_worker: {name}: {error}", file=sys.stderr)
        if len(os.listdir("/proc/self/task")) > 1:
            print("torch_worker: importing torch started threads; candidates may hang",
                  file=sys.stderr)

    @staticmethod
    def trial(backend, notes):
        """Compiles something small in a child and notes the modules of torch that took."""
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.alarm(WARM_UP_S)
        try:
            import torch
            with torch.no_grad():
                torch.compile(lambda x: x.relu() + 1, backend=backend)(torch.ones(8))
            with open(notes, "w") as f:
                f.write("\n".join(n for n in sys.modules if n.startswith("torch.")))
        except BaseException as error:
            print(f"torch_worker: warm-up failed: {error}", file=sys.stderr)
        os._exit(0)

    def accept(self, line):
        try:
            request = json.loads(line)
            if not isinstance(request, dict) or "id" not in request:
                raise ValueError("no id")
        except ValueError as error:
            self.refuse(None, f"not a request: {error}")
            return
        unknown = set(request) - set(DEFAULTS) - {"id", "script"}
        request = {**DEFAULTS, **request}
        numbers = ("timeout_s", "memory_mib", "tolerance", "processes", "threads")
        if unknown:
            self.refuse(request["id"], f"unknown: {', '.join(sorted(unknown))}")
        elif not isinstance(request.get("script"), str):
            self.refuse(request["id"], "script: not a path")
        elif request["mode"] not in MODES:
            self.refuse(request["id"], f"mode: not one of {', '.join(MODES)}")
        elif bad := [n for n in numbers if type(request[n]) not in (int, float)
                     or not 0 < request[n] < math.inf]:
            self.refuse(request["id"], f"{bad[0]}: not a positive number")
        else:
            self.start(request)

    def refuse(self, number, message):
        self.say({"id": number, "outcome": "invalid", "stage": "request",
                  "error_class": "BadRequest", "message": message, "frames": [], "numeric": None,
                  "signal": None, "seconds": 0.0, "output": ""})

    def start(self, request):
        for name in ("script", "bundle"):  # the child works in a folder of its own
            request[name] = request[name] and os.path.abspath(request[name])
        like = "inductor" if request["backend"] == "inductor" else "eager"
        if like not in self.warm:
            self.warm_up(like)
        child = Child(request, self.scratch)
        self.children[child.pid] = child
        for fd in (child.result, child.out):
            self.selector.register(fd, selectors.EVENT_READ, child)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                self.children[pid].status = status

    def watch(self):
        """Limits and ends; called every tick while there are children."""
        self.reap()
        table = processes()
        for child in list(self.children.values()):
            reason = None if child.status is not None else child.check(table)
            if reason is not None:
                if reason[0] == "timeout":
                    child.show_stack()
                child.killed, child.detail = reason
            if reason is not None or child.status is not None:
                self.finish(child)
        self.end_strays(table)

    def end_strays(self, table):
        """Whoever left its candidate unseen became a child of ours when its parent ended."""
        known = {pid for child in self.children.values() for pid in child.known}
        for pid, row in table.items():
            if row[0] == os.getpid() and pid not in known and pid not in self.children:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def finish(self, child):
        child.kill()
        while child.status is None:
            self.reap()
            time.sleep(0.001)
        self.reap()
        for fd in (child.result, child.out):
            self.forget(fd)
        del self.children[child.pid]
        child.close()
        self.say(child.reply())

    def forget(self, fd):
        if fd in self.selector.get_map():
            self.selector.unregister(fd)

    def serve(self):
        self.selector.register(0, selectors.EVENT_READ, None)
        checked = 0.0
        while True:
            for key, _ in self.selector.select(TICK_S if self.children else None):
                if key.data is not None:
                    for fd in key.data.read():
                        self.forget(fd)
                    continue
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *lines, self.pending = (self.pending + data).split(b"\n")
                for line in lines:
                    if line.strip():
                        self.accept(line)
            self.reap()
            ended = any(child.status is not None for child in self.children.values())
            if ended or time.monotonic() - checked > TICK_S:
                self.watch()
                checked = time.monotonic()

    def close(self):
        for child in list(self.children.values()):
            child.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)


def main():
    if sys.argv[1:2] == ["--candidate"]:
        request, folder, result, output = sys.argv[2:]
        candidate(json.loads(request), folder, int(result), int(output))
    stdout = os.dup(1)
    os.set_inheritable(stdout, False)
    os.dup2(2, 1)  # nothing that torch prints may get between the replies
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    worker = Worker(stdout)
    try:
        worker.import_torch()
        worker.serve()
    finally:
        worker.close()


if __name__ == "__main__":
    main()
