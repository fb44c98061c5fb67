#include "replay/conform/conform.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/expr/text.h"
#include "core/ops/domain.h"
#include "core/ops/randomness.h"
#include "core/shape/shape_env.h"
#include "replay/conform/freedom.h"
#include "replay/conform/one_operator.h"
#include "replay/conform/values.h"

namespace assay {
namespace {

// ---- metadata -----------------------------------------------------------------------------------

/// Results flattened: lists (of lists) to one row of leaves.
void flatten(const Datum& datum, DatumList& leaves) {
  if (const auto* list = datum.list())
    for (const auto& item : *list) flatten(item, leaves);
  else
    leaves.push_back(datum);
}
auto flatten(const Datum& datum) -> DatumList {
  DatumList leaves;
  flatten(datum, leaves);
  return leaves;
}
auto flatten(const DatumList& data) -> DatumList {
  DatumList leaves;
  for (const auto& datum : data) flatten(datum, leaves);
  return leaves;
}
/// What a call gave; an operator without results gives None, which some recordings leave out.
template <class Results>
auto results_of(const OpRow& row, const Results& results) -> DatumList {
  return row.schema.returns.empty() ? DatumList{} : flatten(results);
}

auto describe(const RealMeta& meta) -> std::string {
  return fmt::format("{} offset {}", to_string(meta), meta.offset);
}

auto compare_meta(const RealMeta& actual, const RealMeta& expected) -> Difference {
  if (actual.dtype == expected.dtype && actual.sizes == expected.sizes &&
      actual.strides == expected.strides && actual.offset == expected.offset)
    return std::nullopt;
  return fmt::format("{}, eager has {}", describe(actual), describe(expected));
}

/// Which storage a result lives in: an argument's index, or -1-k for the k-th fresh storage seen.
template <class Key>
class StorageClasses {
 public:
  explicit StorageClasses(std::vector<std::pair<Key, int>> known) : seen_(std::move(known)) {}
  auto of(const Key& key) -> int {
    for (const auto& [other, index] : seen_)
      if (other == key) return index;
    seen_.emplace_back(key, --fresh_);
    return fresh_;
  }

 private:
  std::vector<std::pair<Key, int>> seen_;
  int fresh_ = 0;
};

auto input_storages(const OperatorCase& record, const std::vector<std::shared_ptr<Storage>>& of)
    -> std::vector<std::pair<const Storage*, int>> {
  std::vector<std::pair<const Storage*, int>> known;
  for (std::size_t k = 0; k < of.size(); ++k)
    if (record.is_input[k]) known.emplace_back(of[k].get(), static_cast<int>(k));
  return known;
}

auto kind_name(const Datum& datum) -> std::string {
  return datum.is_none() ? "nothing" : datum.is_tensor() ? "a tensor" : "a scalar";
}

auto compare_results(const OperatorCase& record, const DatumList& actual, const DatumList& expected)
    -> Difference {
  if (actual.size() != expected.size())
    return fmt::format("{} results, eager has {}", actual.size(), expected.size());
  StorageClasses<const Storage*> ours(input_storages(record, record.before));
  StorageClasses<const Storage*> theirs(input_storages(record, record.after));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto* tensor = actual[i].real();
    const auto* reference = expected[i].real();
    const auto place = fmt::format("result {}: ", i);
    if (!tensor != !reference || actual[i].is_none() != expected[i].is_none())
      return place + kind_name(actual[i]) + ", eager has " + kind_name(expected[i]);
    if (!tensor) continue;
    if (auto difference = compare_meta(tensor->meta, reference->meta)) return place + *difference;
    if (ours.of(tensor->storage.get()) != theirs.of(reference->storage.get()))
      return place + "aliases another storage than in eager";
  }
  return std::nullopt;
}

auto number_of(const Datum& datum) -> std::optional<Complex> {
  if (const auto* number = std::get_if<Complex>(&datum.value)) return *number;
  const auto real = datum.scalar() ? datum.scalar()->as_number() : std::nullopt;
  return real ? std::optional<Complex>(*real) : std::nullopt;
}

auto compare_result_values(const OperatorCase& record, const DatumList& actual,
                           const DatumList& expected) -> Difference {
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    const auto* tensor = actual[i].real();
    const auto* reference = expected[i].real();
    Difference difference;
    if (tensor && reference) {
      const auto at = std::ranges::find(record.after, reference->storage) - record.after.begin();
      if (!record.is_recorded[static_cast<std::size_t>(at)]) continue;
      if (tensor->sizes() != reference->sizes()) return fmt::format("result {}: other sizes", i);
      auto stored = *tensor;  // of a view the recording has the storage's bytes
      if (record.is_input[static_cast<std::size_t>(at)] && reference->meta.lazy == Lazy::none)
        stored.meta.lazy = Lazy::none;
      difference = compare_values(stored, *reference);
    } else if (const auto ours = number_of(actual[i]), theirs = number_of(expected[i]);
               ours && theirs) {
      difference = compare_numbers({*ours}, {*theirs}, {1e-6, 1e-6});
    }
    if (difference) return fmt::format("result {}: {}", i, *difference);
  }
  return std::nullopt;
}

