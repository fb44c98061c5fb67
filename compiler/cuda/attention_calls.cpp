// Attention of halves, and its gradients, that no library takes: products by calls, and kernels
// between. Scores are in memory.
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

/// Kernels over rows of scores: of a batch, a head, a query. Numbers: `rows`, `columns`, `queries`
/// (of a head), `heads`; of a tensor by rows NAME_batch, NAME_head, NAME_query.
class RowsMaker : protected KernelWords {
 public:
  explicit RowsMaker(std::string name, CallKernels& kernels, bool is_reduced = true) {
    kernel().name = std::move(name);
    kernel().heuristic = "cpp";
    exact_axis("row", TileAxis::Kind::parallel, "rows", kernels);
    exact_axis("column", is_reduced ? TileAxis::Kind::reduction : TileAxis::Kind::parallel,
               "columns", kernels);
    row_ = b_.add(TileIndex{0}, {}, DType::int64, 1);
    column_ = b_.add(TileIndex{1}, {}, DType::int64, 2);
    const auto queries = number("queries"), heads = number("heads");
    query_ = of(Op::remainder, row_, queries);
    const auto outer = of(Op::quotient, row_, queries);
    batch_ = of(Op::quotient, outer, heads);
    head_ = of(Op::remainder, outer, heads);
    at_ = of(Op::add, of(Op::mul, row_, number("columns")), column_);
  }

 protected:
  /// Where a tensor's row is.
  auto row_of(const std::string& tensor) -> TileId {
    const auto placed = [&](TileId i, const char* stride) {
      return of(Op::mul, i, number(tensor + stride));
    };
    return of(Op::add, of(Op::add, placed(batch_, "_batch"), placed(head_, "_head")),
              placed(query_, "_query"));
  }
  /// The scaled score, of what is not seen the lowest there is.
  auto score(bool is_causal) -> TileId {
    const auto made = of(Op::mul, load("scores", DType::float32, at_, kNoTile), real("scale"));
    if (!is_causal) return made;
    return select(of(Op::le, column_, query_), made,
                  real(-std::numeric_limits<double>::infinity()));
  }
  auto finished() -> std::shared_ptr<const TileKernel> {
    return std::make_shared<TileKernel>(std::move(kernel()));
  }

  TileId row_ = kNoTile, column_ = kNoTile, at_ = kNoTile;
  TileId batch_ = kNoTile, head_ = kNoTile, query_ = kNoTile;

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
};

/// `weights`, the softmax of `scores` (float32), and `sums`, the logarithms of what they are
/// divided by.
class WeightsMaker : RowsMaker {
 public:
  using RowsMaker::RowsMaker;
  auto run(DType dtype, bool is_causal) -> std::shared_ptr<const TileKernel> {
    const auto scaled = score(is_causal);
    const auto largest = b_.reduce(TileCombine::max, 1, {scaled})[0];
    const auto power = b_.compute(Op::exp, {of(Op::sub, scaled, largest)});
    const auto sum = b_.reduce(TileCombine::sum, 1, {power})[0];
    store("weights", dtype, at_, of(Op::divide, power, sum), kNoTile);
    store("sums", DType::float32, row_of("sums"), of(Op::add, b_.compute(Op::log, {sum}), largest),
          kNoTile);
    return finished();
  }
};

/// `share` of a row, the sum of the products of `gradient` and `out`.
class ShareMaker : RowsMaker {
 public:
  using RowsMaker::RowsMaker;
  auto run(DType dtype) -> std::shared_ptr<const TileKernel> {
    const auto element = [&](const std::string& tensor) {
      const auto at = of(Op::add, row_of(tensor), column_);
      return as(load(tensor, dtype, at, kNoTile), DType::float32);
    };
    const auto product = of(Op::mul, element("gradient"), element("out"));
    store("share", DType::float32, row_, b_.reduce(TileCombine::sum, 1, {product})[0], kNoTile);
    return finished();
  }
};

