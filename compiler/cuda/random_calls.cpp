// Random operators by launches of random_kernels.
#include <algorithm>
#include <limits>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/random_kernels.h"

namespace assay {
namespace {

class RandomCall : CallLaunches {
 public:
  using CallLaunches::CallLaunches;

  auto expand() -> bool {
    const auto law = random_law(*call().row);
    if (!law) return false;
    what_.law = *law;
    auto result = call().result;
    RandomState state;
    KernelCall k(*call().row, call().args, result, state);
    const bool is_in_place = call().row->schema.params[0].written;
    const auto& target = is_in_place ? k.in(0).meta : k.out().meta;
    const auto to = is_in_place ? argument(0) : this->result(0);
    what_.dtype = target.dtype;
    numbers_["count"] = numel(target);
    numbers_["threads"] = launched_threads(state.gpu(), numel(target));
    if (target.device.type != "cuda" || numel(target) == 0 || !is_dense(target) || !find_law(k) ||
        !can_be_drawn(what_))
      return false;
    const auto& kernel = kernels().kernel(
        what_.name(), [&](const Expr& programs) { return make_random_kernel(what_, programs); });
    auto launch = start(kernel);
    const auto give_tensor = [&](const char* name, std::size_t buffer, const RealMeta& meta) {
      give(launch, kernel, name, buffer, meta.offset, size_bytes(meta.dtype));
    };
    give_tensor("values", to, target);
    if (what_.has_chances) give_tensor("chances", argument(call().arg_tensors - 1), chances_);
    if (what_.law == RandomLaw::dropout) {
      give_tensor("input", argument(0), k.in(0).meta);
      give_tensor("mask", this->result(1), k.out(1).meta);
    }
    put(launch, kernel, numbers_, reals_);
    launch.blocks = {kernel.axes[0].max_block, kernel.axes[1].max_block};
    // Rounds of PyTorch's launch are whole: beyond the last element nothing is written.
    const auto round =
        what_.width > 1 ? 1 : numbers_["threads"] * (what_.tile() / kThreadsPerBlock / 4);
    const auto elements = divided_up(numbers_["count"], round) * round;
    finish(std::move(launch), divided_up(elements, what_.tile()));
    return true;
  }

 private:
  /// What the law is given; false where it has no kernel.
  auto find_law(KernelCall& k) -> bool {
    const auto rounded = [&](double value) { return round_to(what_.dtype, value); };
    const auto has_tensor = [&](std::string_view name) {
      const int at = k.row().schema.index_of(name);
      return at >= 0 && k.is_tensor(at);
    };
    switch (what_.law) {
      case RandomLaw::uniform: {
        const double low = rounded(real_or(k, "from", 0)), high = rounded(real_or(k, "to", 1));
        reals_ = {{"low", low}, {"high", high}, {"range", rounded(high - low)}};
        return true;
      }
      case RandomLaw::normal:
        reals_ = {{"mean", real_or(k, "mean", 0)}, {"deviation", real_or(k, "std", 1)}};
        return !has_tensor("mean") && !has_tensor("std");
      case RandomLaw::exponential:
        reals_ = {{"factor", -1.0F / static_cast<float>(real_or(k, "lambd", 1))}};
        return true;
      case RandomLaw::bernoulli:
        return find_chances(k);
      case RandomLaw::dropout:
        return find_dropout(k);
      case RandomLaw::integer: {
        if (has_tensor("high")) return false;
        const auto range = integer_range(k, what_.dtype);
        what_.is_wide = range.is_wide;
        what_.is_whole = range.count == 0;
        numbers_["first"] = range.low;
        numbers_["many"] = static_cast<std::int64_t>(range.count);
        return !k.error();
      }
    }
    return false;
  }
  auto find_chances(KernelCall& k) -> bool {
    const int p = std::max(k.row().schema.index_of("p"), 0);
    if (!k.is_tensor(p)) return keep(k.real(p));
    // A thread takes four neighbours, and there is one for each four.
    what_.has_chances = true;
    what_.width = 4;
    numbers_["threads"] = std::numeric_limits<std::int64_t>::max() / 8;
    chances_ = k.in(p).meta;
    const auto& target = k.row().schema.params[0].written ? k.in(0).meta : k.out().meta;
    return chances_.dtype == target.dtype && chances_.sizes == target.sizes &&
           chances_.strides == target.strides;
  }
  auto find_dropout(KernelCall& k) -> bool {
    const bool is_fused = k.row().schema.index_of("train") < 0;  // told what to keep
    const double keep = is_fused ? k.real(1) : 1 - k.real(1);
    const auto& input = k.in(0).meta;
    if ((!is_fused && k.has(2) && !k.flag(2)) || keep <= 0 || keep >= 1 ||
        k.out(1).dtype() != DType::boolean || input.strides != k.out(0).meta.strides ||
        input.strides != k.out(1).meta.strides)
      return false;
    what_.width = dropout_width(input);
    reals_["scale"] = round_to(what_.dtype, 1 / keep);
    return this->keep(keep);
  }
  /// Words whose uniform number is below the probability, which they rise with. False where there
  /// are none.
  auto keep(double probability) -> bool {
    const auto is_kept = [&](std::uint64_t word) {
      return curand_uniform(static_cast<std::uint32_t>(word)) < static_cast<float>(probability);
    };
    std::uint64_t kept = 0, beyond = std::uint64_t{1} << 32U;
    while (kept < beyond) {
      const auto middle = (kept + beyond) / 2;
      (is_kept(middle) ? kept : beyond) = is_kept(middle) ? middle + 1 : middle;
    }
    numbers_["last_kept"] = static_cast<std::int64_t>(kept) - 1;
    return kept > 0;
  }

  RandomKernel what_;
  Numbers numbers_;
  Reals reals_;
  RealMeta chances_;
};

}  // namespace

auto is_random(const OpRow& row) -> bool {
  return random_law(row).has_value();
}
auto expand_random(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return RandomCall(call, bound, kernels).expand();
}

}  // namespace assay
