// Readers of foreign files answer damaged input with an error, never with a crash, a hang or a huge
// allocation; what they accept is well formed.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "core/graph/text.h"
#include "replay/formats/capture.h"

namespace assay {
namespace {

const std::string kScript =
    "s77 = 5\nimport torch\n# torch version: 2.11.0\nisolate_fails_code_str = None\n"
    "class Repro(torch.nn.Module):\n    def __init__(self) -> None:\n        super().__init__()\n"
    "        self.register_buffer('c', tensor([[1, 2], [3, 4]], dtype=torch.int64))\n"
    "        self.w = torch.nn.Parameter(torch.randn([4], dtype=torch.float32, "
    "device=\"cuda\"))\n\n"
    "    def forward(self, a, x, y):\n        c = self.c\n        getitem = x[0];  x = None\n"
    "        mul = a * 2;  a = None\n"
    "        add = torch.ops.aten.add.Tensor(getitem, y, alpha = 2)\n        return (add, c, "
    "mul)\n\n"
    "def load_args(reader):\n    reader.symint(5)  # a\n"
    "    buf0 = reader.storage('h', 4*s77*8, device=device(type='cuda', index=0))\n"
    "    reader.tensor(buf0, (s77, 8), (8, 1), dtype=torch.float32, is_leaf=True)  # x\n"
    "    reader.tensor(buf0, (8,), storage_offset=Max(1, s77))  # y\n"
    "load_args._version = 0\nmod = Repro()\n";

const std::string kJson = R"json({"version": 1, "kind": "inf", "nodes": [
 {"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}, "stack": null,
  "val": {"dtype": "int64", "size": ["s0", 2], "stride": [2, 1], "offset": 0, "device": "cpu"}},
 {"name": "c", "op": "get_attr", "target": "c", "args": [], "kwargs": {}, "val": null},
 {"name": "f", "op": "call_function", "target": "aten.f.default", "args": [{"node": "x"}, [1, 2.5,
  {"f": "inf"}, {"slice": [null, 1, null]}, {"repr": "torch.float32"}, {"c": [1, 2]}]],
  "kwargs": {"k": {"dict": {"a": {"node": "c"}}}}, "val": [{"sym": "s0 + 1"}, {"const": null}],
  "stack": ["File \"m.py\", line 5, in f", "  x"], "module": ["a.b"]},
 {"name": "output", "op": "output", "target": "output", "args": [[{"node": "f"}]], "kwargs": {}}],
 "symbols": {"s0": {"hint": 3, "range": ["2", "int_oo"], "sources": ["L['x'].size()[0]"]}},
 "guards": [{"expr": "Eq(Mod(s0, 3), 0)", "where": "m.py:1"}], "replacements": {"s1": "s0*2"},
 "storages": [{"nbytes": 64, "fill": {"seed": 1, "lo": 0, "hi": 1, "dtype": "float32"}}],
 "inputs": [{"zlib": "eJxjZIAAJijNDKVZoDQrlGaD0gAB8AAW", "contiguous": true}],
 "attributes": {"d": {"storage": 0, "dtype": "float32", "size": [2], "stride": [1], "offset": 3}},
 "real": {"x": {"dtype": "int64", "size": [3, 2], "stride": [1, 3], "offset": 0, "sum": 21},
  "c": {"dtype": "float32", "size": [], "stride": [], "offset": 0, "sum": 0.5, "abs": 0.5},
  "f": [{"const": 4}, {"const": null}]}})json";

/// The text with a few random edits: cuts, stray bytes, swapped pieces, large numbers.
auto damaged(std::string text, std::mt19937& random) -> std::string {
  static const std::string kPieces[] = {"9223372036854775807",
                                        "-1",
                                        "(",
                                        "]",
                                        "\"",
                                        "'",
                                        "None",
                                        "null",
                                        "{}",
                                        "[",
                                        ",",
                                        "s0",
                                        "1e9",
                                        "\n    "};
  for (auto edits = 1 + random() % 4; edits > 0; --edits) {
    if (text.empty()) return text;
    const auto at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text.erase(at, 1 + random() % 12);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random() % 256));
        break;
      case 2:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 3:
        text.replace(at, 1 + random() % 3, kPieces[random() % std::size(kPieces)]);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 40));
        break;
    }
  }
  return text;
}

void damage(const std::string& text, const std::function<Result<Capture>(std::string_view)>& read) {
  const char* set = std::getenv("ASSAY_SEED");
  const auto seed =
      set ? static_cast<std::uint32_t>(std::strtoul(set, nullptr, 10)) : std::random_device{}();
  std::cout << "ASSAY_SEED=" << seed << "\n";
  ASSERT_TRUE(read(text).has_value()) << read(text).error().message;
  std::mt19937 random(seed);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto broken = damaged(text, random);
    const auto capture = read(broken);
    if (!capture) {
      EXPECT_FALSE(capture.error().message.empty());
      ++refused;
      continue;
    }
    ++accepted;
    for (const auto& input : capture->inputs) {
      if (const auto* tensor = std::get_if<RecordedTensor>(&input)) {
        ASSERT_LT(static_cast<std::size_t>(tensor->storage), capture->storages.size());
      }
    }
    const auto again = parse_graph(print_graph(capture->graph));
    if (verify(capture->graph).empty()) {
      ASSERT_TRUE(again.has_value()) << again.error().message << "\n" << broken;
      EXPECT_TRUE(same_structure(capture->graph, *again)) << broken;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(DamagedInput, ReproScripts) {
  damage(kScript, read_repro_script);
}

TEST(DamagedInput, CaptureJson) {
  damage(kJson, [](std::string_view text) { return read_capture_json(text); });
}

}  // namespace
}  // namespace assay
