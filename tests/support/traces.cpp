#include "tests/support/traces.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace assay::testing {
namespace {

template <class T>
auto must(Result<T> result) -> T {
  if (result) return *std::move(result);
  std::fprintf(stderr, "trace: %s\n", result.error().message.c_str());
  std::abort();
}

struct SmallNode {
  const char* name;
  const char* kind;
  const char* target;
  const char* sizes;
  const char* real;
  std::int64_t storage, bytes;
  std::vector<int> reads;
};

auto add_node(TraceWriter& writer, TraceId graph, std::int64_t seq, const SmallNode& one)
    -> TraceId {
  NodeRow row;
  row.graph_id = graph;
  row.seq = seq;
  row.kind = one.kind;
  row.name = one.name;
  row.target = one.target;
  row.call = std::string(one.target) + "(...)";
  row.file = "model.py";
  row.line = 40 + seq;
  row.function = "forward";
  row.code = "y = f(x)";
  row.module = seq < 3 ? "net.head" : "net.tail";
  row.status = std::string(one.name) == "pad" ? "failed" : "ran";
  const auto id = must(writer.add(row));
  if (*one.sizes == '\0') return id;
  must(writer.add(ClaimRow{id, "", "float32", one.sizes, "[32, 1]", "0", "cpu", ""}));
  must(writer.add(ObservationRow{.node_id = id,
                                 .leaf = "",
                                 .source = "run",
                                 .dtype = "float32",
                                 .sizes = one.real,
                                 .strides = "[32, 1]",
                                 .storage_offset = 0,
                                 .device = "cpu",
                                 .storage_id = one.storage,
                                 .storage_bytes = one.bytes,
                                 .sum = {},
                                 .abs_sum = {},
                                 .value = ""}));
  return id;
}

void add_rest(TraceWriter& writer, TraceId run, TraceId graph, TraceId pad, TraceId mul) {
  FindingRow lie{
      .run_id = run,
      .node_id = pad,
      .leaf = "",
      .kind = "storage-too-small",
      .blame = "root",
      .root_node_id = {},
      .claimed = "f32[72, 32]",
      .observed = "8704 bytes",
      .witness = "s77 = 68",
      .message = "the layout needs 9216 bytes, its storage has 8704 (512 bytes too small)",
      .severity = "finding",
      .title = "the claimed layout runs past its storage"};
  lie.graph_id = graph;
  must(writer.add(lie));
  lie.node_id = mul;
  lie.blame = "inherited";
  lie.kind = "wrong-size";
  lie.message = "follows pad";
  must(writer.add(lie));
  must(writer.add(SymbolRow{graph, "s77", "backed", "2", "int_oo", "68", "L['x'].size()[0]"}));
  must(writer.add(GuardRow{graph, 0, "s77 >= 2", "s77 >= 2", "model.py:1", true}));
  must(writer.add(GuardRow{graph, 1, "Eq(Mod(s77, 8), 0)", "s77 % 8 == 0", "model.py:2", false}));
  must(writer.add(BindingRow{run, "s77", "68", "x"}));
  ProofRow proof;
  proof.run_id = run;
  proof.graph_id = graph;
  proof.node_id = pad;
  proof.kind = "extent";
  proof.condition = "32*s77 >= 32*(s77 + PythonMod(-s77, 8))";
  proof.verdict = "refuted";
  proof.tier = "search";
  proof.witness = "s77 = 9";
  must(writer.add(proof));
  must(writer.add(EnvironmentRow{run, "torch", "2.15"}));
  must(writer.add(ProblemRow{run, "unchecked", "no row for my.op", 3}));
  CompilationRow compilation{run,       "0/0",      0, {},  "restarted", "graph break",
                             "forward", "model.py", 1, 0.5, 2,           1};
  must(writer.add(compilation));
  compilation.attempt = 1;
  compilation.outcome = "compiled";
  must(writer.add(compilation));
  const auto first = must(writer.add(
      StepRow{run, 0, {}, "original", "00", 5, "same", "debug: lie", 0, 0.1, "", "a\nb\nc\n"}));
  must(writer.add(StepRow{run, 1, first, "calls", "01", 2, "passes", "", 0.2, 0.1, "", "a\nb\n"}));
  must(writer.add(
      StepRow{run, 2, first, "calls", "02", 1, "same", "debug: lie", 0.4, 0.1, "", "b\n"}));
}

/// `buf0` and `buf2` share a place, `buf1` lives beside both: 768 bytes where 768 live at once.
void add_compiled(TraceWriter& writer, TraceId run, TraceId relu, TraceId pad) {
  const auto program = must(writer.add(GraphRow{run,
                                                {},
                                                "compiled program",
                                                "program",
                                                "",
                                                "buf0 = empty()\nfused_relu_0(x, buf0)\n"
                                                "buf1 = torch.ops.pad(buf0)\n"}));
  const auto kernel =
      must(writer.add(KernelRow{program, "fused_relu_0", "", "kernel fused_relu_0\n", "relu"}));
  const auto first = must(writer.add(LaunchRow{program, 0, "kernel", "fused_relu_0", kernel, 2,
                                               "1 x 1 x 1", "68 x 32", "fused_relu_0(x, buf0)"}));
  must(writer.add(
      LaunchRow{program, 1, "call", "aten.pad", {}, 3, "", "", "buf1 = torch.ops.pad(buf0)"}));
  must(writer.add(LineLinkRow{program, 2, relu}));
  must(writer.add(LineLinkRow{program, 3, pad}));
  const auto buffer =
      must(writer.add(BufferRow{program, "buf0", "temporary", "float32", 256, 0, 0, 1, ""}));
  must(writer.add(BufferRow{program, "buf1", "temporary", "float32", 512, 256, 1, 3, ""}));
  must(writer.add(BufferRow{program, "buf2", "temporary", "float32", 128, 0, 2, 3, "buf0"}));
  must(writer.add(BufferRow{program, "out", "output", "float32", 64, {}, 3, 3, ""}));
  must(writer.add(LaunchBufferRow{first, 0, buffer, "writes"}));
  must(writer.add(MemoryPlanRow{program, 768, 768, 896, 4, "s77 = 68"}));
  must(writer.add(DecisionRow{program, 0, relu, "store", "accepted", "relu", "aten.relu.default",
                              "somebody reads it"}));
  must(writer.add(DecisionRow{program, 1, {}, "reuse", "refused", "buf1", "", "nothing fits"}));
  must(writer.add(
      StageVerdictRow{run, {}, 0, "0/0", "joint graph", "differs", 5, 2, 3.5, "", "s77 = 68", 7}));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  static std::atomic<int> count = 0;
  path_ = std::filesystem::temp_directory_path() /
          fmt::format("assay_test_{}_{}", ::getpid(), count.fetch_add(1));
  std::filesystem::create_directories(path_);
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_small_trace(const std::filesystem::path& path, bool finalise) {
  auto writer = must(TraceWriter::create(path));
  const auto run =
      must(writer.add(RunRow{"debug", "x.json", "capture json", "", "assay 0", "2000-01-01"}));
  const auto graph = must(writer.add(GraphRow{
      run,
      {},
      "GraphModule",
      "inf",
      "00ff",
      "def forward(self, x: \"f32[s77, 32]\", y: \"f32[4]\"):\n    relu: \"f32\" = aten.relu(x)\n"
      "    pad = aten.as_strided(relu)\n"}));
  const std::vector<SmallNode> nodes = {
      {"x", "placeholder", "x", "[s77, 32]", "[68, 32]", 0, 8704, {}},
      {"y", "placeholder", "y", "[4, 32]", "[4, 32]", 1, 512, {}},
      {"relu", "call_function", "aten.relu.default", "[s77, 32]", "[68, 32]", 2, 8704, {0}},
      {"pad",
       "call_function",
       "aten.as_strided.default",
       "[s77 + PythonMod(-s77, 8), 32]",
       "[72, 32]",
       3,
       9216,
       {2}},
      {"mul",
       "call_function",
       "aten.mul.Tensor",
       "[s77 + PythonMod(-s77, 8), 32]",
       "[72, 32]",
       4,
       9216,
       {3}},
      {"add", "call_function", "aten.add.Tensor", "[4, 32]", "[4, 32]", 5, 512, {1, 1}},
      {"output", "output", "output", "", "", 0, 0, {4, 5}},
  };
  std::vector<TraceId> ids;
  for (const auto& node : nodes) ids.push_back(add_node(writer, graph, std::ssize(ids), node));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t k = 0; k < nodes[i].reads.size(); ++k)
      must(writer.add(OperandRow{ids[i], static_cast<std::int64_t>(k),
                                 ids[static_cast<std::size_t>(nodes[i].reads[k])]}));
  add_rest(writer, run, graph, ids[3], ids[4]);
  add_compiled(writer, run, ids[2], ids[3]);
  if (!finalise) {
    if (!writer.commit()) std::abort();
    return;
  }
  if (!writer.finish_run(run, 1, 1) || !writer.finalise()) std::abort();
}

void write_run_trace(const std::filesystem::path& path) {
  auto writer = must(TraceWriter::create(path));
  const auto run =
      must(writer.add(RunRow{"run", "log", "torch trace", "", "assay 0", "2000-01-01"}));
  const auto graph = must(writer.add(GraphRow{run, {}, "Joint", "stage", "00", "relu\npad\n"}));
  const auto relu = add_node(
      writer, graph, 0, {"relu", "call_function", "aten.relu", "[4, 32]", "[4, 32]", 0, 512, {}});
  const auto pad = add_node(
      writer, graph, 1, {"mul", "call_function", "aten.mul", "[4, 32]", "[4, 32]", 1, 512, {0}});
  must(writer.add(TensorValuesRow{relu, {}, "", "graph", "f32[4, 32][32, 1]cpu", "0, 0.5, 1"}));
  const auto first =
      must(writer.add(GraphRow{run, {}, "0/0 forward", "program", "", "fused_relu_0(x, buf0)\n"}));
  const auto second = must(writer.add(
      GraphRow{run, {}, "0/1 forward", "program", "", "y = buf0\nfused_pad_0(buf0, buf1)\n"}));
  const auto good = must(writer.add(KernelRow{first, "fused_relu_0", "triton", "one\n", "relu"}));
  const auto bad =
      must(writer.add(KernelRow{second, "fused_pad_0", "triton", "first\nsecond\n", "mul"}));
  const auto right = must(writer.add(
      LaunchRow{first, 0, "kernel", "fused_relu_0", good, 1, "", "", "fused_relu_0(x, buf0)"}));
  const auto wrong = must(writer.add(
      LaunchRow{second, 0, "kernel", "fused_pad_0", bad, 2, "", "", "fused_pad_0(buf0, buf1)"}));
  must(writer.add(LineLinkRow{first, 1, relu}));
  must(writer.add(LineLinkRow{second, 2, pad}));
  must(writer.add(
      TensorValuesRow{{}, right, "buf0", "program", "f32[4, 32][32, 1]cuda", "0, 0.25, 1"}));
  must(writer.add(
      TensorValuesRow{{}, wrong, "buf1", "program", "f32[4, 32][32, 1]cuda", "nan, nan"}));
  FindingRow finding;
  finding.run_id = run;
  finding.kind = "out-of-bounds";
  finding.blame = "root";
  finding.severity = "finding";
  finding.title = "an access lies outside of its storage";
  finding.message = "element 7 needs 32 bytes, the storage has 28 of buf1";
  finding.graph_id = second;
  finding.launch_id = wrong;
  finding.line = 2;
  finding.kernel_line = 2;
  must(writer.add(finding));
  if (!writer.finish_run(run, 1, 1) || !writer.finalise()) std::abort();
}

void write_generated_trace(const std::filesystem::path& path, std::int64_t nodes) {
  auto writer = must(TraceWriter::create(path));
  const auto run =
      must(writer.add(RunRow{"debug", "generated", "generated", "", "assay 0", "2000-01-01"}));
  const auto graph = must(writer.add(GraphRow{run, {}, "Generated", "fwd", "00", ""}));
  std::uint64_t state = 88172645463325252U;  // xorshift: the same graph everywhere
  const auto random = [&](std::int64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::int64_t>(state % static_cast<std::uint64_t>(below));
  };
  constexpr const char* kTargets[] = {"aten.add.Tensor", "aten.mm.default", "aten.relu.default",
                                      "aten.view.default"};
  for (std::int64_t i = 0; i < nodes; ++i) {
    NodeRow row;
    row.graph_id = graph;
    row.seq = i;
    row.capture_id = i;
    row.kind = "call_function";
    row.target = kTargets[i % 4];
    row.name = fmt::format("{}_{}",
                           i % 4 == 0   ? "add"
                           : i % 4 == 1 ? "mm"
                           : i % 4 == 2 ? "relu"
                                        : "view",
                           i);
    row.module = fmt::format("layers.{}.block.{}", i * 24 / nodes, i / 200);
    row.status = "ran";
    const auto id = must(writer.add(row));
    const auto reads = i == 0 ? 0 : 1 + random(3);
    for (std::int64_t k = 0; k < reads; ++k) {
      // Mostly near, now and then from far away: what a backward graph looks like.
      const auto far = random(20) == 0 ? random(i) + 1 : std::min<std::int64_t>(random(12) + 1, i);
      must(writer.add(OperandRow{id, k, id - far}));
    }
    must(writer.add(ClaimRow{id, "", "float32", "[s0, 64]", "[64, 1]", "0", "cpu", ""}));
    if (i % 5000 == 4999) {
      FindingRow lie;
      lie.run_id = run;
      lie.node_id = id;
      lie.graph_id = graph;
      lie.kind = "wrong-stride";
      lie.blame = "root";
      lie.severity = "finding";
      lie.message = "generated";
      must(writer.add(lie));
    }
    if (i % 100'000 == 99'999 && !writer.commit()) std::abort();
  }
  if (!writer.finish_run(run, 1, 1) || !writer.finalise()) std::abort();
}

}  // namespace assay::testing
