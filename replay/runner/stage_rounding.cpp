#include "replay/runner/stage_rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/expr/text.h"
#include "replay/runner/hidden_roundings.h"
#include "replay/runner/sum_terms.h"

namespace assay {
namespace {

/// A difference this many times the measured noise is none that rounding makes: a float32 sum of n
/// terms may be n roundings off, the measured ones add up like sqrt(n).
constexpr double kFactor = 32;
/// Of that of narrower floats, which lose more by one rounding than by the order of a sum: it goes
/// up and down by chance, as in the measurement.
constexpr double kNarrowFactor = 8;

/// Without a measurement: units that may be between two values, of float32 and wider, of narrower.
constexpr std::array kUnits = {256.0, 8.0};
constexpr double kNarrow = 1e-6;

auto is_inexact(DType dtype) -> bool {
  return is_floating(dtype) || is_complex(dtype);
}

auto wide(DType dtype) -> DType {
  return is_complex(dtype) ? DType::complex128 : is_floating(dtype) ? DType::float64 : dtype;
}

/// Half a unit in the last place, relative.
auto unit_of(DType dtype) -> double {
  if (!is_inexact(dtype)) return 0;
  const auto real = real_of(dtype);
  const int mantissa = real == DType::float64         ? 52
                       : real == DType::float32       ? 23
                       : real == DType::float16       ? 10
                       : real == DType::bfloat16      ? 7
                       : real == DType::float8_e4m3fn ? 3
                                                      : 2;
  return std::ldexp(1.0, -mantissa - 1);
}

/// Largest finite number, as a power of two that is not too large.
auto largest_of(DType dtype) -> double {
  const auto real = real_of(dtype);
  if (real == DType::float64) return std::ldexp(1.0, 1023);
  if (real == DType::float32 || real == DType::bfloat16) return std::ldexp(1.0, 127);
  if (real == DType::float16 || real == DType::float8_e5m2) return std::ldexp(1.0, 15);
  return std::ldexp(1.0, 7);
}

/// Is an element so large that a few roundings or another order of terms may overflow? What is
/// infinite in float64 too (a mask of -inf) is meant so and does not count.
auto is_huge(const Tensor& tensor, double largest) -> bool {
  constexpr double kMargin = 16;
  return std::ranges::any_of(to_vector<Complex>(tensor), [&](const Complex& value) {
    return std::isfinite(std::abs(value)) && std::abs(value) * kMargin >= largest;
  });
}

void widen(Arg& arg) {
  if (auto* dtype = std::get_if<DType>(&arg.value)) *dtype = wide(*dtype);
  if (auto* list = std::get_if<SequenceArg>(&arg.value))
    for (auto& item : list->items) widen(item);
}

/// `dtypes` of the results in the run as it was captured. Bits are looked at in those.
auto widened(const WithHidden& hidden, const std::vector<DType>& dtypes) -> Stage {
  Stage copy = hidden.stage;
  auto& nodes = copy.graph->graph.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto& node = nodes[i];
    if (is_bit_view(node)) continue;
    if (const auto found = hidden.copies.find(node.id.value); found != hidden.copies.end())
      if (const bool is_after = found->second == Hidden::of_bits;
          is_after || found->second == Hidden::bits) {
        node.target = "aten._to_copy.default";
        node.kwargs = {{"dtype", Arg{is_after ? wide(dtypes[i]) : dtypes[i]}}};
        continue;
      }
    for (auto& arg : node.args) widen(arg);
    for (auto& [key, arg] : node.kwargs) widen(arg);
    constexpr std::array<std::string_view, 3> kCasts = {"float", "half", "bfloat16"};
    if (node.kind == NodeKind::call_method &&
        std::ranges::find(kCasts, node.target) != kCasts.end())
      node.target = "double";
  }
  return copy;
}

auto widened(const Datum& datum) -> Datum {
  const auto* tensor = datum.real();
  if (tensor == nullptr || !is_inexact(tensor->dtype()) || tensor->dtype() == wide(tensor->dtype()))
    return datum;
  auto copy = Tensor::allocate(wide(tensor->dtype()), tensor->sizes(), tensor->strides(),
                               tensor->meta.device);
  if (!copy) return datum;
  copy_elems(*tensor, *copy);
  return {*std::move(copy)};
}

/// Every element moves by one rounding, up or down by chance; parts of complex numbers by one of
/// the whole.
void perturb(std::span<double> values, double unit, std::uint64_t state) {
  for (auto& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value *= 1 + ((state >> 40U) % 2 == 0 ? unit : -unit);
  }
}
void perturb(std::span<Complex> values, double unit, std::uint64_t state) {
  for (auto& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto by = [&](unsigned bit) { return (state >> bit) % 2 == 0 ? unit : -unit; };
    value += std::abs(value) * Complex(by(40), by(41));
  }
}
void perturb(const Tensor& tensor, double unit, std::uint32_t seed) {
  const auto state = std::uint64_t{seed} * 0x9E3779B97F4A7C15U + 1;
  Tensor target = tensor;
  if (tensor.dtype() == DType::float64 && tensor.is_contiguous() && tensor.meta.lazy == Lazy::none)
    return perturb(std::span(target.data<double>(), static_cast<std::size_t>(tensor.numel())), unit,
                   state);
  const auto copied = [&](auto values) {
    perturb(std::span(values), unit, state);
    from_vector<typename decltype(values)::value_type>(target, values);
  };
  is_complex(tensor.dtype()) ? copied(to_vector<Complex>(target))
                             : copied(to_vector<double>(target));
}

/// dtypes of the results in the run as it was captured.
auto dtypes_of(const GraphRun& run) -> std::vector<DType> {
  std::vector<DType> dtypes;
  for (const auto& node : run.nodes)
    dtypes.push_back(node.value.tensor ? node.value.tensor->meta.dtype : DType::int64);
  return dtypes;
}

/// Half a unit in the last place of TF32.
const double kTf32 = std::ldexp(1.0, -11);

/// Up to so many terms, kFactor covers what their order does.
constexpr double kFewTerms = 64;

class Measurement {
 public:
  Measurement(const Stage& stage, const StageValues& inputs,
              const std::map<std::string, Datum>& attributes, const OpTable& table, RoundedBy by,
              RoundingRuns runs)
      : hidden_(with_hidden_roundings(stage, by)),
        stage_(hidden_.stage),
        inputs_(inputs),
        attributes_(attributes),
        table_(table),
        runs_(runs == RoundingRuns::many ? kMany : kFew),
        with_jumps_(runs != RoundingRuns::few) {}

