// Attention of halves, and its gradients, that no library takes: products by calls, and kernels
// between, with scores in memory. Where a library takes a mask, what it leaves undone.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "compiler/cuda/attention_row.h"
#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

/// Of sums of nothing.
constexpr double kLowest = -std::numeric_limits<double>::infinity();

enum class Mask : std::uint8_t {
  none,
  in_rows,  ///< a row's columns are neighbours
  apart,
};

/// Kernels over rows of scores: of a batch, a head, a query; below 2^31. Numbers: `rows`,
/// `columns`, `queries` (of a head), `heads`; of a tensor by rows NAME_batch, NAME_head,
/// NAME_query, and NAME_column where its columns may be apart.
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
    // Divisions of 64 bits are a hundred instructions each.
    const auto near = [&](TileId id) { return as(id, DType::int32); };
    const auto queries = near(number("queries")), heads = near(number("heads"));
    const auto outer = of(Op::quotient, near(row_), queries);
    const auto far = [&](Op op, TileId a, TileId b) { return as(of(op, a, b), DType::int64); };
    query_ = far(Op::remainder, near(row_), queries);
    batch_ = far(Op::quotient, outer, heads);
    head_ = far(Op::remainder, outer, heads);
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
    return is_causal ? seen_before(made) : made;
  }
  auto seen_before(TileId made) -> TileId {
    return select(of(Op::le, column_, query_), made, real(kLowest));
  }
  /// What is added to a score.
  auto mask(DType dtype, Mask kind) -> TileId {
    const auto along =
        kind == Mask::in_rows ? column_ : of(Op::mul, column_, number("mask_column"));
    return as(load("mask", dtype, of(Op::add, row_of("mask"), along), kNoTile), DType::float32);
  }
  auto masked(TileId score, DType dtype, Mask kind) -> TileId {
    return kind == Mask::none ? score : of(Op::add, score, mask(dtype, kind));
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

/// `weights`, the softmax of `scores` (float32) and `mask`, and `sums`, the logarithms of what they
/// are divided by. A row that sees nothing is 0, and so is its sum.
class WeightsMaker : RowsMaker {
 public:
  using RowsMaker::RowsMaker;
  auto run(DType dtype, bool is_causal, Mask kind) -> std::shared_ptr<const TileKernel> {
    const bool is_masked = kind != Mask::none;
    const auto scaled = masked(score(is_causal), dtype, kind);
    auto largest = b_.reduce(TileCombine::max, 1, {scaled})[0];
    auto nothing = kNoTile;
    if (is_masked) {
      nothing = of(Op::eq, largest, real(kLowest));
      largest = select(nothing, real(0.0), largest);
    }
    const auto power = b_.compute(Op::exp, {of(Op::sub, scaled, largest)});
    auto sum = b_.reduce(TileCombine::sum, 1, {power})[0];
    if (is_masked) sum = select(nothing, real(1.0), sum);
    store("weights", dtype, at_, of(Op::divide, power, sum), kNoTile);
    store("sums", DType::float32, row_of("sums"), of(Op::add, b_.compute(Op::log, {sum}), largest),
          kNoTile);
    return finished();
  }
};

/// Which rows of `mask` see `nothing`.
class NothingMaker : RowsMaker {
 public:
  using RowsMaker::RowsMaker;
  auto run(DType dtype, Mask kind) -> std::shared_ptr<const TileKernel> {
    const auto largest = b_.reduce(TileCombine::max, 1, {mask(dtype, kind)})[0];
    store("nothing", DType::boolean, row_, of(Op::eq, largest, real(kLowest)), kNoTile);
    return finished();
  }
};

/// `mask` as a library takes it: a row for each query, and what causal order forbids in it.
class MaskMaker : RowsMaker {
 public:
  MaskMaker(const std::string& name, CallKernels& kernels) : RowsMaker(name, kernels, false) {}
  auto run(DType dtype, bool is_causal, Mask kind) -> std::shared_ptr<const TileKernel> {
    const auto given = mask(dtype, kind);
    const auto made = is_causal ? seen_before(given) : given;
    store("packed", dtype, of(Op::add, row_of("packed"), column_), made, kNoTile);
    return finished();
  }
};

/// Makes `out` and `sums` 0 where `nothing` is seen.
class UnseenMaker : RowsMaker {
 public:
  UnseenMaker(const std::string& name, CallKernels& kernels) : RowsMaker(name, kernels, false) {}
  auto run(DType dtype) -> std::shared_ptr<const TileKernel> {
    const auto nothing = load("nothing", DType::boolean, row_of("nothing"), kNoTile);
    store("out", dtype, of(Op::add, row_of("out"), column_), real(0.0), nothing);
    store("sums", DType::float32, row_of("sums"), real(0.0), nothing);
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
  auto run(DType dtype, bool is_causal, Mask kind) -> std::shared_ptr<const TileKernel> {
    const auto read = [&](const char* name, TileId at) {
      return load(name, DType::float32, at, kNoTile);
    };
    const auto made = masked(score(is_causal), dtype, kind);
    const auto weight = b_.compute(Op::exp, {of(Op::sub, made, read("sums", row_of("sums")))});
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

  auto expand() -> bool { return is_forward() ? forward() : backward(); }
  auto complete() -> bool {
    if (!is_forward() || !find(kAttention) || !mask_) return false;
    bound().steps.emplace_back(call());
    mend();
    return true;
  }
  auto adapt(const CallKernels::IsTaken& is_taken) -> bool {
    const auto& at = is_forward() ? kAttention : kAttentionGradients;
    if (!find(at) || !mask_) return false;
    // What stands for all of a batch or for all heads stands once.
    Operand packed{bound().buffers.size(), mask_->meta};
    auto& meta = packed.meta;
    for (std::size_t i = 0; i < 2; ++i)
      if (meta.strides[i] == 0) meta.sizes[i] = 1;
    const auto row = divided_up(keys_, kRowElements) * kRowElements;
    meta.strides = {meta.sizes[1] * queries_ * row, queries_ * row, row, 1};
    meta.offset = 0;
    const auto elements = meta.sizes[0] * meta.strides[0];
    meta.storage_bytes = elements * size_bytes(dtype_);
    auto made = call();
    made.args[at.mask] = tensor(meta);
    made.args[at.causal] = {Expr::boolean(false)};
    made.buffers[made.arg_tensors - 1] = packed.buffer;
    if (!is_taken(made)) return false;
    packed.buffer = add_buffer(bound(), "mask", dtype_, elements);
    auto to = packed;
    for (std::size_t i = 0; i < 2; ++i)
      if (meta.sizes[i] == 1) to.meta.strides[i] = 0;
    launch({"attention_mask", is_causal_, kind_of_mask(), meta.sizes, keys_},
           [&](const std::string& name) {
             return MaskMaker(name, kernels()).run(dtype_, is_causal_, kind_of_mask());
           },
           {}, {{"mask", *mask_}, {"packed", to}});
    use({packed.buffer});
    bound().steps.emplace_back(std::move(made));
    if (is_causal_) mask_ = to;
    if (is_forward()) mend();
    return true;
  }

 private:
  struct Operand {
    std::size_t buffer;
    RealMeta meta;  ///< [batch, heads, rows, columns]
  };

  using Tensors = std::vector<std::pair<std::string, Operand>>;

  [[nodiscard]] auto is_forward() const -> bool { return call().row->name() == kAttention.name; }
  [[nodiscard]] auto with_mask(const Operand& sums) const -> Tensors {
    Tensors all = {{"sums", sums}};
    if (mask_) all.emplace_back("mask", *mask_);
    return all;
  }
  [[nodiscard]] auto written(std::size_t i) const -> Operand {
    return {result(i), (*call().result.list())[i].real()->meta};
  }

  /// What a library makes of queries that see nothing becomes 0.
  void mend() {
    // Of each row of the mask, then of all that it is for.
    auto nothing = *mask_;
    for (std::size_t i = 0; i < 3; ++i)
      if (nothing.meta.strides[i] == 0) nothing.meta.sizes[i] = 1;
    const auto& sizes = nothing.meta.sizes;
    const auto rows = sizes[0] * sizes[1] * sizes[2];
    nothing.buffer = add_buffer(bound(), "nothing", DType::boolean, rows);
    launch({"attention_nothing", false, kind_of_mask(), sizes, keys_},
           [&](const std::string& made) {
             return NothingMaker(made, kernels()).run(dtype_, kind_of_mask());
           },
           {{"nothing", nothing.buffer}}, {{"mask", *mask_}});
    nothing.meta.strides = {sizes[1] * sizes[2], sizes[2], 1, 0};
    for (std::size_t i = 0; i < 3; ++i)
      if (sizes[i] == 1) nothing.meta.strides[i] = 0;
    nothing.meta.offset = 0;
    launch({"attention_unseen", false, Mask::none, query_.meta.sizes, value_.meta.sizes[3]},
           [&](const std::string& made) { return UnseenMaker(made, kernels()).run(dtype_); }, {},
           {{"nothing", nothing}, {"out", written(0)}, {"sums", written(1)}});
  }

  auto forward() -> bool {
    if (!find(kAttention)) return false;
    const auto scores = buffer("scores", DType::float32), weights = buffer("weights", dtype_);
    multiply("aten.bmm.dtype", query_, turned(key_), scores);
    launch(
        {"attention_weights", is_causal_, kind_of_mask(), query_.meta.sizes, keys_},
        [&](const std::string& made) {
          return WeightsMaker(made, kernels()).run(dtype_, is_causal_, kind_of_mask());
        },
        {{"scores", scores.buffer}, {"weights", weights.buffer}}, with_mask(written(1)));
    multiply("aten.bmm.default", weights, value_, written(0));
    return true;
  }

  /// gradient, query, key, value, out, sums.
  auto backward() -> bool {
    if (!find(kAttentionGradients) || heads_ != shared_) return false;
    const auto given = [&](std::size_t i) {
      return Operand{argument(i), call().args[i].real()->meta};
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
    launch({"attention_share", false, Mask::none, query_.meta.sizes, out.meta.sizes[3]},
           [&](const std::string& made) { return ShareMaker(made, kernels()).run(dtype_); },
           {{"share", share}}, {{"gradient", gradient}, {"out", out}});
    multiply("aten.bmm.dtype", gradient, turned(value_), towards);
    launch(
        {"attention_slopes", is_causal_, kind_of_mask(), query_.meta.sizes, keys_},
        [&](const std::string& made) {
          return SlopesMaker(made, kernels()).run(dtype_, is_causal_, kind_of_mask());
        },
        {{"scores", scores.buffer},
         {"towards", towards.buffer},
         {"share", share},
         {"weights", weights.buffer},
         {"slopes", slopes.buffer}},
        with_mask(sums));
    multiply("aten.bmm.default", slopes, key_, written(0));
    multiply("aten.bmm.default", turned(slopes), query_, written(1));
    multiply("aten.bmm.default", turned(weights), gradient, written(2));
    return true;
  }

  /// Reads query, key, value, mask and numbers. False where the call is another's.
  auto find(const AttentionRow& at) -> bool {
    const auto first = at.query;
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
    if (batch_ * heads_ * queries_ > std::numeric_limits<std::int32_t>::max()) return false;
    return query_.meta.device.type == "cuda" && is_half(dtype_) && heads_ % shared_ == 0 &&
           real(at.dropout, 0) == 0 && find_mask(call().args[at.mask]);
  }
  /// Of its own rows and columns each is for one or for all.
  auto find_mask(const Datum& mask) -> bool {
    const auto* const tensor = mask.real();
    if (tensor == nullptr) return mask.is_none();
    constexpr int kRank = 4;
    auto meta = tensor->meta;
    if (meta.dtype != dtype_ || meta.rank() > kRank) return false;
    while (meta.rank() < kRank) {
      meta.sizes.insert(meta.sizes.begin(), 1);
      meta.strides.insert(meta.strides.begin(), 0);
    }
    const Ints all = {batch_, heads_, queries_, keys_};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (meta.sizes[i] == 1) meta.strides[i] = 0;
      if (meta.sizes[i] != 1 && meta.sizes[i] != all[i]) return false;
    }
    meta.sizes = all;
    mask_ = {argument(call().arg_tensors - 1), std::move(meta)};
    return true;
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

  [[nodiscard]] auto kind_of_mask() const -> Mask {
    if (!mask_) return Mask::none;
    return mask_->meta.strides[3] == 1 ? Mask::in_rows : Mask::apart;
  }

  struct Kind {
    std::string name;
    bool is_causal;
    Mask mask;
    Ints rows;  ///< batch, heads, queries
    std::int64_t columns;
  };
  /// A kernel over rows: what is in rows, and tensors by their strides.
  void launch(const Kind& kind,
              const std::function<std::shared_ptr<const TileKernel>(const std::string&)>& make,
              const std::vector<std::pair<std::string, std::size_t>>& in_rows,
              const Tensors& tensors) {
    constexpr std::array kMasks = {"", "_masked", "_masked_apart"};
    const auto name =
        fmt::format("{}_{}{}{}", kind.name, assay::name(dtype_), kind.is_causal ? "_causal" : "",
                    kMasks.at(static_cast<std::size_t>(kind.mask)));
    const auto& kernel = kernels().kernel(name, [&](const Expr&) { return make(name); });
    auto launch = start(kernel);
    const auto element = [&](const std::string& buffer) {
      const auto* param = kernel.param(buffer);
      return param == nullptr ? 1 : size_bytes(param->dtype);
    };
    const auto rows = kind.rows[0] * kind.rows[1] * kind.rows[2];
    Numbers numbers = {{"rows", rows},
                       {"columns", kind.columns},
                       {"queries", kind.rows[2]},
                       {"heads", kind.rows[1]}};
    for (const auto& [buffer, place] : in_rows)
      give(launch, kernel, buffer, place, 0, element(buffer));
    for (const auto& [tensor, operand] : tensors) {
      const auto& meta = operand.meta;
      give(launch, kernel, tensor, operand.buffer, meta.offset, element(tensor));
      constexpr std::array kAlong = {"_batch", "_head", "_query", "_column"};
      for (std::size_t i = 0; i < meta.strides.size(); ++i)
        numbers[tensor + kAlong.at(i)] = meta.strides[i];
    }
    put(launch, kernel, numbers, {{"scale", scale_}});
    launch.extents = launch.blocks = {rows, kind.columns};
    launch.blocks[0] = 1;
    launch.grid = {rows, 1, 1};
    launch.scalars[kernels().symbol("rows")] = Expr(rows);
    launch.scalars[kernels().symbol("columns")] = Expr(kind.columns);
    bound().steps.emplace_back(std::move(launch));
  }

  Operand query_, key_, value_;
  std::optional<Operand> mask_;  ///< [batch, heads, queries, keys]; what is repeated has stride 0
  DType dtype_ = DType::float16;
  std::int64_t batch_ = 0, heads_ = 0, shared_ = 0, queries_ = 0, keys_ = 0;
  bool is_causal_ = false;
  double scale_ = 1;
};

}  // namespace

auto is_attention(const OpRow& row) -> bool {
  return row.name() == kAttention.name || row.name() == kAttentionGradients.name;
}
auto expand_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return AttentionCall(call, bound, kernels).expand();
}
auto complete_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return AttentionCall(call, bound, kernels).complete();
}
auto adapt_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels,
                     const CallKernels::IsTaken& is_taken) -> bool {
  return AttentionCall(call, bound, kernels).adapt(is_taken);
}

}  // namespace assay
