// Random operators against what PyTorch drew for the same seed (tests/torch/record_random.py).
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/ops/generator.h"
#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Json = nlohmann::json;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}
auto dtype_named(const std::string& text) -> DType {
  for (const auto& row : dtype_infos())
    if (row.name == text) return row.dtype;
  throw std::runtime_error(text);
}
auto tensor_of(const Json& json, const Device& device) -> Tensor {
  RealMeta meta;
  meta.dtype = dtype_named(json.at("dtype"));
  meta.sizes = json.at("size").get<Ints>();
  meta.strides =
      json.at("stride").is_null() ? contiguous_strides(meta.sizes) : json.at("stride").get<Ints>();
  meta.offset = json.at("offset");
  meta.device = device;
  std::int64_t extent = meta.offset + 1;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d)
    extent += (meta.sizes[d] - 1) * meta.strides[d];
  auto whole = *Tensor::contiguous(meta.dtype, {extent});
  std::vector<double> values(static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        json.at("value").is_string() ? static_cast<double>(i + 1) : json.at("value").get<double>();
  from_vector<double>(whole, values);
  meta.storage_bytes = whole.meta.storage_bytes;
  whole.meta = meta;
  return whole;
}
auto argument(const Json& json, const Device& device) -> Datum {
  if (json.is_null()) return {};
  if (json.is_object()) return {tensor_of(json, device)};
  if (json.is_array()) return ints(json.get<Ints>());
  if (json.is_boolean()) return flag(json.get<bool>());
  if (json.is_number_integer()) return integer(json.get<std::int64_t>());
  return real(json.get<double>());
}
auto call(RealDomain& domain, const std::string& overload, const DatumList& args,
          const Device& device) -> Result<Tensor> {
  const auto* row = domain.find(overload);
  if (row == nullptr) return unsupported("no row {}", overload);
  const bool makes = std::ranges::none_of(args, &Datum::is_tensor);
  std::vector<std::pair<std::string, Datum>> named;
  if (makes) named.emplace_back("device", Datum{device});
  ASSAY_TRY(const auto bound, bind_arguments(row->schema, args, named));
  ASSAY_TRY(const auto result, domain.run(*row, bound));
  return result.list() ? *result.list()->front().real() : *result.real();
}
/// One unit of the dtype, or what single-precision functions of two libraries differ by.
auto allowed(DType dtype, double largest) -> double {
  if (!is_floating(dtype)) return 0;
  const double unit = std::ldexp(1.0, 1 - significand_bits(dtype));
  return (dtype == DType::float64 ? 4 : dtype == DType::float32 ? 32 : 2) * unit * largest;
}

struct Recording {
  const char* file;
  int fewest;  ///< cases in it
};

class RandomStream : public ::testing::TestWithParam<Recording> {
 protected:
  static void check(const Json& one, const Json& environment) {
    const Device device{.type = environment.at("device"), .index = -1};
    GpuSize gpu;
    if (environment.contains("threads"))
      gpu = {.multiprocessors = environment.at("multiprocessors"),
             .threads_per_multiprocessor = environment.at("threads")};
    const auto random =
        std::make_shared<RandomState>(environment.at("seed").get<std::uint64_t>(), gpu,
                                      half_draws(environment.at("torch").get<std::string>()));
    RealDomain domain(table(), random);
    DatumList args;
    for (const auto& arg : one.at("args")) args.push_back(argument(arg, device));
    const auto overload = one.at("op").get<std::string>();
    const auto result = call(domain, overload, args, device);
    ASSERT_TRUE(result) << result.error().message;
    const auto all = to_vector<double>(*result);
    const auto whole = is_floating(result->dtype()) ? Ints() : to_vector<std::int64_t>(*result);
    const auto& at = one.at("at");
    double largest = 0;
    // Single precision near a pole of the tangent: one unit of the angle counts by the slope.
    const double condition = overload == "aten.cauchy_.default" ? 8 : 1;
    for (const auto& value : one.at("values"))
      largest = std::max(largest, std::fabs(value.get<double>()));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto where = at[i].get<std::size_t>();
      if (whole.empty())
        ASSERT_NEAR(all[where], one.at("values")[i].get<double>(),
                    condition * allowed(result->dtype(), largest))
            << "element " << where;
      else
        ASSERT_EQ(whole[where], one.at("values")[i].get<std::int64_t>()) << "element " << where;
    }
    const auto after = call(domain, "aten.rand.default", {ints({2})}, device);
    EXPECT_EQ(to_vector<double>(*after), one.at("after").get<std::vector<double>>());
  }
};

TEST_P(RandomStream, DrawsWhatPyTorchDrew) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR "/tests/data/random/") + GetParam().file);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const auto environment = Json::parse(line);
  int cases = 0;
  while (std::getline(file, line)) {
    const auto one = Json::parse(line);
    SCOPED_TRACE(one.at("op").get<std::string>() + one.at("args").dump());
    check(one, environment);
    ++cases;
  }
  EXPECT_GE(cases, GetParam().fewest);
}
// The last has what PyTorch 2.15 draws otherwise, numbers of 16 bits.
INSTANTIATE_TEST_SUITE_P(, RandomStream,
                         ::testing::Values(Recording{"cpu.jsonl", 355},
                                           Recording{"cuda.jsonl", 323},
                                           Recording{"cpu_halves.jsonl", 120}));

}  // namespace
}  // namespace assay
