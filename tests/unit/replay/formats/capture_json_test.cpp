#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/graph/text.h"
#include "replay/formats/capture.h"

namespace assay {
namespace {

/// A capture of y = x * 2 over an int64 tensor of claimed size [s0, 2], with more top-level
/// members.
auto capture_text(const std::string& members, const std::string& value = R"(
    {"dtype": "int64", "size": ["s0", 2], "stride": [2, 1], "offset": 0, "device": "cpu"})")
    -> std::string {
  return R"({"kind": "fwd", "nodes": [
    {"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}, "val": )" +
         value + R"(},
    {"name": "mul", "op": "call_function", "target": "<built-in function mul>",
     "args": [{"node": "x"}, 2], "kwargs": {}, "val": null,
     "stack": ["  File \"m.py\", line 5, in f", "    y = x * 2"], "module": ["L['self'].a"]},
    {"name": "output", "op": "output", "target": "output", "args": [[{"node": "mul"}]],
     "kwargs": {}, "val": null}],
   "symbols": {"s0": {"hint": 3, "range": ["2", "int_oo"], "sources": ["L['x'].size()[0]"]}})" +
         (members.empty() ? "" : ", " + members) + "}";
}

auto read(const std::string& text, const std::filesystem::path& folder = {}) -> Capture {
  auto capture = read_capture_json(text, folder);
  EXPECT_TRUE(capture.has_value()) << capture.error().message;
  return capture ? *std::move(capture) : Capture{};
}

auto error_of(const std::string& text, const std::filesystem::path& folder = {}) -> std::string {
  const auto capture = read_capture_json(text, folder);
  return capture ? "no error" : capture.error().message;
}

auto data_of(const Capture& capture, const RecordedTensor& tensor) -> std::vector<std::int64_t> {
  const auto& bytes =
      *std::get<1>(capture.storages[static_cast<std::size_t>(tensor.storage)].content);
  std::vector<std::int64_t> values(bytes.size() / 8);
  std::memcpy(values.data(), bytes.data(), values.size() * 8);
  return values;
}

/// zlib data of the int64 values 1, 2, 3, 4, 5, 6.
const std::string kOneToSix = "eJxjZIAAJijNDKVZoDQrlGaD0gAB8AAW";

TEST(CaptureJson, PlacesOfGuardsReadAlike) {
  const auto capture = read(capture_text(
      R"("guards": [{"expr": "s0 <= 9", "where": "<FrameSummary file a b.py, line 12 in f>"},
                    {"expr": "s0 <= 8", "where": "m.py:3 in <module>"},
                    {"expr": "s0 <= 7", "where": "<FrameSummary of something else>"}])"));
  ASSERT_EQ(capture.graph.env.guards().size(), 3U);
  EXPECT_EQ(capture.graph.env.guards()[0].where, "a b.py:12 in f");
  EXPECT_EQ(capture.graph.env.guards()[1].where, "m.py:3 in <module>");
  EXPECT_EQ(capture.graph.env.guards()[2].where, "<FrameSummary of something else>");
}

TEST(CaptureJson, ReadsNodesSymbolsAndOrigins) {
  const auto capture = read(capture_text(
      R"("guards": [{"expr": "s0 <= 9", "where": null}], "replacements": {"s1": "4"})"));
  EXPECT_EQ(capture.kind, "fwd");
  EXPECT_TRUE(verify(capture.graph).empty());
  const auto* mul = capture.graph.find("mul");
  ASSERT_NE(mul, nullptr);
  EXPECT_EQ(print_call(capture.graph, *mul), "x * 2");
  EXPECT_EQ(*mul->origin, (Origin{"m.py", 5, "f", "y = x * 2", "L['self'].a"}));
  const auto* symbol = capture.graph.env.find("s0");
  EXPECT_EQ(symbol->hint, Expr(3));
  EXPECT_EQ(symbol->sources, std::vector<std::string>{"L['x'].size()[0]"});
  ASSERT_EQ(capture.graph.env.guards().size(), 1U);
  EXPECT_EQ(capture.graph.env.guards()[0].text, "s0 <= 9");
  EXPECT_EQ(capture.graph.env.replacements().size(), 1U);
  EXPECT_EQ(capture.inputs.size(), 1U);
  EXPECT_EQ(capture.inputs[0].index(), 0U);
}

TEST(CaptureJson, ReadsArgumentsOfAllKinds) {
  const auto arg = [](const std::string& json) {
    auto text = capture_text("");
    const auto at = text.find("\"args\": [{\"node\": \"x\"}, 2]");
    text.replace(at, std::strlen("\"args\": [{\"node\": \"x\"}, 2]"), "\"args\": [" + json + "]");
    text.replace(text.find("<built-in function mul>"), 23, "aten.f");
    const auto capture = read_capture_json(text);
    if (!capture) return capture.error().message;
    const auto* node = capture->graph.find("mul");
    return print_arg(capture->graph, node->args.at(0));
  };
  const std::pair<const char*, const char*> cases[] = {
      {"null", "None"},
      {"true", "True"},
      {"1", "1"},
      {"1.0", "1.0"},
      {"1e-5", "1e-05"},
      {"\"floor\"", "'floor'"},
      {"[1, {\"node\": \"x\"}]", "[1, x]"},
      {"{\"f\": \"-inf\"}", "-inf"},
      {"{\"f\": \"nan\"}", "nan"},
      {"{\"c\": [1, -2]}", "complex(1.0, -2.0)"},
      {"{\"slice\": [1, null, 2]}", "slice(1, None, 2)"},
      {"{\"dict\": {\"a\": 1}}", "{'a': 1}"},
      {"{\"repr\": \"torch.float32\"}", "torch.float32"},
      {"{\"repr\": \"cpu\"}", "device(type='cpu')"},
      {"{\"repr\": \"torch.strided\"}", "torch.strided"},
      {"{\"repr\": \"torch.contiguous_format\"}", "torch.contiguous_format"},
      {"{\"repr\": \"<weird>\"}", "raw('<weird>')"},
      {"{\"sym\": \"s0 + 1\"}", "s0 + 1"},
      {"{\"tuple\": [1]}", "(1,)"},
      {"{\"bogus\": 1}", "capture json: nodes[1] (mul): args[0]: unknown argument {\"bogus\":1}"},
      {"{\"node\": \"later\"}",
       "capture json: nodes[1] (mul): args[0]: unknown or later node \"later\""},
  };
  for (const auto& [json, wanted] : cases) EXPECT_EQ(arg(json), wanted) << json;
}

TEST(CaptureJson, ReadsClaimsOfAllKinds) {
  const auto claim = [](const std::string& json) {
    const auto capture = read_capture_json(capture_text("", json));
    if (!capture) return capture.error().message;
    auto options = PrintOptions{.header = false};
    const auto text = print_graph(capture->graph, options);
    const auto start = text.find("self, ") + 6;
    return text.substr(start, text.find("):\n", start) - start);
  };
  EXPECT_EQ(claim("null"), "x");
  EXPECT_EQ(claim("{\"sym\": \"s0\"}"), "x: \"Sym(s0)\"");
  EXPECT_EQ(claim("[{\"const\": null}, {\"const\": 3}]"), "x: \"(None, Sym(3))\"");
  EXPECT_EQ(claim(R"({"dtype": "float32", "size": [1], "stride": [1, 2]})"),
            "capture json: nodes[0] (x): val: 1 sizes but 2 strides");
  EXPECT_EQ(claim(R"({"dtype": "float33", "size": [], "stride": []})"),
            "capture json: nodes[0] (x): val: unknown dtype \"float33\"");
}

TEST(CaptureJson, ReadsObservations) {
  const auto capture = read(capture_text(R"("real": {
    "x": {"dtype": "int64", "size": [3, 2], "stride": [1, 3], "offset": 4, "sum": 21, "abs": 21},
    "mul": [{"const": null}, {"const": 5}, {"dtype": "float32", "size": [], "stride": [],
            "offset": 0, "sum": {"f": "nan"}, "abs": {"f": "nan"}}]})"));
  const auto& x = capture.observed.at(capture.graph.find("x")->id);
  EXPECT_EQ(x.tensor->strides, (Ints{1, 3}));
  EXPECT_EQ(x.tensor->offset, 4);
  EXPECT_EQ(x.sum, 21);
  const auto& mul = capture.observed.at(capture.graph.find("mul")->id);
  ASSERT_EQ(mul.items.size(), 3U);
  EXPECT_TRUE(mul.is_tuple);
  EXPECT_FALSE(mul.items[0].scalar.has_value());
  EXPECT_EQ(mul.items[1].scalar, Expr(5));
  EXPECT_TRUE(std::isnan(mul.items[2].sum.value()));
}

TEST(CaptureJson, ADeviceThatWasNotRecordedIsUnknownButThatOfAnInputIsTheClaimed) {
  const auto capture = read(capture_text(R"("real": {
    "x": {"dtype": "int64", "size": [3, 2], "stride": [2, 1], "offset": 0},
    "mul": [{"dtype": "int64", "size": [], "stride": [], "offset": 0, "device": "cuda:1"},
            {"dtype": "int64", "size": [], "stride": [], "offset": 0}]})",
                                         R"(
    {"dtype": "int64", "size": ["s0", 2], "stride": [2, 1], "offset": 0, "device": "cuda:0"})"));
  const auto& x = capture.observed.at(capture.graph.find("x")->id);
  EXPECT_EQ(x.tensor->device, (Device{"cuda", 0}));
  const auto& mul = capture.observed.at(capture.graph.find("mul")->id);
  EXPECT_EQ(mul.items[0].tensor->device, (Device{"cuda", 1}));
  EXPECT_EQ(mul.items[1].tensor->device.type, "");
}

