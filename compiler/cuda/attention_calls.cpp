// Attention of halves, and its gradients: as libraries take it, and what they leave undone; where
// none takes it, products by calls, and kernels between, with scores in memory.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/cuda/attention_kernels.h"
#include "compiler/cuda/attention_row.h"
#include "compiler/cuda/call_launches.h"
#include "compiler/runtime/cuda/dnn.h"
#include "core/base/check.h"

namespace assay {
namespace {

class AttentionCall : CallLaunches {
 public:
  AttentionCall(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
      : CallLaunches(call, bound, kernels) {}

  auto expand() -> bool { return find() && (is_forward() ? forward() : backward()); }
  auto complete() -> bool {
    if (!is_forward() || !find() || !mask_) return false;
    bound().steps.emplace_back(call());
    mend();
    return true;
  }
  auto adapt(const CallKernels::IsTaken& is_taken) -> bool {
    if (!find()) return false;
    if (mask_) {
      auto made = call();
      const auto packed = with_packed_mask(made, keys_);
      if (is_taken(made)) {
        pack_mask(packed);
        bound().steps.emplace_back(std::move(made));
        if (is_causal_) mask_ = repeated(packed);
        if (is_forward()) mend();
        return true;
      }
    }
    const auto keys = divided_up(keys_, cuda::kGradientKeys) * cuda::kGradientKeys;
    return !is_forward() && keys != keys_ && with_more_keys(keys, is_taken);
  }

 private:
  struct Operand {
    std::size_t buffer;
    RealMeta meta;  ///< [batch, heads, rows, columns]
  };
  using Tensors = std::vector<std::pair<std::string, Operand>>;
  using Step = AttentionStep;

  [[nodiscard]] auto is_forward() const -> bool { return call().row->name() == kAttention.name; }
  [[nodiscard]] auto row() const -> const AttentionRow& {
    return is_forward() ? kAttention : kAttentionGradients;
  }
  [[nodiscard]] auto with_mask(const Operand& sums) const -> Tensors {
    Tensors all = {{"sums", sums}};
    if (mask_) all.emplace_back("mask", *mask_);
    return all;
  }
  [[nodiscard]] auto written(std::size_t i) const -> Operand {
    return {result(i), (*call().result.list())[i].real()->meta};
  }

  /// Those that are added are 0, and nobody sees them.
  auto with_more_keys(std::int64_t keys, const CallKernels::IsTaken& is_taken) -> bool {
    auto made = call();
    std::optional<Operand> packed;
    // Causal order alone shows no key beyond the queries.
    if (mask_ || !is_causal_ || queries_ > keys_) packed = with_packed_mask(made, keys);
    auto next = next_buffer() + (packed ? 1 : 0);
    const auto padded = [&](const Operand& given) {
      Operand all{next++, given.meta};
      auto& meta = all.meta;
      meta.sizes[2] = keys;
      meta.strides = contiguous_strides(meta.sizes);
      meta.offset = 0;
      meta.storage_bytes = numel(meta) * size_bytes(dtype_);
      return all;
    };
    constexpr auto kKey = kAttentionGradients.query + 1;
    const std::array given = {key_, value_}, gradients = {written(1), written(2)};
    const std::array operands = {padded(key_), padded(value_)};
    const std::array results = {padded(gradients[0]), padded(gradients[1])};
    auto made_results = *made.result.list();
    for (std::size_t i = 0; i < given.size(); ++i) {
      made.args[kKey + i] = tensor(operands[i].meta);
      made.buffers[kKey + i] = operands[i].buffer;
      made_results[i + 1] = tensor(results[i].meta);
      made.buffers[made.arg_tensors + i + 1] = results[i].buffer;
    }
    made.result = {std::move(made_results)};
    if (!is_taken(made)) return false;
    if (packed) pack_mask(*packed);
    for (std::size_t i = 0; i < given.size(); ++i) {
      add(operands[i], "keys");
      copy(given[i], operands[i]);
    }
    for (const auto& one : results) add(one, "gradient");
    use(made.buffers);
    bound().steps.emplace_back(std::move(made));
    for (std::size_t i = 0; i < given.size(); ++i) copy(results[i], gradients[i]);
    return true;
  }
  /// The buffer that its number says.
  void add(const Operand& one, const std::string& name) {
    const auto number =
        add_buffer(bound(), name, dtype_, one.meta.storage_bytes / size_bytes(dtype_));
    ASSAY_CHECK(number == one.buffer, "buffer {} was to be {}", number, one.buffer);
  }
  /// The call with a mask in a buffer that is added next, which has a row for each query; causal
  /// order is in it. What stands for all of a batch or for all heads stands once.
  auto with_packed_mask(BoundCall& made, std::int64_t keys) const -> Operand {
    Operand packed{next_buffer(), mask_ ? mask_->meta : query_.meta};
    auto& meta = packed.meta;
    for (std::size_t i = 0; i < 2; ++i)
      if (!mask_ || meta.strides[i] == 0) meta.sizes[i] = 1;
    meta.sizes[3] = keys;
    const auto pitch = divided_up(keys, kRowElements) * kRowElements;
    meta.strides = {meta.sizes[1] * queries_ * pitch, queries_ * pitch, pitch, 1};
    meta.offset = 0;
    meta.storage_bytes = meta.sizes[0] * meta.strides[0] * size_bytes(dtype_);
    made.args[row().mask] = tensor(meta);
    made.args[row().causal] = {Expr::boolean(false)};
    if (!mask_) {
      made.buffers.insert(made.buffers.begin() + static_cast<std::ptrdiff_t>(made.arg_tensors), 0);
      ++made.arg_tensors;
    }
    made.buffers[made.arg_tensors - 1] = packed.buffer;
    return packed;
  }
  void pack_mask(const Operand& packed) {
    add(packed, "mask");
    Tensors tensors = {{"packed", repeated(packed)}};
    if (mask_) tensors.emplace_back("mask", *mask_);
    launch(Step::mask, packed.meta.sizes, tensors, {}, {{"keys", keys_}});
    use({packed.buffer});
  }
  /// What stands once stands for all.
  static auto repeated(Operand one) -> Operand {
    for (std::size_t i = 0; i < 2; ++i)
      if (one.meta.sizes[i] == 1) one.meta.strides[i] = 0;
    return one;
  }
  void copy(const Operand& from, const Operand& to) {
    const auto given = from.meta.sizes[2];
    launch(Step::copy, to.meta.sizes, {{"from", from}, {"to", to}}, {}, {{"given", given}});
  }

  /// What a library makes of queries that see nothing becomes 0.
  void mend() {
    // Of each row of the mask, then of all that it is for.
    auto nothing = *mask_;
    for (std::size_t i = 0; i < 3; ++i)
      if (nothing.meta.strides[i] == 0) nothing.meta.sizes[i] = 1;
    const auto sizes = nothing.meta.sizes;
    nothing.buffer = add_buffer(bound(), "nothing", DType::boolean, sizes[0] * sizes[1] * sizes[2]);
    launch(Step::nothing, {sizes[0], sizes[1], sizes[2], keys_}, {{"mask", *mask_}},
           {{"nothing", nothing.buffer}});
    nothing.meta.strides = {sizes[1] * sizes[2], sizes[2], 1, 0};
    for (std::size_t i = 0; i < 3; ++i)
      if (sizes[i] == 1) nothing.meta.strides[i] = 0;
    nothing.meta.offset = 0;
    auto columns = query_.meta.sizes;
    columns[3] = value_.meta.sizes[3];
    launch(Step::unseen, columns,
           {{"nothing", nothing}, {"out", written(0)}, {"sums", written(1)}});
  }

  auto forward() -> bool {
    const auto scores = buffer("scores", DType::float32), weights = buffer("weights", dtype_);
    multiply("aten.bmm.dtype", query_, turned(key_), scores);
    launch(Step::weights, scores.meta.sizes, with_mask(written(1)),
           {{"scores", scores.buffer}, {"weights", weights.buffer}});
    multiply("aten.bmm.default", weights, value_, written(0));
    return true;
  }

  /// gradient, query, key, value, out, sums.
  auto backward() -> bool {
    if (heads_ != shared_) return false;
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
    launch(Step::share, out.meta.sizes, {{"gradient", gradient}, {"out", out}}, {{"share", share}});
    multiply("aten.bmm.dtype", gradient, turned(value_), towards);
    launch(Step::slopes, scores.meta.sizes, with_mask(sums),
           {{"scores", scores.buffer},
            {"towards", towards.buffer},
            {"share", share},
            {"weights", weights.buffer},
            {"slopes", slopes.buffer}});
    multiply("aten.bmm.default", slopes, key_, written(0));
    multiply("aten.bmm.default", turned(slopes), query_, written(1));
    multiply("aten.bmm.default", turned(weights), gradient, written(2));
    return true;
  }

  /// Reads query, key, value, mask and numbers. False where the call is another's.
  auto find() -> bool {
    const auto& at = row();
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

  [[nodiscard]] auto kind_of_mask() const -> AttentionMask {
    if (!mask_) return AttentionMask::none;
    return mask_->meta.strides[3] == 1 ? AttentionMask::in_rows : AttentionMask::apart;
  }
  /// A kernel over rows of `sizes`: of tensors by their strides, and of what is in rows.
  void launch(Step step, const Ints& sizes, const Tensors& tensors,
              const std::vector<std::pair<std::string, std::size_t>>& in_rows = {},
              Numbers numbers = {}) {
    const auto& kernel = attention_kernel(
        step, {.dtype = dtype_, .is_causal = is_causal_, .mask = kind_of_mask()}, kernels());
    auto launch = start(kernel);
    const auto element = [&](const std::string& buffer) {
      const auto* param = kernel.param(buffer);
      return param == nullptr ? 1 : size_bytes(param->dtype);
    };
    const auto rows = sizes[0] * sizes[1] * sizes[2];
    numbers.merge(
        Numbers{{"rows", rows}, {"columns", sizes[3]}, {"queries", sizes[2]}, {"heads", sizes[1]}});
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
    launch.extents = launch.blocks = {rows, sizes[3]};
    launch.blocks[0] = 1;
    launch.grid = {rows, 1, 1};
    launch.scalars[kernels().symbol("rows")] = Expr(rows);
    launch.scalars[kernels().symbol("columns")] = Expr(sizes[3]);
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