  auto run() -> Roundings {
    const auto& nodes = stage_.graph->graph.nodes;
    std::vector<Datum> values(nodes.size());
    StageTaps taps;
    taps.node = [&](std::size_t i, const Datum& value) {
      values[i] = value;
      if (auto* tensor = std::get_if<Tensor>(&values[i].value);
          tensor != nullptr && is_inexact(tensor->dtype()))
        tensor->storage = nullptr;  // nobody asks for its elements
    };
    taps.inner = [&](const Datum& value) {
      const auto* tensor = value.real();
      inner_units_.push_back(tensor == nullptr ? 0 : unit_of(tensor->dtype()));
    };
    const auto native = run_stage(stage_, inputs_, attributes_, table_, taps);
    if (!native.not_run.empty()) return {};
    dtypes_ = dtypes_of(native.graph);
    for (const auto dtype : dtypes_) units_.push_back(unit_of(dtype));
    add_terms(values);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto copy = hidden_.copies.find(nodes[i].id.value);
      const auto* tensor = copy == hidden_.copies.end() ? nullptr : values[i].real();
      if (tensor == nullptr || tensor->sizes().empty()) continue;
      if (copy->second == Hidden::tf32) units_[i] = kTf32;
      if (copy->second == Hidden::bits) units_[i] = 0, has_bits_ = true;
      if (copy->second == Hidden::scores)
        units_[i] *= std::sqrt(static_cast<double>(tensor->sizes().back()));
    }
    std::map<NodeId, bool> is_inexact_node;  // several results are as inexact as what they are of
    std::set<NodeId> of_bits;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto copy = hidden_.copies.find(nodes[i].id.value);
      if ((copy != hidden_.copies.end() && copy->second == Hidden::of_bits) ||
          std::ranges::any_of(operands(nodes[i]),
                              [&](NodeId id) { return of_bits.contains(id); })) {
        of_bits.insert(nodes[i].id);
        of_bits_.insert(nodes[i].name);
      }
      // What no inexact operand goes into is as exact as its dtype.
      const bool reads =
          std::ranges::any_of(operands(nodes[i]), [&](NodeId id) { return is_inexact_node[id]; });
      reads_inexact_.push_back(reads);
      is_inexact_node[nodes[i].id] =
          units_[i] > 0 || (reads && !native.graph.nodes[i].value.tensor);
    }
    const auto exact = widened(hidden_, dtypes_);
    auto measured = in(exact, true);
    // What was the same number no longer is, as a maximum that is looked for where it came from.
    if (loses_numbers(native, measured)) {
      decided_ = std::move(values);
      measured = in(exact, true);
    }
    if (measured.empty()) measured = in(stage_, false);
    for (const auto& [name, value] : native.values)
      if (const auto found = measured.find(name); found != measured.end())
        if (const auto* tensor = value.value.real())
          found->second.native = to_vector<Complex>(*tensor);
    return measured;
  }

 private:
  /// Roundings of n terms add up like sqrt(n). A device's own kernels add what meets in one place
  /// in the dtype of the result, where graphs convert it (atomics of aten/src/ATen/native/cuda).
  void add_terms(const std::vector<Datum>& values) {
    double narrow = 0;
    for (const auto& [name, value] : inputs_)
      if (const auto* tensor = value.value.real(); tensor != nullptr)
        narrow = std::max(narrow, unit_of(tensor->dtype()));
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const auto terms = sum_terms(stage_.graph->graph, i, values, table_);
      if (terms.meet && hidden_.by == RoundedBy::device && is_narrow(narrow) && units_[i] > 0 &&
          terms.count > 1)
        units_[i] = narrow * std::sqrt(terms.count);
      else if (!is_narrow(units_[i]))
        units_[i] *= std::sqrt(std::max(1.0, terms.count / kFewTerms));
    }
  }

  /// Whether what is finite is no number in float64.
  static auto loses_numbers(const StageRun& native, const Roundings& measured) -> bool {
    return std::ranges::any_of(native.values, [&](const auto& one) {
      const auto* tensor = one.second.value.real();
      const auto found = measured.find(one.first);
      if (tensor == nullptr || found == measured.end()) return false;
      const auto values = to_vector<Complex>(*tensor);
      const auto& exact = found->second.reference;
      return std::ranges::mismatch(values, exact, [](Complex a, Complex b) {
               return std::isfinite(std::abs(b)) || !std::isfinite(std::abs(a));
             }).in2 != exact.end();
    });
  }
  /// Whether numbers are equal, as it was in the stage's own dtypes.
  void decide(std::size_t node, const Datum& value) const {
    const auto target = std::string_view(stage_.graph->graph.nodes[node].target);
    const auto* tensor = value.real();
    const auto* known = decided_.empty() ? nullptr : decided_[node].real();
    if (tensor == nullptr || known == nullptr || known->sizes() != tensor->sizes()) return;
    if (!target.starts_with("aten.eq.") && !target.starts_with("aten.ne.")) return;
    Tensor made = *tensor;
    copy_elems(*known, made);
  }

  auto in(const Stage& stage, bool is_wide) -> Roundings {
    StageValues exact;
    for (const auto& [name, value] : inputs_)
      exact[name] = {is_wide ? widened(value.value) : value.value, value.randomness, {}};
    bool overflows = false;
    StageTaps taps;
    taps.node = [&](std::size_t i, const Datum& value) {
      decide(i, value);
      const auto* tensor = value.real();
      if (overflows || tensor == nullptr || !is_inexact(tensor->dtype())) return;
      overflows = units_[i] > 0 && is_huge(*tensor, largest_of(dtypes_[i]));
    };
    const auto reference = run_stage(stage, exact, attributes_, table_, taps);
    if (!reference.not_run.empty()) return {};
    Roundings result;
    for (const auto& [name, value] : reference.values)
      if (const auto* tensor = value.value.real()) {
        auto& rounding = result[name];
        rounding.reference = to_vector<Complex>(*tensor);
        rounding.noise.assign(rounding.reference.size(), 0);
        rounding.narrow_noise.assign(rounding.reference.size(), 0);
        rounding.jumps.assign(rounding.reference.size(), 0);
        rounding.overflows = overflows;
        rounding.is_of_bits = of_bits_.contains(value.producer);
      }
    // Which of two nearly equal numbers is larger is decided as far off as a number may be.
    const auto is_decided = [](const auto& value) {
      const auto* tensor = value.second.value.real();
      return tensor != nullptr && !is_inexact(tensor->dtype());
    };
    const bool jumps = with_jumps_ || std::ranges::any_of(reference.values, is_decided);
    for (const bool narrow : {false, true}) {
      if (narrow && std::ranges::none_of(units_, is_narrow)) break;
      for (std::uint32_t seed = 1; seed <= runs_; ++seed)
        add_run(stage, exact, {.seed = seed, .narrow_ones = narrow}, result);
      for (std::uint32_t i = 0; i < runs_ && jumps; ++i)
        add_run(
            stage, exact,
            {.seed = 5 + 2 * i, .narrow_ones = narrow, .times = narrow ? kNarrowFactor : kFactor},
            result);
    }
    return result;
  }
  /// Runs with even seeds start from inputs that are off too. Only narrow dtypes round, or only
  /// others; narrow inputs are what they are.
  struct Perturbation {
    std::uint32_t seed = 1;
    bool narrow_ones = false;
    double times = 1;  ///< roundings; more than one finds jumps
  };
  static auto is_narrow(double unit) -> bool { return unit > kNarrow; }

  void add_run(const Stage& stage, const StageValues& exact, const Perturbation& how,
               Roundings& result) {
    const auto [seed, narrow_ones, times] = how;
    StageValues given = exact;
    // Each in its own way: what was copied from another is off by something else.
    auto own_seed = seed + static_cast<std::uint32_t>(stage.graph->graph.nodes.size()) * 8;
    // Bits of inputs are what they are.
    if (seed % 2 == 0 && !narrow_ones && !has_bits_)
      for (auto& [name, value] : given) {
        own_seed += 8;
        const auto* tensor = value.value.real();
        const auto known = inputs_.find(name);
        const auto* own = known == inputs_.end() ? nullptr : known->second.value.real();
        if (tensor == nullptr || own == nullptr || !is_inexact(tensor->dtype()) ||
            is_narrow(unit_of(own->dtype())))
          continue;
        value.value = DatumCopier()(value.value);
        perturb(*value.value.real(), unit_of(own->dtype()), own_seed);
      }
    std::set<const Storage*> seen;
    StageTaps taps;
    taps.node = [&, seed = seed, narrow_ones = narrow_ones, times = times](std::size_t i,
                                                                           const Datum& value) {
      decide(i, value);
      const auto* tensor = value.real();
      if (tensor == nullptr || !seen.insert(tensor->storage.get()).second) return;
      if (reads_inexact_[i] && units_[i] > 0 && is_narrow(units_[i]) == narrow_ones &&
          is_inexact(tensor->dtype()))
        perturb(*tensor, times * units_[i], seed + static_cast<std::uint32_t>(i) * 8);
    };
    // Operators that a node is composed of come in the same order in every run.
    std::size_t next = 0;
    taps.inner = [&, seed = seed, narrow_ones = narrow_ones, times = times](const Datum& value) {
      const auto at = next++;
      const auto* tensor = value.real();
      const auto unit = at < inner_units_.size() ? inner_units_[at] : 0;
      if (tensor == nullptr || unit == 0 || is_narrow(unit) != narrow_ones ||
          !is_inexact(tensor->dtype()) || !seen.insert(tensor->storage.get()).second)
        return;
      perturb(*tensor, times * unit, seed + static_cast<std::uint32_t>(at) * 8 + 4);
    };
    const auto run = run_stage(stage, given, attributes_, table_, taps);
    for (const auto& [name, value] : run.values) {
      const auto* tensor = value.value.real();
      const auto found = result.find(name);
      if (tensor == nullptr || found == result.end()) continue;
      const auto& reference = found->second.reference;
      const bool is_jump = times != 1 && is_inexact(tensor->dtype());
      auto& noise = is_jump       ? found->second.jumps
                    : narrow_ones ? found->second.narrow_noise
                                  : found->second.noise;
      // Exact results of exact inputs do not move.
      if (!is_inexact(tensor->dtype()) && seed % 2 == 0) continue;
      if (is_complex(tensor->dtype()))
        widen_noise(to_vector<Complex>(*tensor), reference, noise, is_jump);
      else
        widen_noise(to_vector<double>(*tensor), reference, noise, is_jump);
    }
  }

  static auto like(double, Complex value) -> double { return value.real(); }
  static auto like(Complex, Complex value) -> Complex { return value; }
  /// To what is so far from the reference.
  template <class T>
  static void widen_noise(const std::vector<T>& values, std::span<const Complex> reference,
                          std::vector<double>& noise, bool is_jump) {
    if (values.size() != reference.size()) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto distance = std::abs(values[i] - like(values[i], reference[i]));
      if (distance <= noise[i]) continue;
      if (std::isfinite(distance) || (!is_jump && std::isfinite(std::abs(reference[i]))))
        noise[i] = distance;
    }
  }

  static constexpr std::uint32_t kFew = 4, kMany = 16;
  const WithHidden hidden_;
  const Stage& stage_;
  const StageValues& inputs_;
  const std::map<std::string, Datum>& attributes_;
  const OpTable& table_;
  std::uint32_t runs_;
  bool with_jumps_;
  bool has_bits_ = false;
  std::set<std::string> of_bits_;  ///< names of nodes that rest on bits
  std::vector<DType> dtypes_;      ///< by node
  std::vector<double> units_;
  std::vector<double> inner_units_;  ///< of what nodes are composed of, in order
  std::vector<bool> reads_inexact_;
  std::vector<Datum> decided_;  ///< by node: whether numbers were equal; empty: each run says it
};

