// Dtypes under autocast, as PyTorch 2.11 has them on the CPU and on a GPU.
#include "replay/interp/autocast.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "replay/interp/symbolic.h"
#include "tests/support/run_text.h"

namespace assay {
namespace {

/// A line whose first tensors are f32 `x`, `w`, `y`, `v` and i64 `t`, and the dtype that it has;
/// `z` is x @ w.
struct Case {
  const char* device;
  const char* line;
  const char* shape;  ///< sizes and strides
  const char* dtype;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.device << ": " << one.line;
}

auto text_of(const Case& one, std::string_view enter, std::string_view of_z, std::string_view leave)
    -> std::string {
  const auto input = [&](std::string_view name, std::string_view type) {
    return fmt::format("{}: \"{}{}\"", name, type, one.device);
  };
  return fmt::format(
      "class G(torch.nn.Module):\n    def forward(self, {}, {}, {}, {}):\n{}"
      "        z: \"{}[6, 4][4, 1]{}\" = x @ w\n{}        r: \"{}{}{}\" = {}\n"
      "        return (r,)\n",
      input("x", "f32[6, 5][5, 1]"), input("w", "f32[5, 4][4, 1]"), input("y", "f32[6, 4][4, 1]"),
      input("t", "i64[6][1]"), enter, of_z, one.device, leave, one.dtype, one.shape, one.device,
      one.line);
}
auto enter(std::string_view device, std::string_view arguments = "torch.bfloat16, True, None")
    -> std::string {
  device = device.substr(0, device.find(':'));
  return fmt::format("        m = torch.amp.autocast_mode._enter_autocast('{}', {})\n", device,
                     arguments);
}

/// Rules give what the text claims, where they give anything.
void expect_claims(const std::string& text) {
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().message << "\n" << text;
  const auto run = run_symbolic(*graph, testing::rows());
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const auto& node = graph->nodes[i];
    if (node.name != "z" && node.name != "r") continue;
    EXPECT_EQ(run.nodes[i].verdict, ClaimVerdict::equal) << text << run.nodes[i].rule;
  }
}

class AutocastTest : public ::testing::TestWithParam<Case> {};

TEST_P(AutocastTest, BetweenItsBeginAndItsEnd) {
  expect_claims(text_of(GetParam(), enter(GetParam().device), "bf16", ""));
}

TEST_P(AutocastTest, WhereTheFunctionIsCalledUnderIt) {
  expect_claims(text_of(GetParam(), "", "bf16", ""));
}

INSTANTIATE_TEST_SUITE_P(
    , AutocastTest,
    ::testing::Values(
        Case{"cpu", "torch.nn.functional.linear(y, y)", "[6, 6][6, 1]", "bf16"},
        Case{"cpu", "torch.nn.functional.softmax(z, 1)", "[6, 4][4, 1]", "bf16"},
        Case{"cpu", "torch.nn.functional.cross_entropy(z, t)", "[][]", "f32"},
        Case{"cpu", "torch.nn.functional.nll_loss(z, t)", "[][]", "f32"},
        Case{"cpu", "torch.nn.functional.mse_loss(z, z)", "[][]", "f32"},
        Case{"cpu", "torch.cat([z, y], 1)", "[6, 8][8, 1]", "f32"},
        Case{"cpu", "torch.functional.einsum('ij,kj->ik', y, y)", "[6, 6][6, 1]", "bf16"},
        Case{"cpu", "torch._C._nn.pad(z, (1, 1), 'reflect', None)", "[6, 6][6, 1]", "f32"},
        Case{"cpu", "torch._C._nn.pad(z, (1, 1), 'constant', None)", "[6, 6][6, 1]", "bf16"},
        Case{"cpu", "z.exp()", "[6, 4][4, 1]", "bf16"}, Case{"cpu", "z.sum()", "[][]", "bf16"},
        Case{"cpu", "z + y", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "torch._C._nn.linear(y, z)", "[6, 6][6, 1]", "bf16"},
        Case{"cuda:0", "torch.nn.functional.softmax(z, 1)", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "torch.nn.functional.cross_entropy(z, t)", "[][]", "f32"},
        Case{"cuda:0", "torch.nn.functional.layer_norm(z, (4,))", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "torch._C._nn.softplus(z)", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "torch._C._nn.gelu(z)", "[6, 4][4, 1]", "bf16"},
        Case{"cuda:0", "z.sum(dtype = torch.bfloat16)", "[][]", "bf16"},
        Case{"cuda:0", "z.cumsum(0)", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "z ** 2", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "torch.atan2(z, z)", "[6, 4][4, 1]", "bf16"},
        Case{"cuda:0", "torch.atan2(z, y)", "[6, 4][4, 1]", "f32"},
        Case{"cuda:0", "z.mean()", "[][]", "bf16"}));

TEST(Autocast, EndsAndIsTurnedOff) {
  const Case product{"cpu", "torch._C._nn.linear(y, y)", "[6, 6][6, 1]", "f32"};
  const std::string leave = "        e = torch.amp.autocast_mode._exit_autocast(m)\n";
  expect_claims(text_of(product, enter("cpu"), "bf16", leave));
  std::string off = enter("cpu", "torch.bfloat16, False, None");
  off.replace(off.find("m ="), 1, "o");
  expect_claims(text_of(product, enter("cpu"), "bf16", off));
  expect_claims(text_of(product, enter("cuda"), "f32", ""));  // of another device
}

TEST(Autocast, HasADtypeOfItsOwnOnEachDevice) {
  const std::string usual = "None, True, None";
  expect_claims(text_of({"cuda:0", "torch._C._nn.linear(z, y)", "[6, 6][6, 1]", "f16"},
                        enter("cuda", usual), "f16", ""));
  expect_claims(text_of({"cpu", "torch._C._nn.linear(z, y)", "[6, 6][6, 1]", "bf16"},
                        enter("cpu", usual), "bf16", ""));
}

TEST(Autocast, OfBodiesIsOnInThem) {
  expect_claims(
      "class G(torch.nn.Module):\n"
      "    def forward(self, x: \"f32[6, 5][5, 1]cpu\"):\n"
      "        b = self.b\n"
      "        c = torch.ops.higher_order.wrap_with_autocast('cpu', torch.bfloat16, True, None, b, "
      "x)\n"
      "        r: \"bf16[6, 6][6, 1]cpu\" = c[0]\n"
      "        return (r,)\n\n"
      "    class b(torch.nn.Module):\n"
      "        def forward(self, x):\n"
      "            y = torch.ops.aten.linear.default(x, x)\n"
      "            return (y,)\n");
}

}  // namespace
}  // namespace assay
