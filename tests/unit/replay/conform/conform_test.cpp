#include <gtest/gtest.h>

#include "replay/conform/conform.h"
#include "replay/conform/one_operator.h"

namespace assay {
namespace {

auto tensor(Ints sizes, const std::vector<double>& values) -> Tensor {
  auto result = *Tensor::contiguous(DType::float32, std::move(sizes));
  from_vector<double>(result, values);
  return result;
}
/// x -> 2x, as eager would have recorded it; tests then falsify one thing.
auto doubled() -> OperatorCase {
  OperatorCase record;
  record.id = 7;
  record.overload = "test.twice.default";
  const auto x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = tensor({2, 3}, {2, 4, 6, 8, 10, 12});
  record.args = {Datum{x}};
  record.results = {Datum{y}};
  record.before = {x.storage, std::make_shared<Storage>(24)};
  record.after = {std::make_shared<Storage>(24), y.storage};
  std::ranges::copy(x.storage->bytes(), record.after[0]->bytes().begin());
  record.is_input = {true, false};
  record.is_recorded = {true, true};
  record.records_mutation = true;
  record.fake = {FakePrediction{DType::float32, {2, 3}, {3, 1}, 0}};
  return record;
}
auto table(bool in_place = false) -> OpTable {
  OpTable rows;
  rows.add({.schema_text = "test::twice.default(Tensor self) -> Tensor",
            .rule = in_place ? MetaRule([](MetaCall& c) { return c.arg(0); })
                             : MetaRule([](MetaCall& c) {
                                 return c.fresh(c.meta(0).dtype, c.meta(0).sizes);
                               }),
            .kernel = [](KernelCall& k) {
              auto values = to_vector<double>(k.in(0));
              for (auto& value : values) value *= 2;
              from_vector<double>(k.out(), values);
            }});
  return rows;
}
auto check(const OperatorCase& record, const OpTable& rows = table()) -> ConformReport {
  ConformReport report;
  check_case(record, rows, report);
  return report;
}
auto failed_aspects(const ConformReport& report) -> std::vector<ConformAspect> {
  std::vector<ConformAspect> aspects;
  for (const auto& failure : report.failures) aspects.push_back(failure.aspect);
  return aspects;
}

TEST(Conform, ARightCallHasNoFailure) {
  const auto report = check(doubled());
  EXPECT_TRUE(report.failures.empty());
  const auto& counts = report.overloads.at(0);
  EXPECT_EQ(counts.calls, 1);
  EXPECT_EQ(counts.metadata_exact, 1);
  EXPECT_EQ(counts.symbolic_exact, 1);
  EXPECT_EQ(counts.values_agree, 1);
  EXPECT_EQ(counts.mutations_agree, 1);
}

TEST(Conform, AWrongElementIsNamed) {
  auto record = doubled();
  static_cast<void>(record.results[0].real());
  auto wrong = *record.results[0].real();
  from_vector<double>(wrong, std::vector<double>{2, 4, 6, 8, 10, 13});
  const auto report = check(record);
  ASSERT_EQ(failed_aspects(report), std::vector{ConformAspect::values});
  EXPECT_EQ(report.failures[0].case_id, 7);
  EXPECT_NE(report.failures[0].reason.find("element 5"), std::string::npos);
}

TEST(Conform, AStrideOfASizeOneDimensionCounts) {
  auto record = doubled();
  auto& result = std::get<Tensor>(record.results[0].value);
  result.meta.sizes = {2, 3};
  result.meta.strides = {3, 2};
  result.meta.sizes[1] = 1;
  record.is_recorded[1] = false;
  EXPECT_EQ(failed_aspects(check(record)),
            (std::vector{ConformAspect::symbolic, ConformAspect::metadata}));
}

TEST(Conform, AliasingIsPartOfTheResult) {
  EXPECT_EQ(
      failed_aspects(check(doubled(), table(true))),
      (std::vector{ConformAspect::symbolic, ConformAspect::metadata, ConformAspect::mutation}));
}

TEST(Conform, RandomResultsCompareMetadataOnly) {
  auto record = doubled();
  record.seeded = true;
  auto wrong = *record.results[0].real();
  from_vector<double>(wrong, std::vector<double>(6, -1));
  const auto report = check(record);
  EXPECT_TRUE(report.failures.empty());
  EXPECT_EQ(report.overloads.at(0).values_compared, 0);
}

TEST(Conform, CallsWithoutARowAreCounted) {
  auto record = doubled();
  record.overload = "test.thrice.default";
  EXPECT_EQ(check(record).overloads.at(0).without_row, 1);
}

TEST(OneOperator, ClaimsWhatFakePredictedAndObservesWhatEagerDid) {
  auto record = doubled();
  EXPECT_FALSE(has_significant_fake_error(record));
  record.fake[0]->strides = {1, 2};
  EXPECT_TRUE(has_significant_fake_error(record));
  const auto capture = one_operator_capture(record);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_TRUE(verify(capture->graph).empty());
  ASSERT_EQ(capture->inputs.size(), 1U);
  const auto* call = capture->graph.find("call");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->target, "test.twice.default");
  EXPECT_EQ(call->claim.tensor()->strides, (Dims{1, 2}));
  EXPECT_EQ(capture->observed.at(call->id).tensor->strides, (Ints{3, 1}));
  EXPECT_EQ(capture->observed.at(call->id).sum, 42);
}

TEST(OneOperator, InsignificantStridesAreNoError) {
  auto record = doubled();
  auto& result = std::get<Tensor>(record.results[0].value);
  result.meta.sizes = {1, 3};
  record.fake[0]->sizes = {1, 3};
  record.fake[0]->strides = {99, 1};
  EXPECT_FALSE(has_significant_fake_error(record));
}

TEST(CaseFile, AMissingFileIsAnError) {
  EXPECT_FALSE(run_conformance("/nonexistent/cases.sqlite", table()));
}

}  // namespace
}  // namespace assay
