#include "replay/bundle/bundle.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/graph/text.h"
#include "replay/bundle/open.h"
#include "replay/bundle/sha256.h"
#include "replay/formats/file.h"
#include "replay/formats/zip.h"
#include "tests/support/raw_zip.h"

namespace assay {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

auto bytes_of(std::string_view text) -> std::shared_ptr<const std::vector<std::byte>> {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return std::make_shared<std::vector<std::byte>>(first, first + text.size());
}

constexpr std::string_view kGraph = R"py(# assay graph 1
# symbol s0: hint 3, range [2, 64], source L['x'].size()[0]
# guard s0 <= 64
class Model(torch.nn.Module):
    def forward(self, s0: "Sym(s0)", x: "f32[s0, 2][2, 1]cpu", y: "f32[2][1]cpu", z: "f32[s0][1]cpu", u: "f32[4][1]cpu"):
        w: "f32[2][1]cpu" = self.fc.w
        add: "f32[s0, 2][2, 1]cpu" = torch.ops.aten.add.Tensor(x, w)
        split = torch.ops.aten.split.Tensor(add, 1, 1)
        getitem: "f32[s0, 1][2, 1]cpu" = split[0]
        return (getitem, y)
)py";

/// One of everything a capture can hold.
auto sample() -> Bundle {
  Bundle bundle;
  auto& capture = bundle.capture;
  capture.graph = parse_graph(kGraph).value();
  auto& env = capture.graph.env;
  const auto s0 = env.find("s0")->expr;
  capture.source_path = "/users/somebody/secret/model.pt2";
  capture.format = "pt2";
  capture.kind = "export";
  capture.storages = {
      {24, bytes_of("abcdefghijklmnopqrstuvwx"), std::nullopt},
      {8, Fill{7, -0.5, 1e-3}, DType::float32},
      {16, std::monostate{}, std::nullopt},
      {24, bytes_of("abcdefghijklmnopqrstuvwx"), std::nullopt},  // same content, other storage
  };
  const RealMeta whole{DType::float32, {3, 2}, {2, 1}, 0, 24, {}};
  const RealMeta part{DType::float32, {2}, {1}, 4, 24, {"cuda", 1}};
  SymbolicInput symbolic;
  symbolic.meta.sizes = {s0};
  symbolic.meta.strides = {Expr(1)};
  symbolic.storage_bytes = Expr(4) * s0;
  symbolic.storage = 2;
  capture.inputs = {Expr(3), RecordedTensor{0, whole}, RecordedTensor{0, part}, symbolic,
                    std::monostate{}};
  capture.attributes = {{"fc.w", {1, {DType::float32, {2}, {1}, 0, 8, {}}}}};
  Observation seen;
  seen.tensor = RealMeta{DType::float32, {3, 2}, {2, 1}, 0, 24, {}};
  seen.sum = std::numeric_limits<double>::quiet_NaN();
  seen.abs_sum = std::numeric_limits<double>::infinity();
  seen.alias_group = 3;
  Observation pair;
  pair.is_tuple = true;
  pair.items = {seen, Observation{}};
  pair.items[0].tensor->device.type.clear();  // not recorded
  pair.items[1].scalar = Expr::real(2.0);
  capture.observed = {{capture.graph.find("add")->id, seen},
                      {capture.graph.find("split")->id, pair}};
  capture.input_roles = {{InputRole::Kind::user_input, ""}, {InputRole::Kind::buffer, "b\"uf"}};
  capture.output_roles = {{OutputRole::Kind::user_output, ""}, {OutputRole::Kind::gradient, "w"}};
  capture.environment = {{"torch", "2.11.0"}, {"torch", "again"}};
  capture.warnings = {"one", "two"};
  capture.mutated_inputs = {"a"};
  bundle.verdict_json = R"({"command": "debug", "exit_code": 1})";
  bundle.extra = {{"zz/notes.txt", "unknown to us"}, {"aa.bin", std::string("\0\1", 2)}};
  return bundle;
}