/// Arguments after the call, through their own views (bytes between elements do not count), but for
/// those that `judged` results are written into.
auto compare_arguments(const OperatorCase& record, const DatumList& args, const DatumList& judged)
    -> Difference {
  const auto leaves = flatten(args);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto* tensor = leaves[i].real();
    const auto is_of_tensor = [&](const Datum& result) {
      return result.real() && result.real()->storage == tensor->storage;
    };
    if (!tensor || std::ranges::any_of(judged, is_of_tensor)) continue;
    const auto at = std::ranges::find(record.before, tensor->storage) - record.before.begin();
    const auto k = static_cast<std::size_t>(at);
    if (k >= record.after.size() || !record.is_recorded[k]) continue;
    if (auto difference = compare_values(*tensor, Tensor{record.after[k], tensor->meta}))
      return fmt::format("argument tensor {}: {}", i, *difference);
  }
  return std::nullopt;
}

// ---- symbolic -----------------------------------------------------------------------------------

/// The same call with every size above 1 a symbol of its own (sizes 0 and 1 are specialised, as
/// PyTorch does) and strides written in those symbols where the layout is packed.
class SymbolicCall {
 public:
  explicit SymbolicCall(const OperatorCase& record) : record_(record) {}

  auto run(const OpRow& row, const DatumList& args, const OpTable& table) -> Result<DatumList> {
    DatumList fakes;
    for (const auto& arg : args) fakes.push_back(to_symbolic(arg));
    ShapeContext context(env_);
    for (std::size_t k = 0; k < record_.before.size(); ++k) context.fresh_storage();
    FakeDomain domain(table, context);
    ASSAY_TRY(const auto result, domain.run(row, std::move(fakes)));
    made_ = context.made_symbols();
    return results_of(row, result);
  }

