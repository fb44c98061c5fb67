// Attention that no library takes: products by calls, and a kernel that makes weights of scores.
// Scores are in memory.
#include <cmath>
#include <limits>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

/// Softmax of rows, scaled before. Parameters: `scores` of float32, `weights`; `sums`, of which row
/// i's is at i / queries / heads * sum_batch + i / queries % heads * sum_head + i % queries *
/// sum_query; `rows`, `columns`, `queries` (of a head), `heads`; `scale`.
class WeightsMaker : KernelWords {
 public:
  WeightsMaker(std::string name, DType dtype, bool is_causal, CallKernels& kernels)
      : dtype_(dtype), is_causal_(is_causal) {
    kernel().name = std::move(name);
    kernel().heuristic = "cpp";
    exact_axis("row", TileAxis::Kind::parallel, "rows", kernels);
    exact_axis("column", TileAxis::Kind::reduction, "columns", kernels);
  }

  auto run() -> std::shared_ptr<const TileKernel> {
    const auto row = b_.add(TileIndex{0}, {}, DType::int64, 1);
    const auto column = b_.add(TileIndex{1}, {}, DType::int64, 2);
    const auto at = of(Op::add, of(Op::mul, row, number("columns")), column);
    const auto queries = number("queries");
    const auto query = of(Op::remainder, row, queries);
    auto score = of(Op::mul, load("scores", DType::float32, at, kNoTile), real("scale"));
    if (is_causal_)
      score = select(of(Op::le, column, query), score,
                     b_.add(TileConstant{-std::numeric_limits<double>::infinity()}, {},
                            DType::float32, 0));
    const auto largest = b_.reduce(TileCombine::max, 1, {score})[0];
    const auto power = b_.compute(Op::exp, {of(Op::sub, score, largest)});
    const auto sum = b_.reduce(TileCombine::sum, 1, {power})[0];
    store("weights", dtype_, at, of(Op::divide, power, sum), kNoTile);
    const auto outer = of(Op::quotient, row, queries);
    const auto heads = number("heads");
    const auto placed = [&](TileId i, const char* stride) {
      return of(Op::mul, i, number(stride));
    };
    const auto sum_at =
        of(Op::add,
           of(Op::add, placed(of(Op::quotient, outer, heads), "sum_batch"),
              placed(of(Op::remainder, outer, heads), "sum_head")),
           placed(query, "sum_query"));
    store("sums", DType::float32, sum_at, of(Op::add, b_.compute(Op::log, {sum}), largest),
          kNoTile);
    return std::make_shared<TileKernel>(std::move(kernel()));
  }

 private:
  void exact_axis(const char* name, TileAxis::Kind kind, const char* count, CallKernels& kernels) {
    const auto param = b_.scalar_param(count);
    const auto symbol = kernels.symbol(count);
    kernel().params[param].symbol = symbol;
    kernel().axes.push_back({.name = name,
                             .kind = kind,
                             .extent = symbol,
                             .block = Expr(1),
                             .max_block = 1024,
                             .exact = true});
  }

  DType dtype_;
  bool is_causal_;
};

class AttentionCall : CallLaunches {
 public:
  AttentionCall(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
      : CallLaunches(call, bound, kernels) {}

  auto expand() -> bool {
    if (call().row->name() != "aten._scaled_dot_product_flash_attention_for_cpu.default")
      return false;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto* operand = call().args[i].real();
      if (operand == nullptr || operand->meta.rank() != 4) return false;
      operands_.push_back(operand->meta);
    }
    const auto& query = operands_[0];
    batch_ = query.sizes[0];
    heads_ = query.sizes[1];
    shared_ = operands_[1].sizes[1];
    queries_ = query.sizes[2];
    keys_ = operands_[1].sizes[2];
    const bool is_half = query.dtype == DType::float16 || query.dtype == DType::bfloat16;
    if (query.device.type != "cuda" || !is_half || numel(query) == 0 || keys_ == 0 ||
        numel(operands_[2]) == 0 || heads_ % shared_ != 0 || !call().args[5].is_none() ||
        real(3, 0) != 0)
      return false;
    const auto count = batch_ * heads_ * queries_ * keys_;
    const auto scores = add_buffer(bound(), "scores", DType::float32, count);
    const auto weights = add_buffer(bound(), "weights", query.dtype, count);
    const auto& results = *call().result.list();
    multiply("aten.bmm.dtype", {argument(0), query}, {argument(1), turned(operands_[1])},
             {scores, between(DType::float32)});
    make_weights(scores, weights, results[1].real()->meta);
    multiply("aten.bmm.default", {weights, between(query.dtype)}, {argument(2), operands_[2]},
             {result(0), results[0].real()->meta});
    return true;
  }