auto written() -> std::string {
  const auto bytes = write_bundle(sample());
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes.value_or("");
}

auto unzip(const std::string& bytes) -> Files {
  const auto zip = ZipReader::open(bytes);
  EXPECT_TRUE(zip) << zip.error().message;
  Files files;
  for (const auto& entry : zip->entries())
    files.emplace_back(entry.name, zip->read(entry.name).value());
  return files;
}

auto rezip(const Files& files) -> std::string {
  std::vector<ZipFile> entries;
  for (const auto& [name, content] : files) entries.push_back({name, content});
  return write_zip(entries).value();
}

/// The error of the sample bundle after a change to its files.
auto error_after(const std::function<void(Files&)>& change) -> Error {
  auto files = unzip(written());
  change(files);
  const auto bundle = read_bundle(rezip(files));
  return bundle ? Error{ErrorCode::usage, "no error"} : bundle.error();
}

auto find(Files& files, const std::string& name) -> std::string& {
  const auto found = std::ranges::find(files, name, [](const auto& file) { return file.first; });
  EXPECT_NE(found, files.end()) << name;
  return found->second;
}

void replace_in(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

/// Changes a file and its hash in the manifest: what somebody with intent would do.
void forge(Files& files, const std::string& name, const std::string& from, const std::string& to) {
  auto& content = find(files, name);
  const auto old_hash = sha256(content);
  const auto old_size = content.size();
  replace_in(content, from, to);
  auto& manifest = find(files, "manifest.json");
  replace_in(manifest, fmt::format(R"("bytes": {}, "sha256": "{}")", old_size, old_hash),
             fmt::format(R"("bytes": {}, "sha256": "{}")", content.size(), sha256(content)));
}

TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Bundle, RewritingWhatWasReadGivesTheSameBytes) {
  const auto first = written();
  EXPECT_EQ(first, written());
  const auto read = read_bundle(first);
  ASSERT_TRUE(read) << read.error().message;
  const auto second = write_bundle(*read);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first, *second);
}

TEST(Bundle, EverythingOfACaptureComesBack) {
  const auto expected = sample();
  const auto bundle = read_bundle(written());
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto& capture = bundle->capture;
  EXPECT_TRUE(same_structure(capture.graph, expected.capture.graph));
  EXPECT_EQ(capture.graph.env.guards().size(), 1U);
  EXPECT_EQ(std::get<Expr>(capture.inputs[0]), Expr(3));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[1]).storage, 0);
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[2]).storage, 0) << "aliases stay aliases";
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[2]).meta,
            std::get<RecordedTensor>(expected.capture.inputs[2]).meta);
  const auto& symbolic = std::get<SymbolicInput>(capture.inputs[3]);
  const auto s0 = capture.graph.env.find("s0")->expr;
  EXPECT_EQ(symbolic.meta.sizes, Dims{s0});
  EXPECT_EQ(symbolic.storage_bytes, Expr(4) * s0);
  EXPECT_EQ(symbolic.storage, 2);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(capture.inputs[4]));
  ASSERT_EQ(capture.storages.size(), 4U);
  EXPECT_EQ(std::get<Fill>(capture.storages[1].content).lo, -0.5);
  EXPECT_EQ(capture.storages[1].fill_dtype, DType::float32);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(capture.storages[2].content));
  EXPECT_EQ(capture.attributes.at("fc.w").storage, 1);
  EXPECT_EQ(capture.observed.at(capture.graph.find("add")->id).alias_group, 3);
  EXPECT_EQ(capture.observed.at(capture.graph.find("split")->id).alias_group, -1);
  EXPECT_EQ(capture.mutated_inputs, std::vector<std::string>{"a"});
  const auto& seen = capture.observed.at(capture.graph.find("split")->id);
  ASSERT_EQ(seen.items.size(), 2U);
  EXPECT_TRUE(std::isnan(*seen.items[0].sum));
  const auto split = expected.capture.graph.find("split")->id;
  EXPECT_EQ(seen.items[0].tensor, expected.capture.observed.at(split).items[0].tensor);
  EXPECT_EQ(capture.observed.at(capture.graph.find("add")->id).tensor->device, Device{});
  EXPECT_EQ(seen.items[1].scalar, Expr::real(2.0)) << "a float does not become an integer";
  EXPECT_EQ(capture.input_roles[1].target, "b\"uf");
  EXPECT_EQ(capture.environment, expected.capture.environment);
  EXPECT_EQ(capture.warnings, expected.capture.warnings);
  EXPECT_EQ(bundle->verdict_json, expected.verdict_json);
  EXPECT_EQ(bundle->extra, expected.extra);
}

