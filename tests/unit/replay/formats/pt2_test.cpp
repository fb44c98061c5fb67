#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/formats/capture.h"
#include "replay/formats/zip.h"
#include "tests/support/pickles.h"

namespace assay {
namespace {

using namespace testing_support;  // NOLINT: the opcode builders read best without a prefix

auto replaced(std::string text, const std::string& from, const std::string& to) -> std::string {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

auto meta(const std::string& sizes, const std::string& strides, int dtype = 7) -> std::string {
  return fmt::format(
      R"({{"dtype": {}, "sizes": [{}], "strides": [{}], "storage_offset": {{"as_int": 0}},
          "requires_grad": false, "device": {{"type": "cpu", "index": null}}, "layout": 7}})",
      dtype, sizes, strides);
}

const std::string kS0 = R"json({"as_expr": {
    "expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 3}}})json";
const std::string kTwo = R"({"as_int": 2})";
const std::string kOne = R"({"as_int": 1})";

auto node(const std::string& target, const std::string& inputs, const std::string& outputs,
          const std::string& name) -> std::string {
  return fmt::format(
      R"({{"target": "{}", "inputs": [{}], "outputs": [{}], "name": "{}", "metadata": {{
          "stack_trace": "File \"a.py\", line 3, in outer\n    f(x)\n  File \"b.py\", line 9, in f\n    return x + w",
          "nn_module_stack": "L__self__,,M;L__self__fc,fc,torch.nn.Linear"}},
          "is_hop_single_tensor_return": null}})",
      target, inputs, outputs, name);
}

auto arg(const std::string& name, const std::string& value, int kind = 1) -> std::string {
  return fmt::format(R"({{"name": "{}", "arg": {}, "kind": {}}})", name, value, kind);
}

/// x + w with w of shape [2], then a split of the sum; one output of the split is used.
auto program() -> std::string {
  const auto nodes =
      node("torch.ops.aten.add.Tensor",
           arg("self", R"({"as_tensor": {"name": "x"}})") + "," +
               arg("other", R"({"as_tensor": {"name": "p_w"}})") + "," +
               arg("alpha", R"({"as_int": 2})", 2),
           R"({"as_tensor": {"name": "add"}})", "add") +
      "," +
      node("torch.ops.aten.split.Tensor",
           arg("self", R"({"as_tensor": {"name": "add"}})") + "," +
               arg("split_size", R"({"as_int": 1})") + "," + arg("dim", R"({"as_int": 1})"),
           R"({"as_tensors": [{"name": "getitem"}, {"name": "split_unused_1"}]})", "split");
  return fmt::format(
      R"({{"graph_module": {{"graph": {{
        "inputs": [{{"as_tensor": {{"name": "p_w"}}}}, {{"as_tensor": {{"name": "x"}}}}],
        "outputs": [{{"as_tensor": {{"name": "getitem"}}}}],
        "nodes": [{}],
        "tensor_values": {{"p_w": {}, "x": {}, "add": {}, "getitem": {}, "split_unused_1": {}}},
        "sym_int_values": {{}}, "sym_bool_values": {{}}, "sym_float_values": {{}},
        "is_single_tensor_return": false}},
       "signature": {{
        "input_specs": [{{"parameter": {{"arg": {{"name": "p_w"}}, "parameter_name": "fc.w"}}}},
                        {{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}}],
        "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "getitem"}}}}}}}}]}},
       "module_call_graph": []}},
      "range_constraints": {{"s0": {{"min_val": 2, "max_val": 64}}}},
      "schema_version": {{"major": 8, "minor": 17}}, "opset_version": {{"aten": 10}},
      "guards_code": ["L['x'].size()[0] <= 64"], "torch_version": "2.11.0"}})",
      nodes, meta(kTwo, kOne), meta(kS0 + "," + kTwo, kTwo + "," + kOne),
      meta(kS0 + "," + kTwo, kTwo + "," + kOne), meta(kS0 + "," + kOne, kTwo + "," + kOne),
      meta(kS0 + "," + kOne, kTwo + "," + kOne));
}

auto weights_config() -> std::string {
  return R"({"config": {"fc.w": {"path_name": "weight_0", "is_param": true, "use_pickle": false,
             "tensor_meta": )" +
         meta(kTwo, kOne) + "}}}";
}

const std::string kNoConstants = R"({"config": {}})";