TEST(CaptureJson, ReadsBodiesOfHigherOrderOperators) {
  const auto body = [](const std::string& target, const std::string& more = "") {
    return R"({"nodes": [{"name": "x", "op": "placeholder", "target": "x", "args": []},
      {"name": "y", "op": "call_function", "target": ")" +
           target + R"(", "args": [{"node": "x"}]},
      {"name": "output", "op": "output", "target": "output", "args": [[{"node": "y"}]]}])" +
           more + "}";
  };
  const auto inner = R"(, "graphs": {"z": )" + body("aten.tan.default") + "}";
  const auto capture = read(capture_text(R"("graphs": {"a": )" + body("aten.sin.default", inner) +
                                         R"(, "b": )" + body("aten.cos.default") + "}"));
  EXPECT_TRUE(verify(capture.graph).empty());
  ASSERT_EQ(capture.graph.children.size(), 2U);
  const auto target = [](const Graph* graph) { return graph ? graph->nodes[1].target : "none"; };
  EXPECT_EQ(target(capture.graph.child("a")), "aten.sin.default");
  EXPECT_EQ(target(capture.graph.child("b")), "aten.cos.default");
  EXPECT_EQ(target(capture.graph.child("a")->child("z")), "aten.tan.default");
  EXPECT_EQ(capture.graph.child("a")->nodes[0].name, "x");
}