TEST(Bundle, EqualContentsAreStoredOnceAndNamedAfterTheirHash) {
  auto files = unzip(written());
  const auto blobs =
      std::ranges::count_if(files, [](const auto& f) { return f.first.starts_with("blobs/"); });
  EXPECT_EQ(blobs, 1);
  EXPECT_EQ(find(files, "blobs/" + sha256("abcdefghijklmnopqrstuvwx")), "abcdefghijklmnopqrstuvwx");
  EXPECT_EQ(files[0].first, "manifest.json");
}

TEST(Bundle, NothingTellsOfTheMachineItIsFrom) {
  for (const auto& [name, content] : unzip(written()))
    EXPECT_FALSE(content.contains("somebody")) << name;
  EXPECT_EQ(read_bundle(written())->capture.source_path, "model.pt2");
}

TEST(Bundle, EveryChangedByteIsNoticed) {
  for (const auto& [name, content] : unzip(written())) {
    if (name == "manifest.json") continue;
    const auto error =
        error_after([&member = name](Files& files) { find(files, member).back() ^= 1; });
    EXPECT_TRUE(error.message.contains("SHA-256")) << name << ": " << error.message;
    EXPECT_TRUE(error.message.contains(name)) << error.message;
  }
}

TEST(Bundle, MissingAndUnlistedFilesAreRefused) {
  EXPECT_TRUE(error_after([](Files& files) { files.pop_back(); }).message.contains("missing"));
  EXPECT_TRUE(error_after([](Files& files) {
                files.emplace_back("more", "x");
              }).message.contains("more is not listed"));
  EXPECT_TRUE(error_after([](Files& files) {
                files.erase(files.begin());
              }).message.contains("manifest.json"));
}

TEST(Bundle, NewerVersionsAreUnsupportedByNumber) {
  const auto error = error_after([](Files& files) {
    replace_in(find(files, "manifest.json"), "\"version\": 1", "\"version\": 2");
  });
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_TRUE(error.message.contains("version 2")) << error.message;
}

TEST(Bundle, ForgedContentWithRightHashesIsStillChecked) {
  const auto forged = [](const std::string& from, const std::string& to) {
    return error_after([&](Files& files) { forge(files, "capture.json", from, to); }).message;
  };
  EXPECT_TRUE(
      forged("\"storage\": 0", "\"storage\": 9").contains("input \"x\": there is no storage 9"));
  EXPECT_TRUE(forged("\"storage\": 0", "\"storage\": -1").contains("no storage"));
  EXPECT_TRUE(forged("\"size\": [3, 2]", "\"size\": [3, 3]").contains("storage of 24 bytes"));
  EXPECT_TRUE(forged("\"size\": [3, 2]", "\"size\": [-3, 2]").contains("input \"x\""));
  EXPECT_TRUE(forged("\"bytes\": 24", "\"bytes\": 25").contains("storage 0"));
  EXPECT_TRUE(forged("\"dtype\": \"float32\"", "\"dtype\": \"float33\"").contains("float33"));
  EXPECT_TRUE(forged("\"name\": \"x\"", "\"name\": \"q\"").contains("input 1 is not \"x\""));
  EXPECT_TRUE(forged("\"add\": {", "\"adx\": {").contains("unknown node \"adx\""));
  EXPECT_TRUE(forged("\"blob\": \"", "\"blob\": \"../").contains("no blobs/../"));
  EXPECT_TRUE(forged("{\n \"format\"", "[{\n \"format\"").contains("malformed JSON"));
  const auto graph = error_after(
      [](Files& files) { forge(files, "graph.txt", "return (getitem", "return (getitem, ,"); });
  EXPECT_TRUE(graph.message.starts_with("graph.txt: line ")) << graph.message;
}