 private:
  struct Operand {
    std::size_t buffer;
    RealMeta meta;  ///< [batch, heads, rows, columns]
  };
  [[nodiscard]] auto real(std::size_t i, double fallback) const -> double {
    const auto* scalar = call().args[i].scalar();
    return scalar == nullptr ? fallback : scalar->as_number().value_or(fallback);
  }
  static auto turned(RealMeta meta) -> RealMeta {
    std::swap(meta.sizes[2], meta.sizes[3]);
    std::swap(meta.strides[2], meta.strides[3]);
    return meta;
  }
  /// Of scores or weights.
  [[nodiscard]] auto between(DType dtype) const -> RealMeta {
    RealMeta meta = operands_[0];
    meta.dtype = dtype;
    meta.sizes = {batch_, heads_, queries_, keys_};
    meta.strides = contiguous_strides(meta.sizes);
    meta.offset = 0;
    meta.storage_bytes = numel(meta) * size_bytes(dtype);
    return meta;
  }

  /// As few calls as strides allow: of all heads, of a batch's, or of those that share keys.
  void multiply(const char* name, const Operand& a, const Operand& b, const Operand& out) {
    const auto is_merged = [](const Operand& one) {
      return one.meta.sizes[0] == 1 ||
             one.meta.strides[0] == one.meta.strides[1] * one.meta.sizes[1];
    };
    const bool is_shared = heads_ != shared_;
    const bool is_one = !is_shared && is_merged(a) && is_merged(b) && is_merged(out);
    const auto group = heads_ / shared_;
    const auto batches = is_one ? 1 : batch_;
    const auto parts = is_shared ? shared_ : 1;
    for (std::int64_t i = 0; i < batches; ++i)
      for (std::int64_t part = 0; part < parts; ++part) {
        const auto matrices = [&](const Operand& one) {
          auto meta = one.meta;
          const bool repeats = is_shared && meta.sizes[1] == shared_;
          const auto heads = repeats ? part : part * group;
          meta.offset += i * meta.strides[0] + heads * meta.strides[1];
          const auto count = is_one ? batch_ * heads_ : is_shared ? group : heads_;
          meta.sizes = {count, meta.sizes[2], meta.sizes[3]};
          meta.strides = {repeats ? 0 : meta.strides[1], meta.strides[2], meta.strides[3]};
          return meta;
        };
        BoundCall made;
        made.op = call().op;
        made.row = kernels().row(name);
        for (const auto* one : {&a, &b}) made.args.push_back(tensor(matrices(*one)));
        if (made.row->schema.params.size() > 2) made.args.push_back({out.meta.dtype});
        made.result = tensor(matrices(out));
        made.buffers = {a.buffer, b.buffer, out.buffer};
        made.arg_tensors = 2;
        use(made.buffers);
        bound().steps.emplace_back(std::move(made));
      }
  }
  static auto tensor(RealMeta meta) -> Datum {
    Tensor made;
    made.meta = std::move(meta);
    return {std::move(made)};
  }

  void make_weights(std::size_t scores, std::size_t weights, const RealMeta& sums) {
    const bool is_causal = real(4, 0) != 0;
    const auto dtype = operands_[0].dtype;
    const auto name =
        fmt::format("attention_weights_{}{}", assay::name(dtype), is_causal ? "_causal" : "");
    const auto& kernel = kernels().kernel(name, [&](const Expr&) {
      return WeightsMaker(name, dtype, is_causal, kernels()).run();
    });
    auto launch = start(kernel);
    give(launch, kernel, "scores", scores, 0, size_bytes(DType::float32));
    give(launch, kernel, "weights", weights, 0, size_bytes(dtype));
    give(launch, kernel, "sums", result(1), sums.offset, size_bytes(DType::float32));
    const auto rows = batch_ * heads_ * queries_;
    const auto usual = 1 / std::sqrt(static_cast<double>(operands_[0].sizes[3]));
    put(launch, kernel,
        {{"rows", rows},
         {"columns", keys_},
         {"queries", queries_},
         {"heads", heads_},
         {"sum_batch", sums.strides[0]},
         {"sum_head", sums.strides[1]},
         {"sum_query", sums.strides[2]}},
        {{"scale", real(6, usual)}});
    launch.extents = launch.blocks = {rows, keys_};
    launch.blocks[0] = 1;
    launch.grid = {rows, 1, 1};
    launch.scalars[kernels().symbol("rows")] = Expr(rows);
    launch.scalars[kernels().symbol("columns")] = Expr(keys_);
    bound().steps.emplace_back(std::move(launch));
  }

  std::vector<RealMeta> operands_;
  std::int64_t batch_ = 0, heads_ = 0, shared_ = 0, queries_ = 0, keys_ = 0;
};

}  // namespace

auto expand_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return AttentionCall(call, bound, kernels).expand();
}

}  // namespace assay