auto index_text(const Ints& sizes, std::size_t at) -> std::string {
  Ints index(sizes.size());
  auto rest = static_cast<std::int64_t>(at);
  for (std::size_t d = sizes.size(); d-- > 0;) {
    index[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

auto number_text(DType dtype, Complex value) -> std::string {
  if (!is_complex(dtype)) return fmt::format("{:.9g}", value.real());
  return fmt::format("{:.9g}{:+.9g}j", value.real(), value.imag());
}

/// Noise of a usual element: some may be where a function jumps.
auto usual(std::vector<double> noise) -> double {
  if (noise.empty()) return 0;
  const auto at = noise.begin() + static_cast<std::ptrdiff_t>(noise.size() * 9 / 10);
  std::nth_element(noise.begin(), at, noise.end());
  return std::isfinite(*at) ? *at : 0;
}

auto layout_message(const RealMeta& expected, const RealMeta& actual, bool with_strides)
    -> std::string {
  if (expected.dtype != actual.dtype)
    return fmt::format("dtype is {}, not {}", name(actual.dtype), name(expected.dtype));
  if (expected.sizes != actual.sizes)
    return fmt::format("sizes are ({}), not ({})", fmt::join(actual.sizes, ", "),
                       fmt::join(expected.sizes, ", "));
  if (!with_strides || numel(expected) == 0) return {};
  for (std::size_t i = 0; i < expected.sizes.size(); ++i)
    if (expected.sizes[i] > 1 && expected.strides[i] != actual.strides[i])
      return fmt::format("strides are ({}), not ({})", fmt::join(actual.strides, ", "),
                         fmt::join(expected.strides, ", "));
  return {};
}

auto is_same(Complex a, Complex b) -> bool {
  return a == b || (std::isnan(std::abs(a)) && std::isnan(std::abs(b)));
}

/// Numbers below the smallest normal one are zero to hardware and libraries that flush them, and
/// what a few of those sum up to is.
auto flushed(DType dtype) -> double {
  constexpr double kSummands = 8;
  const bool is_wide = dtype == DType::float64 || dtype == DType::complex128;
  return kSummands * (is_wide ? std::numeric_limits<double>::min()
                              : static_cast<double>(std::numeric_limits<float>::min()));
}

/// How many integers differ that moved in no run, where that is none in 65,536 and others did: a
/// few runs do not find every tie of so many. 0 where there are more, or where none moved.
auto ties(const std::vector<Complex>& a, const std::vector<Complex>& b, const Rounding& measured)
    -> std::int64_t {
  constexpr std::size_t kRare = 65536;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_same(a[i], b[i]) && !measured.moves(i)) ++count;
  return measured.moves() && count * kRare <= a.size() ? static_cast<std::int64_t>(count) : 0;
}

/// How far beyond noise a number counts as a jump: what larger roundings move in proportion is
/// none. Where hardly any element is off, one that does not stand out as clearly may be what
/// happened.
constexpr double kClearJump = 2, kJump = 1;
constexpr std::size_t kHardlyAny = 20;  // one of so many

struct Farthest : StageDistance {
  std::size_t count = 0;  ///< of elements that are farther off than rounding explains
};
/// Of the element that is farthest off, for what rounding explains there; without a message.
auto farthest(const Tensor& actual, const std::vector<Complex>& a, const std::vector<Complex>& b,
              const Rounding* measured, double jump) -> Farthest {
  Farthest worst;
  const auto dtype = actual.dtype();
  if (measured != nullptr && measured->noise.size() != a.size()) measured = nullptr;
  const auto unit = unit_of(dtype);
  double largest = 0;
  for (const auto& value : a)
    if (std::isfinite(std::abs(value))) largest = std::max(largest, std::abs(value));
  const auto floor = measured != nullptr ? kFactor * usual(measured->noise) +
                                               kNarrowFactor * usual(measured->narrow_noise)
                                         : kUnits[unit > kNarrow ? 1 : 0] * unit * largest;
  if (unit == 0 && measured != nullptr) worst.ties = ties(a, b, *measured);
  if (worst.ties > 0) return worst;
  double ratio = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_same(a[i], b[i])) continue;
    const auto distance = std::abs(a[i] - b[i]);
    if (!std::isfinite(distance) && measured != nullptr && measured->overflows) {
      ++worst.undecided;
      continue;
    }
    auto noise = measured == nullptr
                     ? 0
                     : kFactor * measured->noise[i] + kNarrowFactor * measured->narrow_noise[i];
    if (measured != nullptr && measured->jumps[i] > jump * (noise + floor))
      noise = measured->jumps[i];
    const bool is_either = unit == 0 || (measured != nullptr && measured->is_of_bits);
    if (!std::isfinite(noise) || (is_either && noise != 0)) continue;
    auto allowed = unit == 0 ? 0 : noise + floor + 8 * unit * std::abs(a[i]) + flushed(dtype);
    // What counts is how far the value is from the exact one; where it was expected is off as well.
    if (measured != nullptr) {
      const auto own = std::abs(a[i] - measured->reference[i]);
      const bool is_of_rounding =
          measured->native.size() == a.size() && is_same(a[i], measured->native[i]);
      if (is_of_rounding && std::abs(b[i] - measured->reference[i]) <= allowed) continue;
      if (own <= allowed) allowed += own;
    }
    const auto times = std::isfinite(distance) && allowed > 0 ? distance / allowed : INFINITY;
    if (times > 1) ++worst.count;
    if (times <= ratio) continue;
    ratio = times;
    worst.element = index_text(actual.sizes(), i);
    worst.expected = number_text(dtype, a[i]);
    worst.actual = number_text(dtype, b[i]);
    worst.distance = distance;
    worst.allowed = allowed;
    worst.expected_error = measured ? std::abs(a[i] - measured->reference[i]) : NAN;
    worst.actual_error = measured ? std::abs(b[i] - measured->reference[i]) : NAN;
  }
  return worst;
}

