//===- GoldenTest.cpp - Artifacts of earlier versions keep loading --------===//
//
// golden/2.0.weft was written by the first version of format 2.0 and is never
// written again: a change that cannot read it needs a new major version.
// golden/1.0.weft has the earlier major version.
//
//===----------------------------------------------------------------------===//

#include "runtime/Format/Reader.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace weft::rt;
using namespace weft::rt::test;
using testing::ElementsAre;

namespace {

TEST(Golden, Version1IsRefused) {
  auto opened =
      Artifact::open(WEFT_SOURCE_DIR "/test/artifact/golden/1.0.weft");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(opened.getStatus().getMessage(),
              testing::HasSubstr("format version 1.0, this build reads version "
                                 "2.x"));
}

TEST(Golden, Version2_0) {
  auto opened =
      Artifact::open(WEFT_SOURCE_DIR "/test/artifact/golden/2.0.weft");
  ASSERT_TRUE(opened) << opened.getStatus().getMessage();
  const Artifact &artifact = **opened;
  const Plan &plan = artifact.getPlan();
  EXPECT_TRUE(artifact.verifyData());
  readEverything(artifact);

  EXPECT_EQ(plan.target, "cpu");
  EXPECT_EQ(plan.metaJson, R"({"model":"tiny"})");
  ASSERT_EQ(plan.symbols.size(), 2u);
  EXPECT_EQ(plan.symbols[0].name, "tokens");
  EXPECT_EQ(plan.symbols[0].max, 4096);
  EXPECT_TRUE(plan.symbols[1].perSession);

  ASSERT_EQ(plan.params.size(), 4u);
  EXPECT_EQ(plan.params[0].name, "embed");
  EXPECT_EQ(plan.params[0].dtype, DType::F32);
  EXPECT_THAT(plan.params[0].shape, ElementsAre(16, 8));
  EXPECT_EQ(plan.params[1].dtype, DType::BF16);
  EXPECT_EQ(plan.params[2].name, "table.\u00e9");
  const std::byte table[] = {std::byte{62}, std::byte{69}, std::byte{76}};
  EXPECT_TRUE(std::ranges::equal(artifact.getParamData(2), table));

  EXPECT_TRUE(plan.params[3].generated.isUsed);
  EXPECT_EQ(plan.params[3].generated.deviation, 0.25);
  EXPECT_EQ(plan.params[3].generated.seed, 7u);
  EXPECT_EQ(plan.params[3].size, 24u);
  EXPECT_TRUE(artifact.getParamData(3).empty());

  ASSERT_EQ(plan.states.size(), 2u);
  EXPECT_EQ(plan.states[1].name, "cache.0.value");

  ASSERT_EQ(plan.kernels.size(), 3u);
  EXPECT_EQ(plan.kernels[0].scratchBytes, 4096u);
  ASSERT_EQ(plan.kernels[0].code.size(), 2u);
  EXPECT_THAT(plan.kernels[0].code[1].features, ElementsAre("avx512f"));
  EXPECT_EQ(plan.kernels[0].code[1].bytes, Bytes({1, 2, 3}));
  EXPECT_EQ(plan.kernels[1].code[0].bytes, Bytes({0x7f, 'E', 'L', 'F'}));

  ASSERT_EQ(plan.kernels[2].code.size(), 2u);
  const LaunchShape shape = {256, 49152, 2, 3, true};
  for (const Code &code : plan.kernels[2].code) {
    EXPECT_EQ(code.target, "sm_90a");
    EXPECT_EQ(code.launch, shape);
  }
  EXPECT_EQ(plan.kernels[2].code[0].kind, Code::Kind::Cubin);
  EXPECT_EQ(plan.kernels[2].code[1].kind, Code::Kind::CudaSource);
  EXPECT_THAT(plan.kernels[2].code[1].features, ElementsAre("--fmad=true"));

  ASSERT_EQ(plan.entries.size(), 1u);
  const Entry &entry = plan.entries[0];
  EXPECT_EQ(entry.name, "step");
  ASSERT_EQ(entry.buffers.size(), 7u);
  EXPECT_EQ(entry.buffers[3].kind, BufferKind::Temp);
  EXPECT_EQ(entry.buffers[3].lastUse, 3u);
  EXPECT_EQ(entry.buffers[6].kind, BufferKind::State);
  ASSERT_EQ(entry.commands.size(), 4u);
  EXPECT_EQ(entry.commands[0].label, "embed");
  EXPECT_THAT(entry.commands[0].buffers, ElementsAre(0, 1, 2));
  const std::string names[] = {"tokens", "cache_blocks"};
  EXPECT_EQ(entry.commands[0].grid.print(names), "ceildiv(tokens, 6)");
  EXPECT_EQ(entry.commands[2].kind, CommandKind::Fill);
  EXPECT_EQ(entry.commands[2].kernel, 255u);
  EXPECT_EQ(entry.workspaceBytes.print(names), "tokens * 64 * 2");

  ASSERT_EQ(plan.tokenizerFiles.size(), 1u);
  EXPECT_EQ(plan.tokenizerFiles[0].first, "tokenizer.json");
  EXPECT_EQ(plan.tokenizerFiles[0].second, Bytes({'{', '}', 0, 255}));
  ASSERT_EQ(plan.debug.size(), 2u);
  EXPECT_EQ(plan.debug[0].text, "module {}");
}

} // namespace
