#include "replay/bundle/repro.h"

#include <cmath>
#include <map>

#include "core/expr/eval.h"
#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/formats/json.h"

namespace assay {
namespace {

constexpr std::string_view kPrologue = R"python(
import json
import math
import operator
import sys
import zipfile
from math import inf, nan
from pathlib import Path

import torch
from torch import device

ARGUMENTS = [word for word in sys.argv[1:] if not word.startswith("--")]
BUNDLE = Path(ARGUMENTS[0]) if ARGUMENTS else Path(__file__).resolve().parent


def blob(sha256):
    """Bytes of one recorded storage, from the bundle or from the folder it was unpacked to."""
    name = "blobs/" + sha256
    if BUNDLE.is_dir():
        return (BUNDLE / name).read_bytes()
    with zipfile.ZipFile(BUNDLE) as bundle:
        return bundle.read(name)


def fill(count, dtype, seed, lo, hi):
    """Repeatable values in [lo, hi), the same on every machine; so are both parts of complex ones."""
    if dtype.is_complex:
        parts = fill(2 * count, torch.empty(0, dtype=dtype).real.dtype, seed, lo, hi)
        return torch.view_as_complex(parts.view(-1, 2))
    h = (torch.arange(count, dtype=torch.int64) * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    h = h ^ (h >> 15)
    h = (h * 2246822519) & 0xFFFFFFFF
    h = h ^ (h >> 13)
    return (lo + (hi - lo) * (h >> 8).double() / 2**24).to(dtype)


def place(name):
    """The device of that name, or the CPU where there is no such device."""
    if torch.device(name).type == "cuda" and not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device(name)


def storage(index, dtype, where):
    """Makes a storage once: tensors that shared memory when they were recorded still do."""
    if index in made:
        return made[index]
    row = STORAGES[index]
    size = row["bytes"]
    if "blob" in row and size > 0:
        flat = torch.frombuffer(bytearray(blob(row["blob"])), dtype=torch.uint8)
    else:
        flat = torch.zeros(size, dtype=torch.uint8)
    if "fill" in row or ("blob" not in row and dtype.is_floating_point):
        dtype = row.get("dtype", dtype)
        count = size // dtype.itemsize
        values = fill(count, dtype, *row.get("fill", (index, 0.0, 1.0)))
        flat[: count * dtype.itemsize] = values.view(torch.uint8)
    made[index] = flat.to(place(where)).untyped_storage()
    return made[index]


def tensor(index, dtype, size, stride, offset, where):
    made_of = storage(index, dtype, where)
    return torch.empty(0, dtype=dtype, device=place(where)).set_(made_of, offset, size, stride)


made = {}
)python";

constexpr std::string_view kEpilogue = R"python(

def attach(module):
    """Turns the classes nested in a module class into sub-modules, as a GraphModule has them."""
    for name, body in list(vars(type(module)).items()):
        if isinstance(body, type) and issubclass(body, torch.nn.Module):
            delattr(type(module), name)
            setattr(module, name, attach(body()))
    return module


def set_attribute(module, path, value):
    *parents, name = path.split(".")
    for parent in parents:
        if not hasattr(module, parent):
            setattr(module, parent, torch.nn.Module())
        module = getattr(module, parent)
    setattr(module, name, value)


def show(name, value):
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            show(f"{name}[{index}]", item)
    elif isinstance(value, torch.Tensor):
        layout = f"size={tuple(value.shape)} stride={value.stride()} offset={value.storage_offset()}"
        total = value.sum(dtype=torch.complex128 if value.is_complex() else torch.float64)
        print(f"{name}: {value.dtype} {layout} {value.device} sum={total.item():.17g}")
    else:
        print(f"{name}: {value!r}")


def differences(a, b, path="output"):
    """Lines that tell what a compiled program gives otherwise than eager execution."""
    if isinstance(a, (list, tuple)):
        return [line for i, (x, y) in enumerate(zip(a, b)) for line in differences(x, y, f"{path}[{i}]")]
    if not isinstance(a, torch.Tensor):
        return [] if a == b or a != a else [f"{path}: {a!r} eager, {b!r} compiled"]
    places = [n if size > 1 else None for n, size in zip(a.stride(), a.shape)]
    others = [n if size > 1 else None for n, size in zip(b.stride(), b.shape)]
    for what, x, y in (("dtype", a.dtype, b.dtype), ("size", tuple(a.shape), tuple(b.shape)),
                       ("stride", a.numel() and places, b.numel() and others)):
        if x != y:
            return [f"{path}: {what} {x} eager, {y} compiled"]
    tolerance = CHECK["tolerance"]
    if torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
        return []
    worst = (a.to(torch.complex128) - b.to(torch.complex128)).abs().max().item()
    return [f"{path}: values differ by up to {worst:g}"]


def run(program):
    made.clear()
    torch.manual_seed(0)
    with torch.no_grad():
        return program(*[value for _, value in INPUTS()])


if __name__ == "__main__":
    repro = attach(Repro())
    for path, value in ATTRIBUTES().items():
        set_attribute(repro, path, value)
    eager = run(repro)
    show("output", eager)
    if CHECK["compile"]:
        if CHECK["backend"] == "inductor":
            import torch._inductor.config

