//===- RoundTripTest.cpp - What is written is what is read ----------------===//

#include "runtime/Format/Hash.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/Reader.h"
#include "runtime/Format/Verify.h"
#include "runtime/Format/Writer.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <thread>

using namespace weft::rt;
using namespace weft::rt::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Compares field by field; the places of parameters are the writer's.
void expectEqual(const Plan &found, const Plan &expected) {
  EXPECT_EQ(found.target, expected.target);
  EXPECT_EQ(found.metaJson, expected.metaJson);
  ASSERT_EQ(found.symbols.size(), expected.symbols.size());
  for (size_t i = 0; i < expected.symbols.size(); ++i) {
    EXPECT_EQ(found.symbols[i].name, expected.symbols[i].name);
    EXPECT_EQ(found.symbols[i].min, expected.symbols[i].min);
    EXPECT_EQ(found.symbols[i].max, expected.symbols[i].max);
    EXPECT_EQ(found.symbols[i].perSession, expected.symbols[i].perSession);
  }
  ASSERT_EQ(found.params.size(), expected.params.size());
  for (size_t i = 0; i < expected.params.size(); ++i) {
    EXPECT_EQ(found.params[i].name, expected.params[i].name);
    EXPECT_EQ(found.params[i].dtype, expected.params[i].dtype);
    EXPECT_EQ(found.params[i].shape, expected.params[i].shape);
    EXPECT_EQ(found.params[i].layout, expected.params[i].layout);
  }
  ASSERT_EQ(found.states.size(), expected.states.size());
  for (size_t i = 0; i < expected.states.size(); ++i) {
    EXPECT_EQ(found.states[i].name, expected.states[i].name);
    EXPECT_EQ(found.states[i].dtype, expected.states[i].dtype);
    EXPECT_EQ(found.states[i].shape, expected.states[i].shape);
  }
  ASSERT_EQ(found.kernels.size(), expected.kernels.size());
  for (size_t i = 0; i < expected.kernels.size(); ++i) {
    const Kernel &a = found.kernels[i], &b = expected.kernels[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.bufferCount, b.bufferCount);
    EXPECT_EQ(a.symbolCount, b.symbolCount);
    EXPECT_EQ(a.scratchBytes, b.scratchBytes);
    EXPECT_EQ(a.schedule, b.schedule);
    EXPECT_EQ(a.program, b.program);
    ASSERT_EQ(a.code.size(), b.code.size());
    for (size_t k = 0; k < b.code.size(); ++k) {
      EXPECT_EQ(a.code[k].kind, b.code[k].kind);
      EXPECT_EQ(a.code[k].target, b.code[k].target);
      EXPECT_EQ(a.code[k].features, b.code[k].features);
      EXPECT_EQ(a.code[k].symbol, b.code[k].symbol);
      EXPECT_EQ(a.code[k].bytes, b.code[k].bytes);
      EXPECT_EQ(a.code[k].launch, b.code[k].launch);
    }
  }
  ASSERT_EQ(found.entries.size(), expected.entries.size());
  for (size_t i = 0; i < expected.entries.size(); ++i) {
    const Entry &a = found.entries[i], &b = expected.entries[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.symbols, b.symbols);
    EXPECT_EQ(a.keyCounts, b.keyCounts);
    EXPECT_EQ(a.workspaceBytes, b.workspaceBytes);
    EXPECT_EQ(a.lowerBoundBytes, b.lowerBoundBytes);
    ASSERT_EQ(a.buffers.size(), b.buffers.size());
    for (size_t k = 0; k < b.buffers.size(); ++k) {
      EXPECT_EQ(a.buffers[k].name, b.buffers[k].name);
      EXPECT_EQ(a.buffers[k].kind, b.buffers[k].kind);
      EXPECT_EQ(a.buffers[k].dtype, b.buffers[k].dtype);
      EXPECT_EQ(a.buffers[k].shape, b.buffers[k].shape);
      EXPECT_EQ(a.buffers[k].index, b.buffers[k].index);
      EXPECT_EQ(a.buffers[k].offset, b.buffers[k].offset);
      EXPECT_EQ(a.buffers[k].firstUse, b.buffers[k].firstUse);
      EXPECT_EQ(a.buffers[k].lastUse, b.buffers[k].lastUse);
    }
    ASSERT_EQ(a.commands.size(), b.commands.size());
    for (size_t k = 0; k < b.commands.size(); ++k) {
      EXPECT_EQ(a.commands[k].kind, b.commands[k].kind);
      EXPECT_EQ(a.commands[k].label, b.commands[k].label);
      EXPECT_EQ(a.commands[k].kernel, b.commands[k].kernel);
      EXPECT_EQ(a.commands[k].buffers, b.commands[k].buffers);
      EXPECT_EQ(a.commands[k].symbols, b.commands[k].symbols);
      EXPECT_EQ(a.commands[k].grid, b.commands[k].grid);
      EXPECT_EQ(a.commands[k].flops, b.commands[k].flops);
      EXPECT_EQ(a.commands[k].bytes, b.commands[k].bytes);
      EXPECT_EQ(a.commands[k].countedFlops, b.commands[k].countedFlops);
      EXPECT_EQ(a.commands[k].countedBytes, b.commands[k].countedBytes);
    }
  }
  EXPECT_EQ(found.tokenizerFiles, expected.tokenizerFiles);
  ASSERT_EQ(found.debug.size(), expected.debug.size());
  for (size_t i = 0; i < expected.debug.size(); ++i) {
    EXPECT_EQ(found.debug[i].name, expected.debug[i].name);
    EXPECT_EQ(found.debug[i].text, expected.debug[i].text);
  }
}