TEST(CaptureJson, ErrorsInBodiesNameTheirPlace) {
  EXPECT_EQ(error_of(capture_text(R"("graphs": {"a": 3})")),
            "capture json: graphs[a]: expected an object with a list of \"nodes\"");
  EXPECT_EQ(error_of(capture_text(
                R"("graphs": {"a": {"nodes": [{"name": "y", "op": "call_function",
                   "target": "aten.sin.default", "args": [{"node": "x"}]}]}})")),
            "capture json: graphs[a]: nodes[0] (y): args[0]: unknown or later node \"x\"");
}

TEST(CaptureJson, PackedDataGoesWhereTheStridesSay) {
  const auto capture = read(capture_text(
      R"("real": {"x": {"dtype": "int64", "size": [3, 2], "stride": [1, 3], "offset": 1}},
         "inputs": [{"zlib": ")" +
      kOneToSix + R"(", "contiguous": true}])"));
  const auto& x = std::get<RecordedTensor>(capture.inputs[0]);
  EXPECT_EQ(x.meta.strides, (Ints{1, 3}));
  EXPECT_EQ(x.meta.storage_bytes, 56);
  EXPECT_EQ(data_of(capture, x), (std::vector<std::int64_t>{0, 1, 3, 5, 2, 4, 6}));
}

TEST(CaptureJson, RefusesBrokenPackedData) {
  const auto with = [](const std::string& data, const std::string& size) {
    return error_of(capture_text(R"("real": {"x": {"dtype": "int64", "size": )" + size +
                                 R"(, "offset": 0}},
           "inputs": [{"zlib": ")" +
                                 data + R"("}])"));
  };
  const std::string place = "capture json: inputs[0] (x): ";
  EXPECT_EQ(with("!!", "[3, 2]"), place + "data is not base64");
  EXPECT_EQ(with("AAAA", "[3, 2]"), place + "broken zlib data");
  EXPECT_EQ(with(kOneToSix, "[3, 3]"), place + "zlib data holds 48 bytes, expected 72");
  EXPECT_EQ(with(kOneToSix, "[3, 1]"), place + "zlib data is cut off or holds more than 24 bytes");
  EXPECT_EQ(with(kOneToSix, "[100000, 1000]"),
            place + "24 bytes of zlib data cannot hold 800000000 bytes");
  EXPECT_EQ(with(kOneToSix, "[-1]"), place + "i64[-1][1]cpu has a negative size or offset");
}

TEST(CaptureJson, FillsCoverTheWholeStorage) {
  const auto capture = read(capture_text(
      R"("real": {"x": {"dtype": "float32", "size": [2, 2], "stride": [4, 1], "offset": 1}},
         "inputs": [{"fill": {"seed": 7, "lo": -0.25, "hi": 0.25, "storage_numel": 8}}])"));
  const auto& x = std::get<RecordedTensor>(capture.inputs[0]);
  EXPECT_EQ(x.meta.storage_bytes, 32);
  EXPECT_EQ(capture.storages[0].fill_dtype, DType::float32);
  EXPECT_EQ(std::get<Fill>(capture.storages[0].content).seed, 7U);
}

TEST(CaptureJson, KeepsALayoutPastItsStorageForTheInterpreterToReport) {
  const auto capture = read(capture_text(
      R"("real": {"x": {"dtype": "float32", "size": [9], "stride": [1], "offset": 0}},
         "inputs": [{"fill": {"seed": 7, "lo": 0, "hi": 1, "storage_numel": 8}}])"));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[0]).meta.sizes, (Ints{9}));
  EXPECT_EQ(capture.storages[0].size_bytes, 32);
}

TEST(CaptureJson, InputsMayShareStorages) {
  const auto capture = read(capture_text(R"("storages": [{"nbytes": 48, "zlib": ")" + kOneToSix +
                                         R"("}],
      "inputs": [{"storage": 0, "dtype": "int64", "size": [2], "stride": [1], "offset": 2}],
      "attributes": {"w": {"storage": 0, "dtype": "int64", "size": [3], "stride": [2]}})"));
  const auto& x = std::get<RecordedTensor>(capture.inputs[0]);
  EXPECT_EQ(x.storage, 0);
  EXPECT_EQ(x.meta.storage_bytes, 48);
  EXPECT_EQ(capture.attributes.at("w").storage, 0);
  EXPECT_EQ(data_of(capture, x), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(error_of(capture_text(R"("storages": [{"nbytes": 8}],
      "inputs": [{"storage": 0, "dtype": "int64", "size": [2], "stride": [1], "offset": 0}])")),
            "capture json: inputs[0] (x): i64[2][1]cpu needs 16 bytes, storage 0 has 8");
  EXPECT_EQ(error_of(capture_text(R"("inputs": [{"storage": 0, "dtype": "int64", "size": [2]}])")),
            "capture json: inputs[0] (x): there is no storage 0");
}

TEST(CaptureJson, ReadsDataFilesBelowItsFolderOnly) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("assay-json-{}", ::getpid());
  std::filesystem::create_directories(folder / "blobs");
  std::ofstream(folder / "blobs" / "a") << std::string(16, '\0');
  const auto with = [](const std::string& file) {
    return capture_text(R"("inputs": [{"file": ")" + file +
                        R"(", "dtype": "int64", "size": [2]}])");
  };
  const auto capture = read(with("blobs/a"), folder);
  EXPECT_EQ(data_of(capture, std::get<RecordedTensor>(capture.inputs[0])),
            (std::vector<std::int64_t>{0, 0}));
  EXPECT_NE(error_of(with("../a"), folder).find("must be a path below"), std::string::npos);
  EXPECT_NE(error_of(with("/etc/passwd"), folder).find("must be a path below"), std::string::npos);
  EXPECT_NE(error_of(with("blobs/b"), folder).find("no such file"), std::string::npos);
  EXPECT_NE(error_of(with("blobs/a")).find("the folder is not known"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(CaptureJson, MetadataAloneLeavesValuesUnknown) {
  const auto capture = read(capture_text(
      R"("inputs": [{"meta": {"dtype": "int64", "size": [2], "stride": [1], "offset": 0,
                     "storage_bytes": 64}}])"));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[0]).meta.storage_bytes, 64);
  EXPECT_EQ(capture.storages[0].content.index(), 0U);
}

TEST(CaptureJson, InputsThatAreNoTensors) {
  const auto text = read(capture_text(R"("inputs": [{"value": "hello"}])", "null"));
  EXPECT_EQ(std::get<std::string>(text.inputs.at(0)), "hello");
  const auto none = read(capture_text(R"("inputs": [{"value": null}])", "null"));
  EXPECT_TRUE(std::holds_alternative<NoneArg>(none.inputs.at(0)));
  // A tensor of which nothing was recorded is not None.
  const auto unknown = read(capture_text(R"("inputs": [{"value": null}])"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(unknown.inputs.at(0)));
}

TEST(CaptureJson, ScalarInputs) {
  const auto capture = read(capture_text(R"("inputs": [{"value": 9}])"));
  EXPECT_EQ(std::get<Expr>(capture.inputs[0]), Expr(9));
  EXPECT_EQ(error_of(capture_text(R"("inputs": [])")), "capture json: 0 inputs for 1 placeholders");
}

TEST(CaptureJson, ConstantsOfOneElementComeFromTheirSum) {
  auto text = capture_text(R"("real": {"mul": {"dtype": "int64", "size": [1], "stride": [5],
                              "offset": 3, "sum": -7.0, "abs": 7.0}})");
  const std::string op = R"("op": "call_function", "target": "<built-in function mul>",
     "args": [{"node": "x"}, 2])";
  text.replace(text.find(op), op.size(), R"("op": "get_attr", "target": "c", "args": [])");
  const auto capture = read(text);
  ASSERT_TRUE(capture.attributes.contains("c"));
  EXPECT_EQ(data_of(capture, capture.attributes.at("c")), std::vector<std::int64_t>{-7});
}

