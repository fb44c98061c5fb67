#include "replay/formats/pickle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "replay/formats/torch_file.h"
#include "tests/support/pickles.h"

namespace assay {
namespace {

using namespace testing_support;  // NOLINT: the opcode builders read best without a prefix

auto error_of(const std::string& bytes, const PickleLimits& limits = {}) -> std::string {
  const auto result = read_pickle(bytes, limits);
  return result ? "no error" : result.error().message;
}

template <class T>
auto root_as(const Pickle& pickle) -> const T* {
  return std::get_if<T>(&pickle.at(pickle.root).value);
}

TEST(Pickle, ScalarsKeepTypeAndValue) {
  const auto check = [](const Op& op, const auto& expected) {
    const auto result = read_pickle(pickle(op));
    ASSERT_TRUE(result) << result.error().message;
    const auto* value = root_as<std::remove_cvref_t<decltype(expected)>>(*result);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(*value, expected);
  };
  check(op_int(-7), std::int64_t{-7});
  check(std::string("K\xff", 2), std::int64_t{255});
  check(std::string("M\x01\x02", 3), std::int64_t{0x201});
  check(std::string("\x8a\x05\x00\x00\x00\x00\x80", 7), -(std::int64_t{1} << 39));
  check(std::string("\x8a\x00", 2), std::int64_t{0});
  check(std::string("G\x3f\xf8\0\0\0\0\0\0", 9), 1.5);
  check(op_bool(true), true);
  check(op_text("h\xc3\xa9"), std::string("h\xc3\xa9"));
}

TEST(Pickle, TensorsCarryStorageAndLayout) {
  const auto result = read_pickle(pickle(op_tensor("BFloat16Storage", "3", 12, {2, 3}, {4, 1}, 1)));
  ASSERT_TRUE(result) << result.error().message;
  const auto* tensor = root_as<PickleTensor>(*result);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::bfloat16);
  EXPECT_EQ(tensor->storage.key, "3");
  EXPECT_EQ(tensor->storage.size_bytes, 24);
  EXPECT_EQ(tensor->sizes, (Ints{2, 3}));
  EXPECT_EQ(tensor->strides, (Ints{4, 1}));
  EXPECT_EQ(tensor->offset, 1);
}

TEST(Pickle, ParametersSizesDevicesAndDtypesAreKnown) {
  const auto parameter =
      op_call(op_global("torch._utils", "_rebuild_parameter"),
              {op_tensor("FloatStorage", "0", 1, {}, {}), op_bool(true), op_dict({})});
  const auto result = read_pickle(
      pickle(op_tuple({parameter, op_call(op_global("torch", "Size"), {op_ints({2, 5})}),
                       op_call(op_global("torch", "device"), {op_text("cuda"), op_int(1)}),
                       op_global("torch", "float8_e4m3fn")})));
  ASSERT_TRUE(result) << result.error().message;
  const auto& items = root_as<PickleList>(*result)->items;
  const auto& tensor = std::get<PickleTensor>(result->at(items[0]).value);
  EXPECT_TRUE(tensor.is_parameter && tensor.requires_grad);
  EXPECT_EQ(std::get<PickleList>(result->at(items[1]).value).items.size(), 2U);
  EXPECT_EQ(std::get<Device>(result->at(items[2]).value), (Device{"cuda", 1}));
  EXPECT_EQ(std::get<DType>(result->at(items[3]).value), DType::float8_e4m3fn);
}

TEST(Pickle, TensorsOfNewDtypesNameTheirDtype) {
  const auto storage = op_tuple({op_text("storage"), op_global("torch.storage", "UntypedStorage"),
                                 op_text("0"), op_text("cpu"), op_int(6)}) +
                       "Q";
  const auto tensor = op_call(op_global("torch._utils", "_rebuild_tensor_v3"),
                              {storage, op_int(0), op_ints({3}), op_ints({1}), op_bool(false),
                               op_dict({}), op_global("torch", "uint16")});
  const auto result = read_pickle(pickle(tensor));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(root_as<PickleTensor>(*result)->dtype, DType::uint16);
}

TEST(Pickle, TensorsWithAttributesAreTensors) {
  const auto storage = op_tuple({op_text("storage"), op_global("torch", "FloatStorage"),
                                 op_text("7"), op_text("cpu"), op_int(8)}) +
                       "Q";
  const auto arguments =
      op_tuple({storage, op_int(0), op_ints({8}), op_ints({1}), op_bool(false), op_dict({})});
  const auto rebuilt = [&](const std::string& function, const std::string& type) {
    return read_pickle(pickle(op_call(op_global("torch._tensor", "_rebuild_from_type_v2"),
                                      {function, type, arguments, op_dict({})})));
  };
  const auto function = op_global("torch._utils", "_rebuild_tensor_v2");
  const auto result = rebuilt(function, op_global("torch", "Tensor"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(root_as<PickleTensor>(*result)->storage.key, "7");
  EXPECT_FALSE(rebuilt(op_global("torch", "device"), op_global("torch", "Tensor")));
  EXPECT_FALSE(rebuilt(function, op_global("torch", "FloatStorage")));
}

TEST(Pickle, AttributesOfAStateDictAreIgnored) {
  const auto result =
      read_pickle(pickle(op_call(op_global("collections", "OrderedDict"), {}) + "(" + op_text("w") +
                         op_int(1) + "u" + op_dict({{"_metadata", op_dict({})}}) + "b"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(root_as<PickleDict>(*result)->items.size(), 1U);
}

TEST(Pickle, GlobalsOutsideTheListAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"os", "system"},           {"posix", "system"},
      {"builtins", "eval"},       {"torch", "load"},
      {"torch", "float"},         {"torch.storage", "_load_from_bytes"},
      {"collections", "Counter"}, {"torch._utils", "_rebuild_sparse_tensor"}};
  for (const auto& [module, name] : refused) {
    const auto result = read_pickle(pickle(op_call(op_global(module, name), {op_text("id")})));
    ASSERT_FALSE(result) << module << name;
    EXPECT_EQ(result.error().code, ErrorCode::unsupported);
    EXPECT_TRUE(result.error().message.contains(fmt::format("{}.{}", module, name)))
        << result.error().message;
  }
  // The same by the opcode of newer protocols.
  EXPECT_TRUE(error_of(pickle(op_text("os") + op_text("system") + "\x93")).contains("os.system"));
}

TEST(Pickle, AllowedGlobalsCannotBeCalledWithWhateverOneLikes) {
  const auto rebuild = op_global("torch._utils", "_rebuild_tensor_v2");
  for (const auto& op : {op_call(rebuild, {}), op_call(rebuild, {op_int(1), op_int(2)}),
                         op_call(op_global("torch", "FloatStorage"), {op_int(1)}),
                         op_call(op_global("torch", "float32"), {}),
                         op_call(op_global("torch", "device"), {op_text("nowhere at all")}),
                         op_tensor("FloatStorage", "0", 4, {2, -2}, {2, 1}),
                         op_tensor("FloatStorage", "0", 4, {4}, {1, 1}),
                         op_tensor("FloatStorage", "0", -4, {4}, {1})})
    EXPECT_NE(error_of(pickle(op)), "no error");
}

TEST(Pickle, OpcodesThatBuildObjectsAreRefusedByName) {
  EXPECT_TRUE(error_of(pickle("(ios\nsystem\n")).contains("INST"));
  EXPECT_TRUE(error_of(pickle(op_global("torch", "Size") + ")\x81")).contains("NEWOBJ"));
  EXPECT_TRUE(error_of("\x80\x02\x82\x01.").contains("EXT1"));
  EXPECT_TRUE(error_of("\x80\x02\xfe.").contains("unknown opcode 0xfe"));
  EXPECT_TRUE(error_of("\x80\x06N.").contains("protocol 6"));
}

TEST(Pickle, TruncatedPicklesAreErrorsAtEveryLength) {
  const auto whole = pickle(op_dict({{"w", op_tensor("FloatStorage", "0", 4, {2, 2}, {2, 1})}}));
  ASSERT_EQ(error_of(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of(whole.substr(0, size)), "no error") << size;
}

TEST(Pickle, StackUnderflowAndWrongKindsAreErrorsWithAnOffset) {
  for (const std::string body :
       {"t",     "a", "e",  "s",  "u",  "R",   "Q",     "b",   "\x85", "0",   "h\x05",
        "q\x01", "(", "((", "NN", "Na", "N]a", "]N(eR", "))R", "(Nu",  "}(Nu"}) {
    const auto message = error_of(pickle(body));
    EXPECT_NE(message, "no error") << body;
    EXPECT_TRUE(message.starts_with("pickle offset")) << message;
  }
}

TEST(Pickle, ValuesThatContainThemselvesAreRefused) {
  EXPECT_TRUE(error_of(pickle(std::string("]q\0h\0a", 6))).contains("contains itself"));
}

TEST(Pickle, DeepNestingIsRefusedWithoutRecursing) {
  const auto nested = [](int depth) {
    return pickle("N" + std::string(static_cast<std::size_t>(depth), '\x85'));
  };
  EXPECT_EQ(error_of(nested(199)), "no error");
  EXPECT_TRUE(error_of(nested(300)).contains("nested deeper"));
  EXPECT_TRUE(error_of(nested(1'000'000)).contains("nested deeper"));
}

TEST(Pickle, DepthCountsThroughSharedParts) {
  // A chain of 150 is memoised while it hangs low, then hung below another chain of 150.
  const std::string chain(150, '\x85');
  const auto shared = "N" + chain + std::string("q\0", 2);
  EXPECT_TRUE(
      error_of(pickle("(" + shared + std::string("h\0", 2) + chain + "t")).contains("deeper"));
}

TEST(Pickle, SharedPartsThatExpandWithoutBoundAreRefused) {
  // Each level is a pair of the level before it: 2^60 values out of 300 bytes.
  std::string body = "Nq" + std::string(1, '\0');
  for (int i = 0; i < 60; ++i) {
    const auto slot = static_cast<char>(i);
    body += std::string("h") + slot + "\x86q" + static_cast<char>(i + 1);
  }
  EXPECT_TRUE(error_of(pickle(body)).contains("too many values"));
}

TEST(Pickle, NumberOfValuesIsLimited) {
  const auto many = pickle("(" + std::string(1000, 'N') + "t");
  EXPECT_EQ(error_of(many), "no error");
  EXPECT_TRUE(error_of(many, {.max_values = 500}).contains("stack is too deep"));
}

TEST(TorchFile, StoragesAreSharedByTheTensorsThatNameThem) {
  const auto bytes = torch_file(op_tuple({op_tensor("FloatStorage", "0", 4, {2}, {1}),
                                          op_tensor("FloatStorage", "0", 4, {2}, {1}, 2)}),
                                {float_bytes({1, 2, 3, 4})});
  const auto file = read_torch_file(bytes, "x.pt");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->storages.size(), 1U);
  EXPECT_EQ(file->storages.at("0")->size(), 16U);
}

TEST(TorchFile, ViewsOutsideTheirStorageAreRefused) {
  const auto error = [](const Op& op) {
    const auto file = read_torch_file(torch_file(op, {float_bytes({1, 2, 3, 4})}), "x.pt");
    return file ? std::string("no error") : file.error().message;
  };
  EXPECT_EQ(error(op_tensor("FloatStorage", "0", 4, {4}, {1})), "no error");
  EXPECT_TRUE(error(op_tensor("FloatStorage", "0", 5, {5}, {1})).contains("storage of 16 bytes"));
  EXPECT_TRUE(
      error(op_tensor("FloatStorage", "0", 4, {4}, {1}, 1)).contains("storage of 16 bytes"));
  EXPECT_TRUE(
      error(op_tensor("FloatStorage", "7", 4, {4}, {1})).contains("no entry archive/data/7"));
  EXPECT_TRUE(error(op_tensor("FloatStorage", "../x", 4, {4}, {1})).contains("no entry"));
}

TEST(TorchFile, BigEndianAndOldFilesAreUnsupported) {
  const auto big = read_torch_file(torch_file(op_int(1), {}, "big"), "x.pt");
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, ErrorCode::unsupported);
  const auto old = read_torch_file("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", "x.pt");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().message, "x.pt: written by torch before 1.6");
}

}  // namespace
}  // namespace assay