/// The call f(x) with x = [[1, 2], [3, 4], [5, 6]].
auto sample_inputs() -> std::string {
  return torch_file(op_tuple({op_tuple({op_tensor("FloatStorage", "0", 6, {3, 2}, {2, 1})}), "}"}),
                    {float_bytes({1, 2, 3, 4, 5, 6})});
}

using Files = std::vector<std::pair<std::string, std::string>>;

auto archive(const Files& files) -> std::string {
  std::vector<ZipFile> entries;
  for (const auto& [name, content] : files) entries.push_back({name, content});
  return write_zip(entries).value();
}

/// torch >= 2.9: raw weights.
auto raw_files() -> Files {
  return {{"m/archive_format", "pt2"},
          {"m/byteorder", "little"},
          {"m/models/model.json", program()},
          {"m/data/weights/weight_0", float_bytes({10, 20, 30})},  // larger than the view on it
          {"m/data/weights/model_weights_config.json", weights_config()},
          {"m/data/constants/model_constants_config.json", kNoConstants},
          {"m/data/sample_inputs/model.pt", sample_inputs()}};
}

auto state_dict() -> std::string {
  return torch_file(op_dict({{"fc.w", op_tensor("FloatStorage", "0", 3, {2}, {1})}}),
                    {float_bytes({10, 20, 30})});
}

auto floats_of(const Capture& capture, const InputValue& value) -> std::vector<float> {
  const auto* tensor = std::get_if<RecordedTensor>(&value);
  if (tensor == nullptr) return {};
  const auto& storage = capture.storages[static_cast<std::size_t>(tensor->storage)];
  const auto& bytes = *std::get<std::shared_ptr<const std::vector<std::byte>>>(storage.content);
  const auto* first = reinterpret_cast<const float*>(bytes.data());
  return {first, first + bytes.size() / sizeof(float)};
}

auto error_of(const Files& files) -> Error {
  const auto capture = read_pt2(archive(files));
  return capture ? Error{ErrorCode::usage, "no error"} : capture.error();
}

auto with_file(const std::string& name, const std::string& content) -> Files {
  auto files = raw_files();
  for (auto& [path, bytes] : files)
    if (path == name) bytes = content;
  return files;
}

void expect_whole(const Result<Capture>& capture) {
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_TRUE(capture->warnings.empty()) << capture->warnings.front();
  EXPECT_TRUE(verify(capture->graph).empty());
  ASSERT_EQ(capture->inputs.size(), 2U);
  EXPECT_EQ(floats_of(*capture, capture->inputs[0]), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(floats_of(*capture, capture->inputs[1]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const auto& weight = std::get<RecordedTensor>(capture->inputs[0]);
  EXPECT_EQ(weight.meta.sizes, Ints{2});
  EXPECT_EQ(weight.meta.storage_bytes, 12) << "the whole storage counts, not the view";
}

TEST(Pt2, RawWeightsArchiveOfTorch29IsRead) {
  expect_whole(read_pt2(archive(raw_files())));
}

TEST(Pt2, PickledWeightsArchiveOfTorch28IsRead) {
  expect_whole(read_pt2(archive({{"m/archive_format", "pt2"},
                                 {"m/byteorder", "little"},
                                 {"m/models/model.json", program()},
                                 {"m/data/weights/model.pt", state_dict()},
                                 {"m/data/constants/model.pt", torch_file("}", {})},
                                 {"m/data/sample_inputs/model.pt", sample_inputs()}})));
}

TEST(Pt2, FlatArchiveBeforeTorch28IsRead) {
  expect_whole(read_pt2(archive({{"version", "8.7"},
                                 {"serialized_exported_program.json", program()},
                                 {"serialized_state_dict.pt", state_dict()},
                                 {"serialized_constants.pt", torch_file("}", {})},
                                 {"serialized_example_inputs.pt", sample_inputs()}})));
}

TEST(Pt2, GraphHasTheFormThatFxConsumersExpect) {
  const auto capture = read_pt2(archive(raw_files()));
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(print_graph(capture->graph, {.header = false, .claims = false, .origins = false}),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, p_w, x):\n"
            "        add = torch.ops.aten.add.Tensor(x, p_w, alpha = 2)\n"
            "        split = torch.ops.aten.split.Tensor(add, 1, 1)\n"
            "        getitem = split[0]\n"
            "        return (getitem,)\n");
  const auto* split = capture->graph.find("split");
  ASSERT_NE(split->claim.items(), nullptr);
  EXPECT_EQ(split->claim.items()->size(), 2U) << "an unused output is still claimed";
}

TEST(Pt2, SymbolsKeepRangeHintSourceAndGuards) {
  const auto capture = read_pt2(archive(raw_files()));
  ASSERT_TRUE(capture);
  const auto* symbol = capture->graph.env.find("s0");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(print_expr(symbol->range.low), "2");
  EXPECT_EQ(print_expr(symbol->range.high), "64");
  EXPECT_EQ(symbol->hint, Expr(3));
  EXPECT_EQ(symbol->sources, std::vector<std::string>{"L['x'].size()[0]"});
  ASSERT_EQ(capture->graph.env.guards().size(), 1U);
  EXPECT_EQ(print_expr(capture->graph.env.guards()[0].condition), "s0 <= 64");
  EXPECT_EQ(capture->graph.env.guards()[0].text, "L['x'].size()[0] <= 64");
}

TEST(Pt2, GuardsMayNameTheBaseOfAnInputAndInputsByPlace) {
  auto files = raw_files();
  files[2].second = replaced(program(), R"(["L['x'].size()[0] <= 64"])",
                             R"(["L['x']._base.size()[0] >= L['x'].size()[0] + 1",
                   "L['flat_args'][0].stride()[0] != L['flat_args'][0].size()[0]",
                   "L['flat_args'][7].size()[0] == 1"])");
  const auto capture = read_pt2(archive(files));
  ASSERT_TRUE(capture) << capture.error().message;
  const auto& guards = capture->graph.env.guards();
  ASSERT_EQ(guards.size(), 2U);
  EXPECT_EQ(print_expr(guards[1].condition), "Ne(s0, 2)");
  const auto* base = capture->graph.env.find("x_base_size_0");
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->range.low, Expr(0));
  EXPECT_EQ(base->sources, std::vector<std::string>{"L['x']._base.size()[0]"});
  EXPECT_EQ(capture->warnings,
            std::vector<std::string>{"guard was not understood: L['flat_args'][7].size()[0] == 1"});
}