TEST(CaptureJson, HintsOutsideTheRangeOfAFloatSymbolAreNotUsed) {
  const auto capture = read(
      R"({"nodes": [], "symbols": {"zf1": {"hint": 0, "range": ["0.1", "0.1"], "sources": []},
          "zf2": {"hint": 2, "range": ["-oo", "oo"], "sources": []},
          "zf3": {"hint": 3.141592653589793,
                  "range": ["3.14159265358979", "3.14159265358979"]}}})");
  EXPECT_FALSE(capture.graph.env.find("zf1")->hint.has_value());
  EXPECT_EQ(capture.graph.env.find("zf2")->hint, Expr::real(2));
  EXPECT_EQ(capture.graph.env.find("zf3")->hint, Expr::real(3.14159265358979));
  EXPECT_EQ(capture.warnings.size(), 1U);
}

TEST(CaptureJson, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of(capture_text(R"("version": 1)")), "no error");
  EXPECT_EQ(error_of(capture_text(R"("version": 2)")),
            "capture json: version 2; this program reads version 1");
  EXPECT_EQ(error_of("[]"), "capture json: expected an object with a list of \"nodes\"");
  EXPECT_NE(error_of("{\"nodes\": [").find("malformed JSON"), std::string::npos);
  EXPECT_EQ(error_of(R"({"nodes": [{"name": "a b", "op": "output"}]})"),
            "capture json: nodes[0] (a b): \"a b\" is no name of a node");
  EXPECT_EQ(error_of(R"({"nodes": [{"name": "a", "op": "dance"}]})"),
            "capture json: nodes[0] (a): unknown op \"dance\"");
  EXPECT_EQ(error_of(R"({"nodes": [], "real": {"q": {"const": 1}}})"),
            "capture json: real[q]: no such node");
}