void expectParams(const Artifact &artifact) {
  const Plan &plan = artifact.getPlan();
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const auto data = artifact.getParamData(i);
    const auto expected = makeParamBytes(plan, i);
    EXPECT_TRUE(std::ranges::equal(data, expected)) << plan.params[i].name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) %
                  layout::getParamAlignment(data.size()),
              0u);
  }
  EXPECT_TRUE(artifact.verifyData());
}

TEST(RoundTrip, KeepsEveryField) {
  TemporaryFolder folder;
  const Plan plan = makePlan();
  auto artifact = Artifact::open(writePlan(folder / "a.weft", plan));
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  expectEqual((*artifact)->getPlan(), plan);
  expectParams(**artifact);
  EXPECT_THAT(folder.list(), ElementsAre("a.weft"));
}

TEST(RoundTrip, ExternalWeights) {
  TemporaryFolder folder;
  const Plan plan = makePlan();
  auto artifact = Artifact::open(writePlan(folder / "a.weft", plan, true));
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  expectEqual((*artifact)->getPlan(), plan);
  expectParams(**artifact);
  EXPECT_THAT(folder.list(), ElementsAre("a.weft", "a.weights"));
  ASSERT_EQ((*artifact)->getPlan().externalFiles.size(), 1u);
  EXPECT_EQ((*artifact)->getPlan().externalFiles[0].path, "a.weights");
}

TEST(RoundTrip, EmptyPlanAndEmptyParams) {
  TemporaryFolder folder;
  Plan plan;
  plan.target = "cpu";
  plan.params.resize(2);
  plan.params[0].name = "none";
  plan.params[0].shape = {0, 7};
  plan.params[1].name = "scalar";
  for (bool external : {false, true}) {
    auto artifact =
        Artifact::open(writePlan(folder / "a.weft", plan, external));
    ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
    EXPECT_EQ((*artifact)->getParamData(0).size(), 0u);
    EXPECT_EQ((*artifact)->getParamData(1).size(), 4u);
  }
  plan.params.clear();
  for (bool external : {false, true})
    EXPECT_TRUE(Artifact::open(writePlan(folder / "b.weft", plan, external)));
}

TEST(RoundTrip, LargeParamsStartAtPages) {
  TemporaryFolder folder;
  Plan plan = makePlan();
  plan.params[1].shape = {40000};
  auto artifact = Artifact::open(writePlan(folder / "a.weft", plan));
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  EXPECT_EQ((*artifact)->getPlan().params[1].offset, 4096u);
  expectParams(**artifact);
}

TEST(RoundTrip, SamePlanGivesTheSameBytes) {
  TemporaryFolder folder;
  writePlan(folder / "a.weft", makePlan());
  writePlan(folder / "b.weft", makePlan());
  EXPECT_EQ(readFile(folder / "a.weft"), readFile(folder / "b.weft"));
}

TEST(RoundTrip, EqualCodeIsStoredOnce) {
  TemporaryFolder folder;
  auto artifact = Artifact::open(writePlan(folder / "a.weft", makePlan()));
  ASSERT_TRUE(artifact);
  const auto &kernels = (*artifact)->getPlan().kernels;
  EXPECT_EQ(kernels[0].code[0].bytes.data(), kernels[1].code[0].bytes.data());
}

TEST(RoundTrip, CodeOutlivesTheArtifact) {
  TemporaryFolder folder;
  Plan copy;
  {
    auto artifact = Artifact::open(writePlan(folder / "a.weft", makePlan()));
    ASSERT_TRUE(artifact);
    copy = (*artifact)->getPlan();
  }
  EXPECT_EQ(copy.kernels[0].code[1].bytes, Bytes({1, 2, 3}));
}

TEST(RoundTrip, ParamsInChunksFromTwoThreads) {
  TemporaryFolder folder;
  Plan plan = makePlan();
  plan.params[0].shape = {50000};
  plan.params[1].shape = {70001};
  const std::string path = folder / "a.weft";
  auto writer = ArtifactWriter::create(path, plan);
  ASSERT_TRUE(writer) << writer.getStatus().getMessage();
  ArtifactWriter &output = **writer;
  auto writeChunks = [&](size_t index) {
    const auto bytes = makeParamBytes(output.getPlan(), index);
    std::span<const std::byte> rest = bytes;
    return output.writeParam(
        index, [&]() -> Result<std::span<const std::byte>> {
          const auto chunk = rest.first(std::min<size_t>(rest.size(), 997));
          rest = rest.subspan(chunk.size());
          return chunk;
        });
  };
  Status first, second;
  std::thread other([&] { first = writeChunks(0); });
  second = writeChunks(1);
  other.join();
  EXPECT_TRUE(first) << first.getMessage();
  EXPECT_TRUE(second) << second.getMessage();
  EXPECT_TRUE(writeChunks(2));
  ASSERT_TRUE(output.finish());
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  expectParams(**artifact);
}

TEST(RoundTrip, VerifyDataFindsAChangedParameter) {
  TemporaryFolder folder;
  const std::string path = writePlan(folder / "a.weft", makePlan());
  auto bytes = readFile(path);
  bytes.back() ^= std::byte{1};
  writeFile(path, bytes);
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact) << "opening must not read the parameters";
  Status status = (*artifact)->verifyData();
  EXPECT_EQ(status.getCode(), StatusCode::Corrupt);
  EXPECT_THAT(status.getMessage(), HasSubstr("table.\u00e9"));
}

} // namespace