auto compare_tensors(const Tensor& expected, const Tensor& actual, const AskRounding& rounding)
    -> StageDistance {
  const auto a = to_vector<Complex>(expected), b = to_vector<Complex>(actual);
  if (std::ranges::equal(a, b, is_same)) return {};
  const auto* measured = rounding ? rounding(RoundingRuns::few) : nullptr;
  const auto beyond = [&] {
    auto worst = farthest(actual, a, b, measured, kClearJump);
    return worst.count > 0 && worst.count <= 1 + a.size() / kHardlyAny
               ? farthest(actual, a, b, measured, kJump)
               : worst;
  };
  StageDistance worst = beyond();
  if (!worst.element.empty() && measured != nullptr && is_inexact(actual.dtype())) {
    measured = rounding(RoundingRuns::with_jumps);
    worst = beyond();
  }
  // Integers are decided by numbers that are nearly equal, which few runs may miss likewise.
  constexpr double kNearly = 4;
  const bool is_near = is_inexact(actual.dtype()) ? worst.distance <= kNearly * worst.allowed
                                                  : measured != nullptr && measured->moves();
  if (!worst.element.empty() && measured != nullptr && is_near) {
    measured = rounding(RoundingRuns::many);
    worst = beyond();
  }
  if (!worst.element.empty())
    worst.message =
        fmt::format("element {} is {}, not {}", worst.element, worst.actual, worst.expected);
  return worst;
}

}  // namespace