TEST(Bundle, PathsThatEscapeAreRefusedBeforeAnythingIsRead) {
  const auto bytes = testing_support::raw_zip({testing_support::stored("manifest.json", "{}"),
                                               testing_support::stored("../../etc/passwd", "x")});
  const auto bundle = read_bundle(bytes);
  ASSERT_FALSE(bundle);
  EXPECT_TRUE(bundle.error().message.contains("unsafe name"));
}

TEST(Bundle, BadPartsAreRefusedWhenWriting) {
  auto bad_verdict = sample();
  bad_verdict.verdict_json = "{";
  EXPECT_TRUE(write_bundle(bad_verdict).error().message.contains("verdict.json"));
  for (const std::string name : {"graph.txt", "blobs/x", "manifest.json", "../x", "zz/notes.txt"}) {
    auto bundle = sample();
    bundle.extra.emplace_back(name, "x");
    EXPECT_FALSE(write_bundle(bundle)) << name;
  }
  auto short_inputs = sample();
  short_inputs.capture.inputs.pop_back();
  EXPECT_TRUE(write_bundle(short_inputs).error().message.contains("no value for input \"u\""));
}

TEST(Bundle, ReproNamesBlobsFillsHintsAndTheGraph) {
  auto files = unzip(written());
  const auto& repro = find(files, "repro.py");
  for (const std::string& part :
       {R"({"bytes": 24, "blob": ")" + sha256("abcdefghijklmnopqrstuvwx") + "\"}",
        std::string(R"({"bytes": 8, "fill": (7, -0.5, 0.001), "dtype": torch.float32})"),
        std::string(R"(("s0", 3),)"),
        std::string(R"(("y", tensor(0, torch.float32, (2,), (1,), 4, "cuda:1")),)"),
        std::string(R"(("z", tensor(4, torch.float32, (3,), (1,), 0, "cpu")),  # at the hints)"),
        std::string(R"({"bytes": 12},)"),
        std::string(R"("fc.w": tensor(1, torch.float32, (2,), (1,), 0, "cpu"),)"),
        std::string("class Repro(torch.nn.Module):"),
        std::string("torch.ops.aten.add.Tensor(x, w)")})
    EXPECT_TRUE(repro.contains(part)) << part << "\n" << repro;
  EXPECT_FALSE(repro.contains("inductor_prims"));
}

TEST(Bundle, TextFromElsewhereCannotBecomeCodeOfTheRepro) {
  auto bundle = sample();
  bundle.capture.source_path = "x\nimport os";
  bundle.capture.environment = {{"torch", "1\r\nimport os"}};
  bundle.capture.attributes.emplace("a\"]; import os; [\"", bundle.capture.attributes.at("fc.w"));
  auto files = unzip(write_bundle(bundle).value());
  const auto& repro = find(files, "repro.py");
  EXPECT_FALSE(repro.contains("\nimport os"));
  EXPECT_FALSE(repro.contains("a\"]"));
}

TEST(Open, BundlesAndOtherInputsOpenAlike) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("assay_open_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto path = folder / "x.assay.zip";
  ASSERT_TRUE(write_file_atomically(path, written()));
  ASSERT_TRUE(write_file_atomically(folder / "g.txt", kGraph));
  const auto capture = open_capture(path);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->format, "bundle");
  EXPECT_EQ(capture->source_path, path.string());
  const auto text = open_capture(folder / "g.txt");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(same_structure(text->graph, capture->graph));
  EXPECT_FALSE(open_bundle(path)->verdict_json.empty());
  EXPECT_TRUE(open_bundle(folder / "g.txt")->verdict_json.empty());
  EXPECT_TRUE(open_capture(folder / "no").error().message.ends_with("no such file"));
  EXPECT_TRUE(read_capture_file(path).error().message.contains("bundle"));
  std::filesystem::remove_all(folder);
}

