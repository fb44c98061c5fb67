// The laws of row_laws.h for every row of the operator table: over random calls (sizes to 5, any
// layout), and over every layout of tensors up to three dimensions with sizes 0 to 3.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "core/graph/text.h"
#include "replay/interp/run.h"
#include "tests/property/ops/random_calls.h"
#include "tests/property/ops/row_laws.h"

namespace assay::testing {
namespace {

auto seed() -> std::uint64_t {
  const auto* text = std::getenv("ASSAY_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20251206;
}
auto generator_for(const OpRow& row) -> Random {
  return Random(seed() ^ std::hash<std::string>{}(row.name()));
}
/// ASSAY_ROW looks at one row only, ASSAY_TRACE_ROWS names each before it runs.
auto is_wanted(const OpRow& row) -> bool {
  const char* only = std::getenv("ASSAY_ROW");
  if (only && row.name() != only) return false;
  if (std::getenv("ASSAY_TRACE_ROWS")) std::cerr << row.name() << '\n' << std::flush;
  return true;
}

TEST(Rows, RulesAgreeAndValuesDoNotDependOnLayout) {
  constexpr int kCallsPerRow = 60;
  constexpr int kTriesPerRow = 2000;
  const auto table = build_op_table();
  int accepted = 0;
  std::set<std::string> covered;
  for (const auto& row : table.rows()) {
    if (!is_wanted(*row)) continue;
    auto random = generator_for(*row);
    const int goal = accepted + kCallsPerRow;
    for (int i = 0; i < kTriesPerRow && accepted < goal; ++i) {
      const auto base = random_sizes(random);
      const auto dtype = random_dtype(random);
      const auto args = random_arguments(random, row->schema, base, dtype, {});
      if (!args || !check_laws(table, *row, *args)) continue;
      ++accepted;
      covered.insert(row->name());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  std::cout << "seed " << seed() << ": " << accepted << " calls of " << covered.size() << " of "
            << table.rows().size() << " rows\n";
  if (std::getenv("ASSAY_ROW")) return;
  EXPECT_GE(covered.size() * 100, table.rows().size() * 80);
}

/// Calls written by hand, by operator: for rows that take only arguments that fit together.
auto written_calls() -> std::multimap<std::string, DatumList> {
  std::ifstream file(ASSAY_SOURCE_DIR "/tests/property/ops/calls.txt");
  std::stringstream text;
  text << file.rdbuf();
  const auto graph = parse_graph(text.str());
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const auto table = build_op_table();
  Random random(seed());
  std::map<std::int32_t, Datum> values;
  std::multimap<std::string, DatumList> calls;
  for (const auto& node : graph->nodes) {
    if (node.kind == NodeKind::placeholder) {
      const auto meta = to_real(*node.claim.tensor(), 0);
      values[node.id.value] =
          Datum{filled_tensor(random, meta.dtype, meta.sizes, {meta.strides, 0})};
    }
    if (node.kind != NodeKind::call_function) continue;
    DatumList args;
    for (const auto& arg : node.args)
      args.push_back(*to_datum(arg, [&](NodeId id) { return &values.at(id.value); }));
    const auto* row = table.find(node.target);
    const auto bound = row ? bind_arguments(row->schema, args, {}) : bad_input("no row");
    if (bound)
      calls.emplace(node.target, *bound);
    else
      ADD_FAILURE() << node.target << ": " << bound.error().message;
  }
  return calls;
}

/// Up to three dimensions with sizes 0 to 3, and some of four.
auto all_shapes() -> std::vector<Ints> {
  std::vector<Ints> shapes{{}};
  for (std::size_t done = 0; done < shapes.size(); ++done)
    for (std::int64_t size = 0; size <= 3 && shapes[done].size() < 3; ++size) {
      shapes.push_back(shapes[done]);
      shapes.back().push_back(size);
    }
  for (const auto& four : {Ints{2, 3, 2, 3}, Ints{1, 2, 3, 3}, Ints{2, 1, 2, 2}, Ints{2, 0, 3, 2}})
    shapes.push_back(four);
  return shapes;
}

/// Does the row write the functional one's results into tensors given behind its arguments?
auto is_out_form(const OpRow& row) -> bool {
  return !row.inplace_of.empty() && row.schema.params.back().written;
}
/// Arguments of the functional row as far as the form for outs has them, and a tensor for each
/// result, all in one list where the form takes a list.
auto with_outs(const OpTable& table, const OpRow& row, const DatumList& functional_args)
    -> std::optional<DatumList> {
  const auto& functional = *table.find(row.inplace_of);
  const auto result = RealDomain(table).run(functional, functional_args);
  if (!result) return std::nullopt;
  DatumList outs;
  for (const auto& tensor : tensors_of(*result))
    outs.emplace_back(*Tensor::contiguous(tensor.dtype(), tensor.sizes()));
  DatumList args;
  std::size_t next = 0;
  for (const auto& parameter : row.schema.params) {
    const int at = functional.schema.index_of(parameter.name);
    if (at >= 0)
      args.push_back(functional_args[static_cast<std::size_t>(at)]);
    else if (parameter.is_list)
      args.push_back(Datum{outs});
    else if (next < outs.size())
      args.push_back(outs[next++]);
    else
      return std::nullopt;
  }
  return args;
}

/// A call that the row accepts with contiguous tensors of these sizes or related ones.
auto accepted_call(const OpTable& table, const OpRow& row, Random& random, const Ints& sizes)
    -> std::optional<DatumList> {
  if (is_out_form(row)) {
    const auto& functional = *table.find(row.inplace_of);
    auto args = accepted_call(table, functional, random, sizes);
    return args ? with_outs(table, row, *args) : std::nullopt;
  }
  constexpr int kTries = 40;
  for (int i = 0; i < kTries; ++i) {
    const ArgumentStyle style{.contiguous = true, .same_sizes = i < kTries / 2};
    const auto args = random_arguments(random, row.schema, sizes, random_dtype(random), style);
    if (args && RealDomain(table).run(row, *args)) return *args;
  }
  return std::nullopt;
}

auto laid_out_as(const Tensor& tensor, const LayoutChoice& layout) -> Tensor {
  Random random(1);
  auto copy = filled_tensor(random, tensor.dtype(), tensor.sizes(), layout);
  copy_elems(tensor, copy);
  return copy;
}

/// Calls visit with the arguments in other layouts: each tensor alone through all layouts, all
/// tensors through them together, and the first two in all pairs (of rank 3: of dense orders).
template <class Visit>
void for_each_layout(const DatumList& args, const Visit& visit) {
  std::vector<std::vector<LayoutChoice>> choices;
  for (const auto& tensor : tensors_of(Datum{args})) choices.push_back(all_layouts(tensor.sizes()));
  std::vector<std::size_t> chosen(choices.size(), 0);
  std::set<std::vector<std::size_t>> seen;
  const auto run = [&] {
    if (!seen.insert(chosen).second) return;
    std::size_t index = 0;
    const auto varied = map_tensors(Datum{args}, [&](const Tensor& tensor) {
      const auto i = index++;
      return Datum{laid_out_as(tensor, choices[i][chosen[i]])};
    });
    visit(*varied.list());
  };
  std::size_t most = 0;
  for (const auto& each : choices) most = std::max(most, each.size());
  for (std::size_t layout = 0; layout < most; ++layout) {
    for (std::size_t i = 0; i < choices.size(); ++i) chosen[i] = layout % choices[i].size();
    run();
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    std::ranges::fill(chosen, 0);
    for (chosen[i] = 0; chosen[i] < choices[i].size(); ++chosen[i]) run();
  }
  std::ranges::fill(chosen, 0);
  if (choices.size() >= 2) {
    constexpr std::size_t kDenseOrders = 6;
    const auto count = [&](std::size_t i) { return std::min(choices[i].size(), kDenseOrders); };
    for (chosen[0] = 0; chosen[0] < count(0); ++chosen[0])
      for (chosen[1] = 0; chosen[1] < count(1); ++chosen[1]) run();
    std::ranges::fill(chosen, 0);
  }
  if (choices.empty()) run();
}

/// Rows are dealt out, so that the parts can run side by side.
class EveryLayout : public ::testing::TestWithParam<std::size_t> {
 public:
  static constexpr std::size_t kParts = 8;
};

TEST_P(EveryLayout, OfSmallTensorsObeysTheLaws) {
  const auto table = build_op_table();
  const auto written = written_calls();
  const auto shapes = all_shapes();
  constexpr std::size_t kOutShapeStep = 9;
  std::int64_t checked = 0;
  for (std::size_t i = GetParam(); i < table.rows().size(); i += kParts) {
    const auto& row = *table.rows()[i];
    if (!is_wanted(row)) continue;
    auto random = generator_for(row);
    std::vector<DatumList> calls;
    for (auto [it, end] = written.equal_range(row.name()); it != end; ++it)
      calls.push_back(it->second);
    // A form for given tensors copies what its functional row gives: a few shapes tell.
    const std::size_t step = is_out_form(row) ? kOutShapeStep : 1;
    for (std::size_t at = 0; at < shapes.size(); at += step)
      if (auto call = accepted_call(table, row, random, shapes[at]))
        calls.push_back(*std::move(call));
    // What is seldom accepted is met as for the functional row: with its numbers.
    auto again = generator_for(is_out_form(row) ? *table.find(row.inplace_of) : row);
    for (std::size_t at = 0; at < shapes.size() && calls.empty(); ++at)
      if (auto call = accepted_call(table, row, again, shapes[at]))
        calls.push_back(*std::move(call));
    if (calls.empty() && is_out_form(row))
      for (auto [it, end] = written.equal_range(std::string(row.inplace_of)); it != end; ++it)
        if (auto call = with_outs(table, row, it->second)) calls.push_back(*std::move(call));
    const bool is_written = is_out_form(row) && written.contains(std::string(row.inplace_of));
    EXPECT_FALSE(calls.empty() && !is_written)
        << row.name() << " accepts no call: add one to calls.txt";
    for (const auto& call : calls) {
      for_each_layout(call,
                      [&](const DatumList& args) { checked += check_laws(table, row, args); });
      if (HasFailure()) return;
    }
  }
  std::cout << "seed " << seed() << ": " << checked << " calls\n";
}
INSTANTIATE_TEST_SUITE_P(Rows, EveryLayout, ::testing::Range(std::size_t{0}, EveryLayout::kParts));

}  // namespace
}  // namespace assay::testing
