// Kernels as Inductor's templates for products are: block products, and conditions that are known
// when a kernel is compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "compiler/interpret/interpret.h"
#include "compiler/program/text.h"
#include "compiler/read/wrapper.h"

namespace assay {
namespace {

constexpr int kM = 70, kN = 90, kK = 50, kBlock = 16;

/// The wrapper with parts of its text as others, in float32.
auto wrapper_with(const std::vector<std::pair<std::string, std::string>>& changes) -> std::string {
  std::ifstream stream(ASSAY_SOURCE_DIR "/tests/data/wrappers/mm_template.py");
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  auto text = bytes.str();
  std::vector<std::pair<std::string, std::string>> all = {{"fp16", "fp32"}, {"float16", "float32"}};
  all.insert(all.end(), changes.begin(), changes.end());
  for (const auto& [part, other] : all) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += other.size())
      text.replace(at, part.size(), other);
  }
  return text;
}

auto element(int i) -> float {
  return std::sin(static_cast<float>(i)) * 1.7F;
}

auto run(const std::string& text) -> Result<ProgramRun> {
  ASSAY_TRY(const auto program, read_wrapper(text));
  static const auto rows = build_op_table();
  ASSAY_TRY(const auto ready, Interpreter(rows).compile(program));
  DatumList inputs;
  for (const auto& [height, width] : {std::pair{kM, kK}, std::pair{kK, kN}}) {
    std::vector<double> values;
    for (int i = 0; i < height * width; ++i) values.push_back(element(i));
    auto tensor = Tensor::contiguous(DType::float32, {height, width});
    from_vector(*tensor, std::span<const double>(values));
    inputs.emplace_back(*tensor);
  }
  return ready->run(inputs, {});
}

constexpr const char* kKnown = "N % BLOCK_N == 0 and N > 1";

TEST(BlockProduct, IsAddedInTheOrderOfK) {
  const auto result = run(wrapper_with({}));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->findings.empty());
  const auto seen = to_vector<double>(*result->outputs.at(0).real());
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int first = 0; first < kK; first += kBlock) {
        float part = 0;
        for (int k = first; k < std::min(first + kBlock, kK); ++k)
          part = std::fma(element(i * kK + k), element(k * kN + j), part);
        sum += part;
      }
      ASSERT_EQ(seen[static_cast<std::size_t>(i * kN + j)], sum) << i << " " << j;
    }
}

TEST(BlockProduct, KnownConditionsChooseWhatIsRead) {
  // Columns beyond the last are other elements, or none at all.
  const auto wrong = run(wrapper_with({{kKnown, "N > 1 or M == 0"}}));
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_FALSE(wrong->findings.empty());
  const auto chain = run(wrapper_with(
      {{fmt::format("if {}:\n        rbn = rn\n    else:\n        rbn = rn % N\n", kKnown),
        "if N == 1:\n        rbn = nothing\n    elif M == 1:\n        rbn = nothing\n"
        "    elif N > 1:\n        rbn = rn % N\n    elif K > 1:\n        rbn = nothing\n"
        "    else:\n        rbn = nothing\n"}}));
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_TRUE(chain->findings.empty());
}

/// Products that Inductor writes itself (`triton.native_matmul`): the number of the matrix in a
/// stack has no dimension of its own.
constexpr std::string_view kOfStacks = R"(
k = async_compile.triton('k', """
import triton
@triton_heuristics.pointwise(
    size_hints={'z': 2, 'y': 64, 'x': 128, 'r0_': 64},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'znumel': 'i32', 'ynumel': 'i32', 'xnumel': 'i32', 'r0_numel': 'i32', 'ZBLOCK': 'constexpr', 'YBLOCK': 'constexpr', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'BatchMatmulGrid3D'})
@triton.jit
def k(in_ptr0, in_ptr1, out_ptr0, znumel, ynumel, xnumel, r0_numel, ZBLOCK : tl.constexpr, YBLOCK : tl.constexpr, XBLOCK : tl.constexpr):
    znumel = 2
    ynumel = 35
    xnumel = 90
    r0_numel = 50
    R0_BLOCK: tl.constexpr = 64
    zindex = tl.program_id(0) * ZBLOCK + tl.arange(0, ZBLOCK)
    zmask = zindex < znumel
    yindex = tl.program_id(1) * YBLOCK + tl.arange(0, YBLOCK)[None, :, None, None]
    ymask = yindex < ynumel
    xindex = tl.program_id(2) * XBLOCK + tl.arange(0, XBLOCK)[None, None, :, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, None, None, :]
    r0_mask = r0_index < r0_numel
    tl.extra.cuda.gdc_wait()
    tmp0 = tl.load(in_ptr0 + (r0_index + 50*yindex + 1750*zindex), r0_mask & ymask & zmask, other=0.0)
    tmp1 = tl.load(in_ptr1 + (xindex + 90*r0_index), r0_mask & xmask, other=0.0)
    tmp2 = tl.reshape(tmp0, [YBLOCK, R0_BLOCK])
    tmp3 = tl.trans(tl.reshape(tmp1, [XBLOCK, R0_BLOCK]))
    tmp4 = tl.dot(tmp2, tmp3, input_precision="ieee")
    tmp5 = tl.broadcast_to(tmp4, [YBLOCK, XBLOCK])
    tmp6 = tmp5[None,:,:,None].to(tl.float32)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out_ptr0 + (xindex + 90*yindex + 3150*zindex), tmp6, xmask & ymask & zmask)
""", device_str='cuda')
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = empty_strided_cuda((2, 35, 90), (3150, 90, 1), torch.float32)
    k.run(arg0_1, arg1_1, buf0, 2, 35, 90, 50, stream=stream0)
    return (buf0, )
)";

TEST(BlockProduct, OfAStackHasAProgramForEachMatrix) {
  const auto result = run(std::string(kOfStacks));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->findings.empty());
  const auto seen = to_vector<double>(*result->outputs.at(0).real());
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      double sum = 0;
      for (int k = 0; k < kK; ++k)
        sum += static_cast<double>(element(i * kK + k)) * static_cast<double>(element(k * kN + j));
      ASSERT_NEAR(seen[static_cast<std::size_t>(i * kN + j)], sum, 1e-4) << i << " " << j;
    }
}

TEST(BlockProduct, SaysWhetherItMayBeRounded) {
  const auto may_round = [](const std::string& option) {
    const auto program = read_wrapper(wrapper_with({{"allow_tf32=ALLOW_TF32, ", option}}));
    EXPECT_TRUE(program);
    const auto& kernel = *program->kernels.begin()->second.kernel;
    const auto text = print_kernel(kernel);
    ShapeEnv env;
    const auto again = parse_kernel(text, env.pool());
    EXPECT_TRUE(again && print_kernel(*again) == text);
    return text.find("dot(block_k rounded)") != std::string::npos;
  };
  EXPECT_FALSE(may_round("allow_tf32=ALLOW_TF32, "));
  EXPECT_FALSE(may_round("input_precision='ieee', "));
  EXPECT_TRUE(may_round("input_precision='tf32', "));
  EXPECT_TRUE(may_round("allow_tf32=True, "));
  EXPECT_TRUE(may_round(""));
}

}  // namespace
}  // namespace assay