            torch._inductor.config.fallback_random = True  # random operators draw what eager drew
        compiled = run(torch.compile(repro, backend=CHECK["backend"], dynamic=CHECK["dynamic"],
                                     options=CHECK["options"] or None))
        found = differences(eager, compiled)
        print("\n".join(found) or "compiled: no difference")
        sys.exit(1 if found else 0)
)python";

/// CHECK as Python. The options come as JSON, whose constants Python spells otherwise.
auto print_check(const std::optional<CompileCheck>& given) -> std::string {
  const auto check = given.value_or(CompileCheck{});
  const auto* dynamic = check.dynamic.empty() ? "None" : check.dynamic == "true" ? "True" : "False";
  return fmt::format(
      "\nCHECK = {{\n    \"compile\": {},\n    \"backend\": {},\n    \"dynamic\": {},\n"
      "    \"tolerance\": {},\n    \"options\": json.loads({}),\n}}\n",
      given ? "\"--eager\" not in sys.argv" : "\"--compile\" in sys.argv",
      json_quote(check.backend), dynamic, json_number(check.tolerance), json_quote(check.options));
}

/// A number, text or truth value as Python source.
auto print_constant(const Expr& e) -> std::string {
  if (const auto value = e.as_bool()) return *value ? "True" : "False";
  if (const auto value = e.as_real())
    return std::isfinite(*value) ? json_number(*value) : fmt::format("{}", *value);
  return print_expr(e, ExprSpelling::python);
}

/// `(2, 3)`, `(2,)`, `()`
auto print_tuple(const Ints& values) -> std::string {
  return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
}

auto print_tensor(int storage, const RealMeta& meta) -> std::string {
  return fmt::format("tensor({}, torch.{}, {}, {}, {}, {})", storage, name(meta.dtype),
                     print_tuple(meta.sizes), print_tuple(meta.strides), meta.offset,
                     json_quote(to_string(meta.device)));
}

class ReproPrinter {
 public:
  ReproPrinter(const Capture& capture, const std::vector<std::string>& hashes,
               const std::optional<CompileCheck>& check)
      : capture_(capture), check_(check), hints_(capture.graph.env.hints()) {
    for (std::size_t i = 0; i < capture.storages.size(); ++i)
      storages_.push_back(describe(capture.storages[i], hashes[i]));
  }
  auto print() -> std::string;

 private:
  static auto describe(const StorageData& storage, const std::string& hash) -> std::string;
  auto print_input(const Node& node, const InputValue& value) -> std::string;
  auto print_symbolic(const SymbolicInput& input) -> std::string;
  auto print_header() const -> std::string;
  auto at_hints(const Dims& dims) const -> Result<Ints>;