TEST(CaptureJson, SymbolsAreWhatReadsAsASymbol) {
  EXPECT_EQ(error_of(R"({"nodes": [], "symbols": {"oo": {"hint": 2}}})"),
            "capture json: symbols[oo]: \"oo\" is no name of a symbol");
  EXPECT_EQ(error_of(capture_text(R"("replacements": {"oo": "s0 + 1"})")),
            "capture json: replacements[oo]: \"oo\" is no name of a symbol");
  EXPECT_EQ(error_of(R"({"nodes": [], "symbols": {"s0": {"hint": "s1"}}})"),
            "capture json: symbols[s0]: the hint is no number");
  EXPECT_EQ(error_of(R"({"nodes": [], "symbols": {"s0": {"range": ["s1", "8"]}}})"),
            "capture json: symbols[s0]: ends of a range must be numbers");
}

TEST(CaptureJson, SurvivesDeepNesting) {
  std::string deep(100000, '[');
  EXPECT_NE(error_of("{\"nodes\": " + deep).find("malformed JSON"), std::string::npos);
}

TEST(GraphText, GivesOneUnknownInputPerPlaceholder) {
  const auto capture = read_graph_text(
      "class A(torch.nn.Module):\n    def forward(self, x, y):\n        return (x,)\n");
  ASSERT_TRUE(capture.has_value());
  EXPECT_EQ(capture->format, "fx text");
  EXPECT_EQ(capture->inputs.size(), 2U);
}

TEST(CaptureJson, ABareWordIsTheNameOfAHigherOrderOperator) {
  auto text = capture_text("");
  text.replace(text.find("<built-in function mul>"), 23, "cond");
  text.replace(text.find("\"name\": \"mul\""), 13, "\"name\": \"cond\"");
  text.replace(text.find("\"node\": \"mul\""), 13, "\"node\": \"cond\"");
  const auto capture = read(text);
  EXPECT_EQ(capture.graph.nodes[1].target, "higher_order.cond");
  EXPECT_TRUE(verify(capture.graph).empty());
  EXPECT_TRUE(parse_graph(print_graph(capture.graph)));
}

}  // namespace
}  // namespace assay
