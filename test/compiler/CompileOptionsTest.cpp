//===- CompileOptionsTest.cpp - Targets and their tables ------------------===//

#include "compiler/CompileOptions.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/CudaArch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Target parse(const char *text) {
  auto target = parseTarget(text);
  if (target)
    return *target;
  ADD_FAILURE() << llvm::toString(target.takeError());
  return {};
}

std::string getError(const std::string &text) {
  auto target = parseTarget(text);
  return target ? "" : llvm::toString(target.takeError());
}

TEST(Target, CpuLevels) {
  Target host = parse("cpu");
  EXPECT_FALSE(host.isCuda());
  EXPECT_EQ(host.cpuLevels.front(), getCpuLevels().front().name);
  EXPECT_EQ(host.cpuLevels.back(), getHostCpuLevel().name);
  EXPECT_EQ(host.getName(), "cpu");
  Target two = parse("cpu:x86-64-v4,x86-64-v2");
  EXPECT_THAT(two.cpuLevels, ElementsAre("x86-64-v2", "x86-64-v4"));
  EXPECT_THAT(two.cudaArchs, IsEmpty());
  EXPECT_EQ(two.getLevels(), two.cpuLevels);
}

TEST(Target, CudaArchitectures) {
  Target one = parse("cuda:sm_90a");
  EXPECT_TRUE(one.isCuda());
  EXPECT_THAT(one.cudaArchs, ElementsAre("sm_90a"));
  EXPECT_THAT(one.cpuLevels, IsEmpty());
  EXPECT_EQ(one.getName(), "cuda:sm_90a");
  Target two = parse("cuda:sm_90a,sm_80");
  EXPECT_THAT(two.cudaArchs, ElementsAre("sm_80", "sm_90a"));
  EXPECT_EQ(two.getLevels(), two.cudaArchs);
  EXPECT_EQ(two.getName(), "cuda:sm_80,sm_90a");
  // An artifact has place for 31 bytes.
  Target most = parse("cuda:sm_80,sm_86,sm_89,sm_90a,sm_100a");
  EXPECT_EQ(most.cudaArchs.size(), 5u);
  EXPECT_EQ(most.getName(), "cuda");
}

TEST(Target, UnknownOnes) {
  const std::string levels = "x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16",
                    archs = "sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, "
                            "sm_120a";
  for (std::string target : {"gpu", "", ":", "cpux", ":x86-64-v2", "CPU"})
    EXPECT_EQ(getError(target), "unknown target '" + target +
                                    "'; expected cpu, cpu:LEVEL[,LEVEL...] "
                                    "with " +
                                    levels + ", or cuda:ARCH[,ARCH...] with " +
                                    archs);
  EXPECT_EQ(getError("cpu:"),
            "the target 'cpu:' names no level; expected cpu, or "
            "cpu:LEVEL[,LEVEL...] with " +
                levels);
  for (std::string target : {"cuda", "cuda:"})
    EXPECT_EQ(getError(target),
              "the target '" + target +
                  "' needs an architecture: cuda:ARCH[,ARCH...] with " + archs);
  EXPECT_EQ(getError("cuda:,"),
            "unknown CUDA architecture ''; expected one of " + archs);
  EXPECT_EQ(getError("cuda:sm_80,sm_75"),
            "unknown CUDA architecture 'sm_75'; expected one of sm_80, sm_86, "
            "sm_89, sm_90, sm_90a, sm_100a, sm_120a");
  EXPECT_EQ(getError("cpu:x86-64-v3,"),
            "unknown CPU level ''; expected one of x86-64-v2, x86-64-v3, "
            "x86-64-v4, x86-64-v4-bf16");
}

TEST(CudaArch, Table) {
  unsigned last = 0;
  for (const CudaArch &arch : getCudaArchs()) {
    SCOPED_TRACE(arch.name.str());
    EXPECT_EQ(findCudaArch(arch.name), &arch);
    unsigned capability = arch.major * 10 + arch.minor;
    EXPECT_GE(capability, last);
    last = capability;
    EXPECT_TRUE(arch.name.starts_with("sm_" + std::to_string(capability)));
    // A block has all but the kilobyte that the system keeps.
    EXPECT_EQ(arch.sharedBytes + 1024, arch.sharedBytesPerMultiprocessor);
    EXPECT_EQ(arch.hasWgmma, arch.name == "sm_90a");
    EXPECT_EQ(arch.hasBulkCopy, arch.major >= 9);
    EXPECT_EQ(arch.hasDependentLaunch, arch.major >= 9);
  }
  EXPECT_EQ(findCudaArch("sm_70"), nullptr);
}

} // namespace