  /// Difference between the symbolic results at the hints and what eager has.
  auto compare(const DatumList& actual, const DatumList& expected) -> Difference {
    if (actual.size() != expected.size())
      return fmt::format("{} results, eager has {}", actual.size(), expected.size());
    StorageClasses<const Storage*> theirs(input_storages(record_, record_.after));
    std::vector<std::pair<int, int>> known;
    for (std::size_t k = 0; k < record_.before.size(); ++k)
      if (record_.is_input[k]) known.emplace_back(static_cast<int>(k), static_cast<int>(k));
    StorageClasses<int> ours(std::move(known));
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const auto* fake = actual[i].fake();
      const auto* reference = expected[i].real();
      if (!fake != !reference) return fmt::format("result {}: {}", i, kind_name(actual[i]));
      if (!fake) continue;
      if (auto difference = compare_fake(*fake, reference->meta))
        return fmt::format("result {}: {}", i, *difference);
      if (ours.of(fake->storage) != theirs.of(reference->storage.get()))
        return fmt::format("result {}: aliases another storage than in eager", i);
    }
    return std::nullopt;
  }

 private:
  auto symbol_for(std::int64_t size) -> Expr {
    if (size < 2) return size;
    const auto symbol = *env_.add_symbol(fmt::format("s{}", next_++));
    env_.set_hint(symbol, size);
    binding_[symbol] = size;
    return symbol;
  }

  auto symbolic_meta(const RealMeta& meta) -> TensorMeta {
    TensorMeta result = to_claim(meta);
    std::vector<std::size_t> order(meta.sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    std::ranges::stable_sort(order, {}, [&](std::size_t d) { return meta.strides[d]; });
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) result.sizes[i] = symbol_for(meta.sizes[i]);
    Expr running(1);
    std::int64_t number = 1;
    for (const auto d : order) {
      if (meta.strides[d] == number) result.strides[d] = running;
      number = meta.strides[d] * std::max<std::int64_t>(meta.sizes[d], 1);
      running = result.strides[d] * max(result.sizes[d], Expr(1));
    }
    return result;
  }

  auto to_symbolic(const Datum& datum) -> Datum {
    if (const auto* list = datum.list()) {
      DatumList items;
      for (const auto& item : *list) items.push_back(to_symbolic(item));
      return {std::move(items)};
    }
    const auto* tensor = datum.real();
    if (!tensor) return datum;
    const auto at = std::ranges::find(record_.before, tensor->storage) - record_.before.begin();
    return {FakeTensor{symbolic_meta(tensor->meta), static_cast<int>(at)}};
  }

  /// A data-dependent size may stand for anything: it takes the observed value. So does what is
  /// computed of one that no result names by itself.
  auto value_of(const Expr& e, std::int64_t observed) -> std::optional<std::int64_t> {
    if (std::ranges::find(made_, e) != made_.end()) binding_.try_emplace(e, observed);
    const auto is_unknown = [&](const Expr& symbol) {
      return std::ranges::find(made_, symbol) != made_.end() && !binding_.contains(symbol);
    };
    if (std::ranges::any_of(e.symbols(), is_unknown)) return observed;
    const auto value = evaluate_int(e, binding_);
    return value ? std::optional(*value) : std::nullopt;
  }

  auto compare_fake(const FakeTensor& fake, const RealMeta& expected) -> Difference {
    const auto text = [&] {
      return fmt::format("{} offset {}, eager has {}", to_string(fake.meta),
                         print_expr(fake.meta.offset), describe(expected));
    };
    const auto& meta = fake.meta;
    if (meta.dtype != expected.dtype || meta.rank() != expected.rank()) return text();
    for (std::size_t d = 0; d < meta.sizes.size(); ++d)
      if (value_of(meta.sizes[d], expected.sizes[d]) != expected.sizes[d]) return text();
    for (std::size_t d = 0; d < meta.sizes.size(); ++d)
      if (value_of(meta.strides[d], expected.strides[d]) != expected.strides[d]) return text();
    if (value_of(meta.offset, expected.offset) != expected.offset) return text();
    return std::nullopt;
  }

  const OperatorCase& record_;
  ShapeEnv env_;
  Binding binding_;
  std::vector<Expr> made_;
  int next_ = 0;
};

// ---- one call -----------------------------------------------------------------------------------

class CaseCheck {
 public:
  CaseCheck(const OperatorCase& record, const OpTable& table, ConformReport& report)
      : record_(record), table_(table), report_(report), counts_(report.overloads.back()) {}

  void run() {
    ++counts_.calls;
    const auto* row = table_.find(record_.overload);
    if (!row) {
      ++counts_.without_row;
      return;
    }
    const auto args = bind_arguments(row->schema, record_.args, record_.kwargs);
    if (!args) return fail(ConformAspect::error, args.error().message);
    const auto expected = results_of(*row, record_.results);
    check_symbolic(*row, *args, expected);  // before the real run, which may mutate
    RealDomain domain(table_);
    const auto result = domain.run(*row, *args);
    if (!result) return fail(ConformAspect::error, result.error().message);
    const auto actual = results_of(*row, *result);
    if (auto difference = compare_results(record_, actual, expected))
      fail(ConformAspect::metadata, *difference);
    else
      ++counts_.metadata_exact;
    if (record_.seeded || row->is_arbitrary(false) || is_dropping(*row, *args)) return;
    ++counts_.values_compared;
    if (auto difference = compare_all_values(*row, *args, actual, expected))
      fail(ConformAspect::values, *difference);
    else
      ++counts_.values_agree;
    if (!record_.records_mutation) return;
    ++counts_.mutations_compared;
    if (auto difference = compare_arguments(record_, *args, judged_))
      fail(ConformAspect::mutation, *difference);
    else
      ++counts_.mutations_agree;
  }

