// Plans for GPUs without one: the CUDA sources of real models, thread by thread
// on the host, say what was recorded. So the lowering to CUDA, its barriers and
// the printed text are right for every kernel of these models.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"
#include "test/e2e/Stories.h"
#include "test/e2e/cuda/HostCudaDevice.h"

#include <algorithm>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

PlanStore &plans() {
  static PlanStore store("cuda-host");
  return store;
}

/// A checkpoint's program on the host. `settings` needs the architecture.
std::shared_ptr<rt::Program> load(const std::string &name,
                                  const fs::path &checkpoint,
                                  const CompileSettings &settings) {
  const std::string &plan = plans().compile(name, checkpoint, settings);
  return loadProgram(plan, [&](const rt::Plan &content) {
    return createHostCudaDevice(content,
                                plans().getFolder() / (name + ".host"));
  });
}

TEST(HostCuda, TheBundledModelWritesTheRecordedText) {
  std::vector<Story> stories = readStories();
  ASSERT_EQ(stories.size(), 3u);
  CompileSettings settings;
  settings.cudaArchs = {"sm_90a"};
  PlanModel model(
      load("stories", WEFT_SOURCE_DIR "/models/stories260k", settings));
  // One by one, as decoding does it, over the first block of the cache.
  const Story &first = stories.front();
  int64_t count = std::min<int64_t>(70, int64_t(first.ids.size()));
  EXPECT_EQ(model.generateGreedily(first.promptIds, count),
            std::vector<int32_t>(first.ids.begin(), first.ids.begin() + count));
  // Drawn on the GPU as on a CPU's host.
  PlanModel onCpu(
      plans().compile("stories-cpu", WEFT_SOURCE_DIR "/models/stories260k"));
  rt::GenerationOptions drawn;
  drawn.maxTokens = 12;
  drawn.sampling = {.temperature = 1,
                    .topK = 50,
                    .topP = 0.95,
                    .repetitionPenalty = 1.2,
                    .seed = 7};
  const std::vector<int32_t> prompts[] = {first.promptIds};
  EXPECT_EQ(model.generate(prompts, drawn)[0].ids,
            onCpu.generate(prompts, drawn)[0].ids);
  // All at once: the most likely token behind each one is the next.
  for (const Story &story : stories) {
    std::vector<int32_t> ids = story.promptIds;
    ids.insert(ids.end(), story.ids.begin(), story.ids.end());
    Table logits = model.computeLogits(ids);
    size_t prompt = story.promptIds.size(), width = size_t(logits.columns);
    for (size_t i = 0; i < width; ++i)
      EXPECT_NEAR(logits.values[(prompt - 1) * width + i], story.firstLogits[i],
                  1e-4);
    for (size_t t = prompt; t < ids.size(); ++t) {
      auto row = logits.values.begin() + int64_t((t - 1) * width);
      EXPECT_EQ(std::max_element(row, row + int64_t(width)) - row, ids[t]);
    }
  }
}

class HostCudaFamilies : public testing::TestWithParam<std::string> {};

TEST_P(HostCudaFamilies, OutputsEqualTheRecordedOnes) {
  fs::path folder = dataFolder("families/" + GetParam());
  Golden golden = Golden::load(folder);
  CompileSettings settings;
  settings.cudaArchs = {"sm_80"};
  std::shared_ptr<rt::Program> program = load(GetParam(), folder, settings);
  double largest = 0;
  if (GetParam() == "bert") {
    PlanEncoder encoder(program);
    EXPECT_EQ(compareOutputs(golden, encoder.asRunModel(), 1e-4, &largest), "");
  } else {
    PlanModel model(program);
    EXPECT_EQ(compareOutputs(golden, model.asRunModel(), 1e-4, &largest), "");
  }
  std::cout << GetParam() << ": largest difference " << largest << "\n";
}

INSTANTIATE_TEST_SUITE_P(All, HostCudaFamilies,
                         testing::Values("bert", "gemma2", "gemma3", "gpt2",
                                         "gpt_neox", "mixtral", "phi3",
                                         "qwen3"));

// Sizes that fit tensor cores: weights, and a table that is embedding and head,
// are stored in core matrices, and what they multiply in panels.
TEST(HostCudaLayouts, AModelOfCoreMatricesAndPanelsEqualsTheReference) {
  for (const char *family : {"llama", "gemma2", "mixtral"}) {
    SCOPED_TRACE(family);
    reference::RandomOptions options;
    options.family = family;
    options.elementType = reference::ElementType::BF16;
    options.hidden = 128;
    options.heads = 8;
    options.kvHeads = 4;
    options.headSize = 16;
    options.intermediate = 256;
    options.tied = true;
    options.expertsPerToken = options.experts; // No choice to be rounded.
    CompileSettings settings;
    settings.cudaArchs = {"sm_80"};
    std::string name = std::string(family) + "-layouts";
    plans().compile(name, options, settings);
    std::shared_ptr<rt::Program> program =
        load(name, plans().getCheckpoint(name), settings);
    const rt::Plan &plan = program->getPlan();
    auto isInCoreMatrices = [](const rt::Param &param) {
      return param.layout == "core_matrices";
    };
    EXPECT_GE(std::ranges::count_if(plan.params, isInCoreMatrices), 3);
    EXPECT_TRUE(std::ranges::any_of(
        plan.entries[0].buffers, [](const rt::Buffer &buffer) {
          return buffer.shape.size() == 3 &&
                 buffer.shape[2] == rt::Expr::constant(128);
        }));
    PlanModel model(program);
    auto reference = reference::Transformer::load(plans().getCheckpoint(name));
    const int64_t lengths[] = {1, 7, 20};
    EXPECT_LE(relativeError(reference, randomPrompts(lengths, 320, 7),
                            model.asRunModel()),
              2e-2);
  }
}