  const Capture& capture_;
  const std::optional<CompileCheck>& check_;
  Binding hints_;
  std::vector<std::string> storages_;  ///< rows of STORAGES
  std::map<int, int> groups_;          ///< alias group of symbolic inputs -> row of STORAGES
};

auto ReproPrinter::describe(const StorageData& storage, const std::string& hash) -> std::string {
  auto row = fmt::format("{{\"bytes\": {}", storage.size_bytes);
  if (!hash.empty()) row += fmt::format(", \"blob\": \"{}\"", hash);
  if (const auto* fill = std::get_if<Fill>(&storage.content))
    row += fmt::format(", \"fill\": ({}, {}, {})", fill->seed, print_constant(Expr::real(fill->lo)),
                       print_constant(Expr::real(fill->hi)));
  if (storage.fill_dtype) row += fmt::format(", \"dtype\": torch.{}", name(*storage.fill_dtype));
  return row + "}";
}

auto ReproPrinter::at_hints(const Dims& dims) const -> Result<Ints> {
  Ints values;
  for (const auto& dim : dims) {
    ASSAY_TRY(const auto value, evaluate_int(dim, hints_));
    values.push_back(value);
  }
  return values;
}

auto ReproPrinter::print_symbolic(const SymbolicInput& input) -> std::string {
  const auto sizes = at_hints(input.meta.sizes);
  const auto strides = at_hints(input.meta.strides);
  const auto offset = evaluate_int(input.meta.offset, hints_);
  if (!sizes || !strides || !offset) return "None),  # its sizes have no hints";
  const RealMeta meta{input.meta.dtype, *sizes, *strides, *offset, 0, input.meta.device};
  const auto elems = required_elems(meta.sizes, meta.strides, meta.offset);
  if (!elems) return "None),  # its layout makes no sense at the hints";
  auto bytes = *elems * size_bytes(meta.dtype);
  if (input.storage_bytes)
    if (const auto given = evaluate_int(*input.storage_bytes, hints_)) bytes = *given;
  auto row = static_cast<int>(storages_.size());
  if (input.storage >= 0) row = groups_.emplace(input.storage, row).first->second;
  if (row == static_cast<int>(storages_.size()))
    storages_.push_back(describe({bytes, std::monostate{}, std::nullopt}, ""));
  return print_tensor(row, meta) + "),  # at the hints";
}

auto ReproPrinter::print_input(const Node& node, const InputValue& value) -> std::string {
  const auto start = fmt::format("        ({}, ", json_quote(node.name));
  if (const auto* scalar = std::get_if<Expr>(&value)) return start + print_constant(*scalar) + "),";
  if (const auto* tensor = std::get_if<RecordedTensor>(&value))
    return start + print_tensor(tensor->storage, tensor->meta) + "),";
  if (const auto* symbolic = std::get_if<SymbolicInput>(&value))
    return start + print_symbolic(*symbolic);
  if (const auto* text = std::get_if<std::string>(&value)) return start + json_quote(*text) + "),";
  if (std::holds_alternative<NoneArg>(value)) return start + "None),";
  // Not recorded: something of the claimed layout lets the graph run, whatever comes out.
  if (const auto* claim = node.claim.tensor())
    return start + print_symbolic({*claim, std::nullopt, -1});
  if (const auto* claim = node.claim.scalar())
    if (const auto hint = evaluate(*claim, hints_))
      return start + print_constant(*hint) + "),  # its hint";
  return start + "None),  # not recorded";
}

/// What comes from elsewhere goes into comments, one line each, so that it cannot be code.
auto ReproPrinter::print_header() const -> std::string {
  std::string text =
      "# A captured graph, replayed by PyTorch alone:  python repro.py [BUNDLE] [--compile | "
      "--eager]\n";
  const auto add = [&](std::string_view key, const std::string& value) {
    auto line = fmt::format("# {}: {}", key, value);
    for (char& c : line)
      if (c >= 0 && c < 0x20) c = ' ';
    text += line + "\n";
  };
  if (!capture_.source_path.empty())
    add("source", std::filesystem::path(capture_.source_path).filename().string());
  for (const auto& [key, value] : capture_.environment) add(key, value);
  return text;
}

auto ReproPrinter::print() -> std::string {
  std::string inputs;
  std::size_t index = 0;
  for (const auto& node : capture_.graph.nodes)
    if (node.kind == NodeKind::placeholder)
      inputs += print_input(node, capture_.inputs[index++]) + "\n";
  std::string attributes;
  for (const auto& [path, tensor] : capture_.attributes)
    attributes += fmt::format("        {}: {},\n", json_quote(path),
                              print_tensor(tensor.storage, tensor.meta));
  if (!attributes.empty()) attributes = "\n" + attributes + "    ";
  std::string rows;
  for (const auto& row : storages_) rows += "    " + row + ",\n";
  auto graph = capture_.graph;
  graph.class_name = "Repro";
  const auto program =
      print_graph(graph, {.header = false, .claims = true, .origins = true, .liveness = true});
  // Operators that Inductor adds to PyTorch are known only after this import.
  const auto* imports =
      program.contains("torch.ops.prims.") ? "\nimport torch._inductor.inductor_prims\n" : "";
  return fmt::format(
      "{}{}{}{}\nSTORAGES = [\n{}]\n\n\ndef INPUTS():\n    return [\n{}    ]\n\n\n"
      "def ATTRIBUTES():\n    return {{{}}}\n\n\n{}{}",
      print_header(), kPrologue, imports, print_check(check_), rows, inputs, attributes, program,
      kEpilogue);
}

}  // namespace

auto print_repro(const Capture& capture, const std::vector<std::string>& hashes,
                 const std::optional<CompileCheck>& check) -> std::string {
  return ReproPrinter(capture, hashes, check).print();
}

}  // namespace assay