 private:
  /// Equal values, or where PyTorch leaves something open values that mean the same.
  auto compare_all_values(const OpRow& row, const DatumList& args, const DatumList& actual,
                          const DatumList& expected) -> Difference {
    auto difference = compare_result_values(record_, actual, expected);
    if (!difference || agrees_for_lazy_operands(row, args, expected)) return std::nullopt;
    const auto* freedom = find_freedom(row);
    if (!freedom || actual.size() != expected.size()) return difference;
    const auto meaning = freedom->judge(
        {.row = row, .table = table_, .args = args, .actual = actual, .expected = expected});
    if (meaning) return fmt::format("{}; {}", *difference, *meaning);
    judged_ = actual;
    return std::nullopt;
  }

  /// Recordings do not say whether a complex operand was conjugated lazily.
  auto agrees_for_lazy_operands(const OpRow& row, const DatumList& args, const DatumList& expected)
      -> bool {
    if (row.schema.is_mutating()) return false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!args[i].real() || !is_complex(args[i].real()->dtype())) continue;
      auto conjugated = args;
      std::get<Tensor>(conjugated[i].value).meta.lazy = Lazy::conjugated;
      const auto result = RealDomain(table_).run(row, std::move(conjugated));
      if (!result || compare_result_values(record_, flatten(*result), expected)) continue;
      ++counts_.agree_as_conjugated;
      return true;
    }
    return false;
  }

  void fail(ConformAspect aspect, std::string reason) {
    if (aspect == ConformAspect::error) ++counts_.errors;
    report_.failures.push_back({record_.id, record_.overload, aspect, std::move(reason)});
  }

  void check_symbolic(const OpRow& row, const DatumList& args, const DatumList& expected) {
    SymbolicCall call(record_);
    const auto result = call.run(row, args, table_);
    if (!result) return fail(ConformAspect::symbolic, result.error().message);
    if (auto difference = call.compare(*result, expected))
      fail(ConformAspect::symbolic, *difference);
    else
      ++counts_.symbolic_exact;
  }

  const OperatorCase& record_;
  const OpTable& table_;
  ConformReport& report_;
  ConformCounts& counts_;
  DatumList judged_;  ///< results that mean the same as eager's, without having its values
};

}  // namespace

void add_up(ConformCounts& total, const ConformCounts& part) {
  total.calls += part.calls;
  total.without_row += part.without_row;
  total.errors += part.errors;
  total.metadata_exact += part.metadata_exact;
  total.symbolic_exact += part.symbolic_exact;
  total.values_compared += part.values_compared;
  total.values_agree += part.values_agree;
  total.agree_as_conjugated += part.agree_as_conjugated;
  total.mutations_compared += part.mutations_compared;
  total.mutations_agree += part.mutations_agree;
}

auto to_string(ConformAspect aspect) -> std::string_view {
  switch (aspect) {
    case ConformAspect::metadata:
      return "metadata";
    case ConformAspect::symbolic:
      return "symbolic";
    case ConformAspect::values:
      return "values";
    case ConformAspect::mutation:
      return "mutation";
    case ConformAspect::error:
      return "error";
  }
  return "";
}

namespace {

void note_prediction(const OperatorCase& record, bool table_is_right, ConformReport& report) {
  if (record.fake_differs.empty()) return;
  auto& all = report.wrong_predictions;
  if (all.empty() || all.back().overload != record.overload) {
    all.emplace_back();
    all.back().overload = record.overload;
  }
  auto& wrong = all.back();
  const bool matters = has_significant_fake_error(record);
  ++wrong.calls;
  wrong.table_right += table_is_right ? 1 : 0;
  if (wrong.calls == 1 || (matters && wrong.matter == 0)) {
    wrong.example = record.id;
    wrong.wrong = wrong_parts(record);
    wrong.differs = record.fake_differs;
  }
  wrong.matter += matters ? 1 : 0;
}

}  // namespace

void check_case(const OperatorCase& record, const OpTable& table, ConformReport& report) {
  if (report.overloads.empty() || report.overloads.back().overload != record.overload)
    report.overloads.emplace_back().overload = record.overload;
  const int exact = report.overloads.back().metadata_exact;
  CaseCheck(record, table, report).run();
  note_prediction(record, report.overloads.back().metadata_exact > exact, report);
}

auto run_conformance(const std::filesystem::path& path, const OpTable& table,
                     const CaseSelection& selection) -> Result<ConformReport> {
  ConformReport report;
  ASSAY_TRY_VOID(for_each_case(
      path, selection, [&](const OperatorCase& record) { check_case(record, table, report); }));
  for (const auto& counts : report.overloads) add_up(report.total, counts);
  return report;
}

}  // namespace assay