/// 16-bit attention that takes tensor cores: groups of 1 and 3 heads, with a
/// window and soft caps.
reference::RandomOptions makeAttention(const std::string &family,
                                       int64_t headSize = 16) {
  reference::RandomOptions options;
  options.family = family;
  options.elementType = reference::ElementType::BF16;
  options.layers = 1;
  options.hidden = 48;
  options.heads = 3;
  options.kvHeads = family == "llama" ? 1 : 3;
  options.headSize = headSize;
  options.maxPositions = 640;
  if (family == "gemma2")
    options.window = 100;
  return options;
}

struct AttentionCase {
  const char *family, *arch;
  int64_t tokensPerStep;
};

class HostCudaAttention : public testing::TestWithParam<AttentionCase> {};

// Over more blocks of keys than there are splits, in a step with tiles of 64
// rows, or in two and one with a cluster, which begin with keys of the steps
// before.
TEST_P(HostCudaAttention, TensorCoresEqualTheReference) {
  const auto &[family, arch, tokensPerStep] = GetParam();
  CompileSettings settings;
  settings.cudaArchs = {arch};
  std::string name = std::string(family) + arch;
  plans().compile(name, makeAttention(family), settings);
  std::shared_ptr<rt::Program> program =
      load(name, plans().getCheckpoint(name), settings);
  EXPECT_TRUE(std::ranges::any_of(
      program->getPlan().kernels, [](const rt::Kernel &kernel) {
        return kernel.schedule.find("row_warps = 4") != std::string::npos;
      }));
  PlanModelOptions options;
  options.tokensPerStep = tokensPerStep;
  PlanModel model(program, options);
  auto reference = reference::Transformer::load(plans().getCheckpoint(name));
  const int64_t lengths[] = {5, 590};
  EXPECT_LE(relativeError(reference, randomPrompts(lengths, 320, 11),
                          model.asRunModel()),
            2e-2);
}

INSTANTIATE_TEST_SUITE_P(All, HostCudaAttention,
                         testing::Values(AttentionCase{"llama", "sm_80", 590},
                                         AttentionCase{"gemma2", "sm_80", 590},
                                         AttentionCase{"llama", "sm_90a", 285},
                                         AttentionCase{"gemma2", "sm_90a",
                                                       285}),
                         [](const auto &info) {
                           return std::string(info.param.family) + "_" +
                                  info.param.arch;
                         });

// Tiles begin with their sequence and end with it, so its rows are the same
// bits whatever else is in the step.
TEST(HostCudaTiles, OfManyRowsDoNotDependOnOtherSequences) {
  CompileSettings settings;
  settings.cudaArchs = {"sm_80"};
  plans().compile("llama-tiles", makeAttention("llama"), settings);
  std::shared_ptr<rt::Program> program =
      load("llama-tiles", plans().getCheckpoint("llama-tiles"), settings);
  const int64_t lengths[] = {7, 270};
  std::vector<std::vector<int32_t>> prompts = randomPrompts(lengths, 320, 23);
  PlanModel alone(program), together(program, {.sequences = 2});
  EXPECT_EQ(together.computeLogits(prompts)[1].values,
            alone.computeLogits(prompts[1]).values);
}

struct VariantsCase {
  const char *family;
  int64_t headSize, length;
  /// Tokens of the last step, a number for each variant.
  std::vector<int64_t> lastSteps;
};

class HostCudaVariants : public testing::TestWithParam<VariantsCase> {};

// Clusters of 8, 4 and 2, a block for few rows and one for many: what a token
// gets is the same, bit for bit, whichever computes it. With a window the first
// split is not that of the first key, and splits are empty. A single block
// merges those of wide heads in shared memory.
TEST_P(HostCudaVariants, GiveTheSameBits) {
  const auto &[family, headSize, length, lastSteps] = GetParam();
  const reference::RandomOptions model = makeAttention(family, headSize);
  CompileSettings settings;
  settings.cudaArchs = {"sm_90a"};
  settings.batchInvariant = true;
  std::string name =
      std::string(family) + std::to_string(headSize) + "-variants";
  std::shared_ptr<HostKernels> kernels;
  const int64_t lengths[] = {length};
  std::vector<int32_t> text = randomPrompts(lengths, 320, 17).front();
  std::vector<float> expected;
  for (int64_t last : lastSteps) {
    SCOPED_TRACE(last);
    PlanModelOptions options;
    options.tokensPerStep = last == length ? length : length - last;
    PlanModel plan(loadProgram(plans().compile(name, model, settings),
                               [&](const rt::Plan &plan) {
                                 if (!kernels)
                                   kernels = compileHostKernels(
                                       plan,
                                       plans().getFolder() / (name + ".host"));
                                 return createHostCudaDevice(kernels, 5);
                               }),
                   options);
    Table logits = plan.computeLogits(text);
    ASSERT_EQ(logits.rows, length);
    std::vector<float> end(logits.values.end() -
                               lastSteps.front() * logits.columns,
                           logits.values.end());
    if (expected.empty())
      expected = end;
    EXPECT_EQ(end, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HostCudaVariants,
    testing::Values(VariantsCase{"llama", 16, 530, {10, 18, 50, 100, 530}},
                    VariantsCase{"gemma2", 16, 530, {4, 10, 20, 90, 530}},
                    VariantsCase{"llama", 144, 140, {10, 40, 140}}),
    [](const auto &info) {
      return info.param.family + std::to_string(info.param.headSize);
    });

} // namespace