TEST(Pt2, OriginIsTheInnermostFrameAndModule) {
  const auto capture = read_pt2(archive(raw_files()));
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->graph.find("add")->origin, (Origin{"b.py", 9, "f", "return x + w", "fc"}));
}

TEST(Pt2, RolesAndEnvironmentComeFromTheProgram) {
  const auto capture = read_pt2(archive(raw_files()));
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->format, "pt2");
  EXPECT_EQ(capture->kind, "export");
  EXPECT_EQ(capture->input_roles[0].kind, InputRole::Kind::parameter);
  EXPECT_EQ(capture->input_roles[0].target, "fc.w");
  EXPECT_EQ(capture->output_roles[0].kind, OutputRole::Kind::user_output);
  EXPECT_EQ(capture->environment[0].second, "2.11.0");
}

TEST(Pt2, HigherOrderOperatorsBringTheirGraphAlong) {
  const auto body = fmt::format(
      R"({{"as_graph": {{"name": "body", "graph": {{
        "inputs": [{{"as_tensor": {{"name": "x"}}}}], "outputs": [{{"as_tensor": {{"name": "sin"}}}}],
        "nodes": [{}], "tensor_values": {{"x": {}}}, "is_single_tensor_return": true}}}}}})",
      node("torch.ops.aten.sin.default", arg("self", R"({"as_tensor": {"name": "x"}})"),
           R"({"as_tensor": {"name": "sin"}})", "sin"),
      meta(kS0, kOne));
  const auto hop = node("torch.ops.higher_order.wrap",
                        arg("", body) + "," + arg("", R"({"as_tensor": {"name": "x"}})"),
                        R"({"as_tensor": {"name": "add"}})", "wrap");
  auto text = program();
  const auto begin = text.find(R"({"target": "torch.ops.aten.add.Tensor")");
  const auto end = text.find(R"({"target": "torch.ops.aten.split.Tensor")");
  text.replace(begin, end - begin, hop + ",");
  const auto capture = read_pt2(archive(with_file("m/models/model.json", text)));
  ASSERT_TRUE(capture) << capture.error().message;
  ASSERT_NE(capture->graph.child("body"), nullptr);
  EXPECT_EQ(capture->graph.child("body")->call_count(), 1);
  EXPECT_TRUE(verify(capture->graph).empty());
  const auto* call = capture->graph.find("add");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->target, "higher_order.wrap");
  EXPECT_EQ(capture->graph.find(operands(*call)[0])->kind, NodeKind::get_attr);
}