auto measure_rounding(const Stage& stage, const StageValues& inputs,
                      const std::map<std::string, Datum>& attributes, const OpTable& table,
                      RoundedBy by, RoundingRuns runs) -> Roundings {
  return Measurement(stage, inputs, attributes, table, by, runs).run();
}

auto compare_values(const Datum& expected, const Datum& actual, bool with_strides,
                    const AskRounding& rounding) -> StageDistance {
  StageDistance result;
  const auto *a = expected.real(), *b = actual.real();
  if (a != nullptr && b != nullptr) {
    result.message = layout_message(a->meta, b->meta, with_strides);
    if (!result.message.empty()) {
      result.expected = to_string(a->meta);
      result.actual = to_string(b->meta);
      result.distance = INFINITY;
      result.is_of_strides = layout_message(a->meta, b->meta, false).empty() &&
                             compare_tensors(*a, *b, rounding).message.empty();
      return result;
    }
    return compare_tensors(*a, *b, rounding);
  }
  const auto *x = expected.scalar(), *y = actual.scalar();
  if ((a == nullptr) == (b == nullptr) &&
      (x == nullptr || y == nullptr || *x == *y || print_expr(*x) == print_expr(*y)))
    return result;
  result.expected = x != nullptr ? print_expr(*x) : to_string(expected);
  result.actual = y != nullptr ? print_expr(*y) : to_string(actual);
  result.distance = INFINITY;
  result.message = fmt::format("it is {}, not {}", result.actual, result.expected);
  return result;
}

}  // namespace assay