TEST(Open, TheCallsRecordedBesideACaptureGoIntoItsBundle) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("assay_calls_{}", ::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file_atomically(folder / "g.txt", kGraph));
  EXPECT_EQ(open_capture(folder / "g.txt")->operator_cases, nullptr);
  ASSERT_TRUE(write_file_atomically(folder / kOperatorCases, "recorded calls"));
  Bundle bundle;
  bundle.capture = open_capture(folder / "g.txt").value();
  ASSERT_NE(bundle.capture.operator_cases, nullptr);
  const auto bytes = write_bundle(bundle);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto again = read_bundle(*bytes);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_NE(again->capture.operator_cases, nullptr);
  EXPECT_EQ(*again->capture.operator_cases, "recorded calls");
  EXPECT_TRUE(again->extra.empty());
  EXPECT_EQ(write_bundle(*again), *bytes);
  std::filesystem::remove_all(folder);
}

TEST(Bundle, NoneAndTextAreInputs) {
  Bundle bundle;
  bundle.capture.graph = parse_graph("def forward(self, a, b):\n    return (a,)\n").value();
  bundle.capture.inputs = {NoneArg{}, std::string("it's \"text\"")};
  const auto bytes = write_bundle(bundle);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto again = read_bundle(*bytes);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(std::holds_alternative<NoneArg>(again->capture.inputs[0]));
  EXPECT_EQ(std::get<std::string>(again->capture.inputs[1]), "it's \"text\"");
}

auto program_sample() -> ProgramBundle {
  return {.source_path = "/users/somebody/wrapper.py",
          .text = "def call(args):\n    return ()\n",
          .inputs_json = R"({"inputs": []})",
          .verdict_json = R"({"command": "run", "exit_code": 1})",
          .extra = {{"zz/notes.txt", "unknown to us"}}};
}

TEST(ProgramBundle, HoldsWhatItWasGiven) {
  const auto bytes = write_bundle(program_sample());
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_TRUE(is_program_bundle(*bytes));
  EXPECT_FALSE(is_program_bundle(written()));
  const auto read = read_program_bundle(*bytes);
  ASSERT_TRUE(read) << read.error().message;
  const auto sample = program_sample();
  EXPECT_EQ(read->source_path, "wrapper.py");  // nothing of the machine it is from
  EXPECT_EQ(read->text, sample.text);
  EXPECT_EQ(read->inputs_json, sample.inputs_json);
  EXPECT_EQ(read->verdict_json, sample.verdict_json);
  EXPECT_EQ(read->extra, sample.extra);
  EXPECT_EQ(write_bundle(*read).value(), *bytes);
}

TEST(ProgramBundle, IsNoCaptureAndACaptureIsNone) {
  const auto bytes = write_bundle(program_sample()).value();
  const auto as_capture = read_bundle(bytes);
  ASSERT_FALSE(as_capture);
  EXPECT_TRUE(as_capture.error().message.contains("compiled program"))
      << as_capture.error().message;
  EXPECT_FALSE(read_program_bundle(written()));
}

TEST(ProgramBundle, ContentThatWasChangedIsRefused) {
  auto files = unzip(write_bundle(program_sample()).value());
  replace_in(find(files, "program.py"), "call", "kall");
  const auto read = read_program_bundle(rezip(files));
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.contains("program.py")) << read.error().message;
}

TEST(ProgramBundle, PartsThatAreWrongAreRefused) {
  auto no_json = program_sample();
  no_json.inputs_json = "{";
  EXPECT_FALSE(write_bundle(no_json));
  auto taken = program_sample();
  taken.extra.emplace_back("program.log", "x");
  EXPECT_FALSE(write_bundle(taken));
}

}  // namespace
}  // namespace assay