TEST(Pt2, AliasedWeightsShareOneStorage) {
  auto text = replaced(program(), R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                       R"({"buffer": {"arg": {"name": "x"}, "buffer_name": "tied",
                           "persistent": true}})");
  auto files = with_file("m/models/model.json", text);
  for (auto& [name, content] : files)
    if (name.ends_with("weights_config.json"))
      content = replaced(content, "\"config\": {",
                         R"("config": {"tied": {"path_name": "weight_0", "is_param": false,
                            "use_pickle": false, "tensor_meta": )" +
                             meta(kOne, kOne) + "},");
  const auto capture = read_pt2(archive(files));
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(std::get<RecordedTensor>(capture->inputs[0]).storage,
            std::get<RecordedTensor>(capture->inputs[1]).storage);
}

TEST(Pt2, WeightsThatWereFakeBecomeZerosWithAWarning) {
  const auto capture = read_pt2(archive(with_file("m/data/weights/weight_0", "")));
  ASSERT_TRUE(capture) << capture.error().message;
  const auto& weight = std::get<RecordedTensor>(capture->inputs[0]);
  EXPECT_EQ(weight.meta.storage_bytes, 8);
  const auto* fill =
      std::get_if<Fill>(&capture->storages[static_cast<std::size_t>(weight.storage)].content);
  ASSERT_NE(fill, nullptr);
  EXPECT_EQ(fill->hi, 0);
  ASSERT_EQ(capture->warnings.size(), 1U);
  EXPECT_TRUE(capture->warnings[0].contains("weight_0 is empty"));
}

TEST(Pt2, UnreadableSampleInputsAreAWarningNotAnError) {
  const auto evil = torch_file(op_call(op_global("os", "system"), {op_text("id")}), {});
  const auto capture = read_pt2(archive(with_file("m/data/sample_inputs/model.pt", evil)));
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(capture->inputs[1]));
  ASSERT_EQ(capture->warnings.size(), 1U);
  EXPECT_TRUE(capture->warnings[0].contains("os.system")) << capture->warnings[0];
}

TEST(Pt2, KeywordSamplesFollowTheSignatureNotThePickle) {
  auto text =
      replaced(program(), R"("parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.w"})",
               R"("user_input": {"arg": {"as_tensor": {"name": "p_w"}}})");
  text = replaced(text, R"("module_call_graph": [])",
                  R"json("module_call_graph": [{"fqn": "", "signature": {"in_spec":
                  "[1, {\"children_spec\": [{}, {\"context\": \"[\\\"p_w\\\", \\\"x\\\"]\"}]}]"}}])json");
  const auto call =
      torch_file(op_tuple({")", op_dict({{"x", op_tensor("FloatStorage", "0", 1, {1}, {1})},
                                         {"p_w", op_tensor("FloatStorage", "1", 1, {1}, {1})}})}),
                 {float_bytes({5}), float_bytes({7})});
  auto files = with_file("m/models/model.json", text);
  for (auto& [name, content] : files)
    if (name.ends_with("sample_inputs/model.pt")) content = call;
  const auto capture = read_pt2(archive(files));
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(floats_of(*capture, capture->inputs[0]), std::vector<float>{7});
  EXPECT_EQ(floats_of(*capture, capture->inputs[1]), std::vector<float>{5});
}

TEST(Pt2, UnknownArgumentKindsNameNodeAndKind) {
  const auto text =
      replaced(program(), R"({"as_int": 2}, "kind": 2)", R"({"as_quaternion": 2}, "kind": 2)");
  const auto error = error_of(with_file("m/models/model.json", text));
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_EQ(error.message, "node 0 \"add\": argument alpha: argument of kind \"as_quaternion\"");
}

TEST(Pt2, ProgramsOfPyTorch24AreRead) {
  const auto text = replaced(program(), "\"major\": 8", "\"major\": 5");
  const auto capture = read_pt2(archive(with_file("m/models/model.json", text)));
  EXPECT_TRUE(capture) << capture.error().message;
}