/// `weights` again, from `scores` and `sums`, and `slopes` of the scores, from `towards` (what each
/// weight would add) and `share`.
class SlopesMaker : RowsMaker {
 public:
  SlopesMaker(const std::string& name, CallKernels& kernels) : RowsMaker(name, kernels, false) {}
  auto run(DType dtype, bool is_causal) -> std::shared_ptr<const TileKernel> {
    const auto read = [&](const char* name, TileId at) {
      return load(name, DType::float32, at, kNoTile);
    };
    const auto weight =
        b_.compute(Op::exp, {of(Op::sub, score(is_causal), read("sums", row_of("sums")))});
    const auto slope = of(Op::mul, weight, of(Op::sub, read("towards", at_), read("share", row_)));
    store("weights", dtype, at_, weight, kNoTile);
    store("slopes", dtype, at_, of(Op::mul, slope, real("scale")), kNoTile);
    return finished();
  }
};

class AttentionCall : CallLaunches {
 public:
  AttentionCall(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
      : CallLaunches(call, bound, kernels) {}

  auto expand() -> bool {
    const auto name = call().row->name();
    if (name == "aten._scaled_dot_product_flash_attention_for_cpu.default") return forward();
    if (name == "aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
      return backward();
    return false;
  }

 private:
  struct Operand {
    std::size_t buffer;
    RealMeta meta;  ///< [batch, heads, rows, columns]
  };

  auto forward() -> bool {
    if (!find(0, {.dropout = 3, .causal = 4, .mask = 5, .scale = 6})) return false;
    const auto& results = *call().result.list();
    const auto scores = buffer("scores", DType::float32), weights = buffer("weights", dtype_);
    multiply("aten.bmm.dtype", query_, turned(key_), scores);
    const auto& sums = results[1].real()->meta;
    launch("attention_weights", keys_,
           [&](const std::string& made) {
             return WeightsMaker(made, kernels()).run(dtype_, is_causal_);
           },
           {{"scores", scores.buffer}, {"weights", weights.buffer}}, {{"sums", {result(1), sums}}});
    multiply("aten.bmm.default", weights, value_, {result(0), results[0].real()->meta});
    return true;
  }

  /// gradient, query, key, value, out, sums.
  auto backward() -> bool {
    if (!find(1, {.dropout = 6, .causal = 7, .mask = 8, .scale = 9}) || heads_ != shared_)
      return false;
    const auto given = [&](std::size_t i) {
      return Operand{argument(i), call().args[i].real()->meta};
    };
    const auto written = [&](std::size_t i) {
      return Operand{result(i), (*call().result.list())[i].real()->meta};
    };
    const auto gradient = given(0), out = given(4), sums = given(5);
    if (gradient.meta.strides[3] != 1 || out.meta.strides[3] != 1 ||
        gradient.meta.dtype != dtype_ || out.meta.dtype != dtype_ ||
        sums.meta.dtype != DType::float32)
      return false;
    const auto scores = buffer("scores", DType::float32),
               towards = buffer("towards", DType::float32);
    const auto weights = buffer("weights", dtype_), slopes = buffer("slopes", dtype_);
    const auto share = add_buffer(bound(), "share", DType::float32, batch_ * heads_ * queries_);
    multiply("aten.bmm.dtype", query_, turned(key_), scores);
    launch("attention_share", out.meta.sizes[3],
           [&](const std::string& made) { return ShareMaker(made, kernels()).run(dtype_); },
           {{"share", share}}, {{"gradient", gradient}, {"out", out}});
    multiply("aten.bmm.dtype", gradient, turned(value_), towards);
    launch("attention_slopes", keys_,
           [&](const std::string& made) {
             return SlopesMaker(made, kernels()).run(dtype_, is_causal_);
           },
           {{"scores", scores.buffer},
            {"towards", towards.buffer},
            {"share", share},
            {"weights", weights.buffer},
            {"slopes", slopes.buffer}},
           {{"sums", sums}});
    multiply("aten.bmm.default", slopes, key_, written(0));
    multiply("aten.bmm.default", turned(slopes), query_, written(1));
    multiply("aten.bmm.default", turned(weights), gradient, written(2));
    return true;
  }

  struct Positions {
    std::size_t dropout, causal, mask, scale;
  };
  /// Reads query, key, value from `first` on, and numbers. False where the call is another's.
  auto find(std::size_t first, const Positions& at) -> bool {
    std::vector<Operand> operands;
    for (std::size_t i = first; i < first + 3; ++i) {
      const auto* operand = call().args[i].real();
      if (operand == nullptr || operand->meta.rank() != 4 || numel(operand->meta) == 0)
        return false;
      operands.push_back({argument(i), operand->meta});
    }
    query_ = operands[0];
    key_ = operands[1];
    value_ = operands[2];
    dtype_ = query_.meta.dtype;
    batch_ = query_.meta.sizes[0];
    heads_ = query_.meta.sizes[1];
    queries_ = query_.meta.sizes[2];
    shared_ = key_.meta.sizes[1];
    keys_ = key_.meta.sizes[2];
    is_causal_ = real(at.causal, 0) != 0;
    scale_ = real(at.scale, 1 / std::sqrt(static_cast<double>(query_.meta.sizes[3])));
    const bool is_half = dtype_ == DType::float16 || dtype_ == DType::bfloat16;
    return query_.meta.device.type == "cuda" && is_half && heads_ % shared_ == 0 &&
           call().args[at.mask].is_none() && real(at.dropout, 0) == 0;
  }
  [[nodiscard]] auto real(std::size_t i, double fallback) const -> double {
    const auto* scalar = call().args[i].scalar();
    return scalar == nullptr ? fallback : scalar->as_number().value_or(fallback);
  }
  static auto turned(Operand one) -> Operand {
    std::swap(one.meta.sizes[2], one.meta.sizes[3]);
    std::swap(one.meta.strides[2], one.meta.strides[3]);
    return one;
  }
  /// For a number by query and key.
  auto buffer(const char* name, DType dtype) -> Operand {
    RealMeta meta = query_.meta;
    meta.dtype = dtype;
    meta.sizes = {batch_, heads_, queries_, keys_};
    meta.strides = contiguous_strides(meta.sizes);
    meta.offset = 0;
    meta.storage_bytes = numel(meta) * size_bytes(dtype);
    return {add_buffer(bound(), name, dtype, numel(meta)), meta};
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

  /// A kernel over rows of `columns`: what is in rows, and tensors by their strides.
  void launch(const std::string& kind, std::int64_t columns,
              const std::function<std::shared_ptr<const TileKernel>(const std::string&)>& make,
              const std::vector<std::pair<std::string, std::size_t>>& in_rows,
              const std::vector<std::pair<std::string, Operand>>& tensors) {
    const auto name =
        fmt::format("{}_{}{}", kind, assay::name(dtype_), is_causal_ ? "_causal" : "");
    const auto& kernel = kernels().kernel(name, [&](const Expr&) { return make(name); });
    auto launch = start(kernel);
    const auto element = [&](const std::string& buffer) {
      const auto* param = kernel.param(buffer);
      return param == nullptr ? 1 : size_bytes(param->dtype);
    };
    const auto rows = batch_ * heads_ * queries_;
    Numbers numbers = {
        {"rows", rows}, {"columns", columns}, {"queries", queries_}, {"heads", heads_}};
    for (const auto& [buffer, place] : in_rows)
      give(launch, kernel, buffer, place, 0, element(buffer));
    for (const auto& [tensor, operand] : tensors) {
      const auto& meta = operand.meta;
      give(launch, kernel, tensor, operand.buffer, meta.offset, element(tensor));
      numbers[tensor + "_batch"] = meta.strides[0];
      numbers[tensor + "_head"] = meta.strides[1];
      numbers[tensor + "_query"] = meta.strides[2];
    }
    put(launch, kernel, numbers, {{"scale", scale_}});
    launch.extents = launch.blocks = {rows, columns};
    launch.blocks[0] = 1;
    launch.grid = {rows, 1, 1};
    launch.scalars[kernels().symbol("rows")] = Expr(rows);
    launch.scalars[kernels().symbol("columns")] = Expr(columns);
    bound().steps.emplace_back(std::move(launch));
  }

  Operand query_, key_, value_;
  DType dtype_ = DType::float16;
  std::int64_t batch_ = 0, heads_ = 0, shared_ = 0, queries_ = 0, keys_ = 0;
  bool is_causal_ = false;
  double scale_ = 1;
};

}  // namespace

auto expand_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return AttentionCall(call, bound, kernels).expand();
}

}  // namespace assay
