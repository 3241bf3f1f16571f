// The same model compiled in other ways: without fusion, for every CPU level.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/RandomModels.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kLengths[] = {1, 7, 70};

PlanStore &plans() {
  static PlanStore store("variants");
  return store;
}

std::vector<std::vector<int32_t>> makePrompts() {
  return randomPrompts(kLengths, 320, kSeed);
}

//===----------------------------------------------------------------------===//
// Without fusion
//===----------------------------------------------------------------------===//

class NoFuse : public testing::TestWithParam<const char *> {};

TEST_P(NoFuse, EqualsTheReference) {
  using enum reference::ElementType;
  for (reference::ElementType type : {F32, BF16}) {
    std::string name =
        std::string(GetParam()) + "-unfused-" + std::string(spelling(type));
    const std::string &plan = plans().compile(
        name, makeRandomModel(GetParam(), type, kSeed), {.fuse = false});
    SCOPED_TRACE(name);
    expectReferenceOutputs(plan, plans().getCheckpoint(name), type,
                           makePrompts());
  }
}

// With f32, fusing changes no rounding of a decoder's step.
TEST_P(NoFuse, EqualsTheFusedPlan) {
  if (std::string(GetParam()) == "bert")
    GTEST_SKIP() << "an encoder";
  auto options =
      makeRandomModel(GetParam(), reference::ElementType::F32, kSeed);
  std::string name = GetParam();
  PlanModel unfused(
      plans().compile(name + "-unfused-F32", options, {.fuse = false}));
  PlanModel fused(plans().compile(name + "-fused", options));
  EXPECT_LT(unfused.getModel().getPlan().entries.size(), 2u);
  for (const std::vector<int32_t> &prompt : makePrompts()) {
    Table a = unfused.computeLogits(prompt), b = fused.computeLogits(prompt);
    for (size_t i = 0; i < a.values.size(); ++i)
      ASSERT_NEAR(a.values[i], b.values[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NoFuse,
                         testing::Values("llama", "gemma3_text", "phi3",
                                         "qwen3_moe", "gpt2", "gpt_neox",
                                         "bert"));

//===----------------------------------------------------------------------===//
// CPU levels
//===----------------------------------------------------------------------===//

class Levels : public testing::TestWithParam<std::string> {};

/// Compiles for the level and compares; also one token at a time in one thread
/// with everything in one go.
void checkLevel(const std::string &level, const std::string &family,
                reference::ElementType type) {
  std::string name = family + "-" + level + "-" + std::string(spelling(type));
  SCOPED_TRACE(name);
  const std::string &plan = plans().compile(
      name, makeRandomModel(family, type, kSeed), {.levels = {level}});
  expectReferenceOutputs(plan, plans().getCheckpoint(name), type,
                         makePrompts());
  if (family == "bert")
    return;
  auto prompts = makePrompts();
  PlanModel whole(plan), single(plan, {.tokensPerStep = 1, .threads = 1});
  EXPECT_EQ(single.computeLogits(prompts[2]).values,
            whole.computeLogits(prompts[2]).values);
}

TEST_P(Levels, EqualTheReference) {
  using enum reference::ElementType;
  for (const char *family : {"llama", "gemma2", "qwen3_moe"})
    for (reference::ElementType type : {F32, BF16, F16})
      checkLevel(GetParam(), family, type);
  for (const char *family : {"gpt2", "bert"})
    checkLevel(GetParam(), family, F32);
}

INSTANTIATE_TEST_SUITE_P(All, Levels, testing::ValuesIn(supportedLevels()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