TEST(Pt2, BrokenProgramsNameThePlace) {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_of(with_file("m/models/model.json", replaced(program(), from, to))).message;
  };
  EXPECT_EQ(error(R"({"as_tensor": {"name": "p_w"}}, "kind")",
                  R"({"as_tensor": {"name": "no"}}, "kind")"),
            "node 0 \"add\": argument other: unknown value \"no\"");
  EXPECT_TRUE(
      error("\"dtype\": 7", "\"dtype\": 77").contains("tensor value \"p_w\": dtype code 77"));
  EXPECT_TRUE(error("\"major\": 8", "\"major\": 9").contains("export schema 9"));
  EXPECT_TRUE(error("\"major\": 8", "\"major\": 4").contains("export schema 4"));
  EXPECT_TRUE(error("Symbol('s0', positive", "Symbol('s0 positive").contains("expression"));
  EXPECT_TRUE(error(R"("outputs": [{"as_tensor": {"name": "getitem"}}])", R"("outputs": [3])")
                  .contains("graph output 0"));
  EXPECT_TRUE(error(R"({"user_output")", R"({"odd_output")").contains("odd_output"));
  EXPECT_TRUE(error_of(with_file("m/models/model.json", "[]")).message.contains("program"));
}

TEST(Pt2, NamesThatAreCodeAreRefused) {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_of(with_file("m/models/model.json", replaced(program(), from, to))).message;
  };
  const std::string evil = R"(x = 1\n        import os)";
  EXPECT_TRUE(error(R"("inputs": [{"as_tensor": {"name": "p_w"}})",
                    R"("inputs": [{"as_tensor": {"name": ")" + evil + R"("}})")
                  .contains("is no name"));
  EXPECT_TRUE(error("torch.ops.aten.add.Tensor", "__import__('os').system").contains("operator"));
  EXPECT_TRUE(error(R"({"name": "alpha")", R"({"name": "a=b, c")").contains("is no name"));
  EXPECT_TRUE(error(R"({"as_int": 2}, "kind": 2)", R"json({"as_operator": "f(1)"}, "kind": 2)json")
                  .contains("is no name"));
  EXPECT_TRUE(
      error(R"("type": "cpu")", R"json("type": "cpu'); import os")json").contains("device"));
}

TEST(Pt2, BrokenArchivesNameThePlace) {
  EXPECT_EQ(error_of(with_file("m/byteorder", "big")).code, ErrorCode::unsupported);
  EXPECT_TRUE(error_of(with_file("m/data/weights/weight_0", float_bytes({1})))
                  .message.contains("\"fc.w\""));
  EXPECT_TRUE(error_of(with_file("m/archive_format", "pt3")).message.contains("archive format"));
  EXPECT_EQ(error_of({{"archive/data.pkl", "x"}}).code, ErrorCode::unsupported);
  EXPECT_TRUE(error_of({{"readme", "x"}}).message.contains("no archive_format"));
  EXPECT_FALSE(read_pt2("not a zip"));
}

TEST(Pt2, TruncatedArchivesAreErrors) {
  const auto bytes = archive(raw_files());
  for (std::size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_FALSE(read_pt2(bytes.substr(0, size)));
}

/// The program with one more input, a constant of the call.
auto with_constant(const std::string& value) -> std::string {
  auto text = replaced(program(), R"({"as_tensor": {"name": "x"}}],)",
                       R"({"as_tensor": {"name": "x"}}, )" + value + "],");
  return replaced(text, R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
                  R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                     {"constant_input": {"name": "k", "value": )" +
                      value + "}}]");
}

TEST(Pt2, NoneTextAndTruthAreInputs) {
  const auto input = [](const std::string& value) {
    auto files = raw_files();
    files[2].second = with_constant(value);
    std::erase_if(files, [](const auto& file) { return file.first.contains("sample"); });
    const auto capture = read_pt2(archive(files));
    EXPECT_TRUE(capture.has_value()) << capture.error().message;
    return capture ? capture->inputs.at(2) : InputValue{};
  };
  EXPECT_TRUE(std::holds_alternative<NoneArg>(input(R"({"as_none": true})")));
  EXPECT_EQ(std::get<std::string>(input(R"({"as_string": "hello"})")), "hello");
  EXPECT_EQ(std::get<Expr>(input(R"({"as_bool": true})")), Expr::boolean(true));
}

TEST(Pt2, NothingIsClaimedOfASparseTensor) {
  auto files = raw_files();
  const auto first_claim = [&] {
    const auto capture = read_pt2(archive(files));
    EXPECT_TRUE(capture) << capture.error().message;
    return capture && !capture->graph.nodes[0].claim.empty();
  };
  EXPECT_TRUE(first_claim());
  files[2].second = replaced(program(), R"("layout": 7)", R"("layout": 1)");
  EXPECT_FALSE(first_claim());
}

}  // namespace
}  // namespace assay
