//===- CudaKernelsTest.cpp - Whole models as CUDA kernels, without a GPU --===//
//
// Every kernel of the bundled model and of the tiny families compiles with
// NVRTC for an old and a new architecture, and ptxas finds nothing wrong with
// it (no spills, no stack, no lost performance): weft-compile refuses such a
// kernel. Skipped where there is no NVRTC.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/CudaArch.h"
#include "runtime/Format/Reader.h"
#include "runtime/Nvrtc/Nvrtc.h"
#include "test/e2e/Golden.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Support/RunCommand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

/// One folder for all tests: models share kernels, which are compiled once.
const fs::path &getFolder() {
  static reference::Scratch scratch("cuda-kernels");
  fs::create_directories(scratch.path);
  return scratch.path;
}

void skipWithoutNvrtc() {
  auto nvrtc = rt::Nvrtc::load();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.getStatus().getMessage();
}

class CudaKernels : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override { skipWithoutNvrtc(); }
};

class StreamedKernels : public testing::Test {
protected:
  void SetUp() override { skipWithoutNvrtc(); }
  void compile(const std::string &option, const std::vector<int64_t> &limits);
};

void checkCode(const rt::Kernel &kernel, const rt::Code &code,
               rt::Code::Kind kind, const std::string &archName) {
  SCOPED_TRACE(kernel.name + " for " + archName);
  EXPECT_EQ(code.kind, kind);
  EXPECT_EQ(code.target, archName);
  EXPECT_FALSE(code.symbol.empty());
  EXPECT_FALSE(code.bytes.empty());
  const CudaArch *arch = findCudaArch(archName);
  ASSERT_TRUE(arch);
  EXPECT_LE(code.launch.sharedBytes, arch->sharedBytes);
  EXPECT_LE(code.launch.clusterSize, arch->maxCluster);
  EXPECT_LE(code.launch.dependentLaunch, arch->hasDependentLaunch);
}

TEST_P(CudaKernels, CompileForEveryArchitecture) {
  fs::path checkpoint = GetParam() == "stories260k"
                            ? fs::path(WEFT_SOURCE_DIR) / "models/stories260k"
                            : dataFolder("families/" + GetParam());
  fs::path file = getFolder() / (GetParam() + ".weft");
  auto [output, status] = test::runCommand(
      std::string(WEFT_COMPILE) + " " + checkpoint.string() +
      " --target=cuda:sm_80,sm_90a --strip-ir --kernel-cache " +
      (getFolder() / "cache").string() + " -o " + file.string());
  ASSERT_EQ(status, 0) << output;

  auto artifact = rt::Artifact::open(file.string());
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  const rt::Plan &plan = (*artifact)->getPlan();
  EXPECT_EQ(plan.target, "cuda:sm_80,sm_90a");
  ASSERT_FALSE(plan.kernels.empty());
  for (const rt::Kernel &kernel : plan.kernels) {
    ASSERT_EQ(kernel.code.size(), 4u) << kernel.name;
    using Kind = rt::Code::Kind;
    checkCode(kernel, kernel.code[0], Kind::Cubin, "sm_80");
    checkCode(kernel, kernel.code[1], Kind::CudaSource, "sm_80");
    checkCode(kernel, kernel.code[2], Kind::Cubin, "sm_90a");
    checkCode(kernel, kernel.code[3], Kind::CudaSource, "sm_90a");
  }
}

/// A shape that fits streamed weights: 16 bits, inputs in 128s.
constexpr const char *streamedConfig = R"({
  "model_type": "llama", "vocab_size": 512, "hidden_size": 256,
  "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 512,
  "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": false,
  "torch_dtype": "bfloat16"
})";

/// Compiles the shape for a Hopper GPU; its linear layers have a kernel for
/// each of the numbers of rows, and one for any.
void StreamedKernels::compile(const std::string &option,
                              const std::vector<int64_t> &limits) {
  fs::path config = getFolder() / "streamed.json";
  std::ofstream(config) << streamedConfig;
  fs::path file = getFolder() / "streamed.weft";
  auto [output, status] = test::runCommand(
      std::string(WEFT_COMPILE) + " --synthesize " + config.string() +
      " --target=cuda:sm_90a --strip-ir " + option + " --kernel-cache " +
      (getFolder() / "cache").string() + " -o " + file.string());
  ASSERT_EQ(status, 0) << output;
  auto artifact = rt::Artifact::open(file.string());
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  const rt::Plan &plan = (*artifact)->getPlan();
  int linears = 0;
  for (const rt::Command &command : plan.entries.at(0).commands) {
    // Alone, or with the norm of its input before it.
    if (plan.kernels[command.kernel].program.find("linear") ==
        std::string::npos)
      continue;
    ++linears;
    ASSERT_EQ(command.variants.size(), limits.size()) << command.label;
    for (size_t i = 0; i < limits.size(); ++i) {
      EXPECT_EQ(command.variants[i].limit, limits[i]);
      const rt::Kernel &kernel = plan.kernels[command.variants[i].kernel];
      checkCode(kernel, kernel.code[0], rt::Code::Kind::Cubin, "sm_90a");
      EXPECT_TRUE(kernel.code[0].launch.dependentLaunch);
      EXPECT_EQ(kernel.code[0].launch.threads, 288u);
    }
  }
  // Query/key/value, output, gate and up, down, head.
  EXPECT_EQ(linears, 5);
}

TEST_F(StreamedKernels, CompileForHopper) { compile("", {1, 8, 16, 32}); }

TEST_F(StreamedKernels, CompileBatchInvariantForHopper) {
  compile("--batch-invariant", {8, 16, 32});
}

struct HeadShape {
  int size, queryHeads, keyHeads;
};

class AttentionKernels : public testing::TestWithParam<HeadShape> {
protected:
  void SetUp() override { skipWithoutNvrtc(); }
};

TEST_P(AttentionKernels, CompileForAmpereAndHopper) {
  auto [size, queryHeads, keyHeads] = GetParam();
  std::string name = "attention" + std::to_string(size);
  fs::path config = getFolder() / (name + ".json");
  std::ofstream(config)
      << R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 128,
             "intermediate_size": 256, "num_hidden_layers": 1,
             "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
             "hidden_act": "silu", "torch_dtype": "bfloat16", "head_dim": )"
      << size << R"(, "num_attention_heads": )" << queryHeads
      << R"(, "num_key_value_heads": )" << keyHeads << "}";
  fs::path file = getFolder() / (name + ".weft");
  auto [output, status] = test::runCommand(
      std::string(WEFT_COMPILE) + " --synthesize " + config.string() +
      " --target=cuda:sm_80,sm_90a --strip-ir --kernel-cache " +
      (getFolder() / "cache").string() + " -o " + file.string());
  ASSERT_EQ(status, 0) << output;
  auto artifact = rt::Artifact::open(file.string());
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  const rt::Plan &plan = (*artifact)->getPlan();
  int attentions = 0;
  for (const rt::Command &command : plan.entries.at(0).commands) {
    if (plan.kernels[command.kernel].program != "attention")
      continue;
    ++attentions;
    ASSERT_EQ(command.variants.size(), 1u);
    const rt::Kernel &any = plan.kernels[command.kernel],
                     &few = plan.kernels[command.variants[0].kernel];
    for (const rt::Kernel *kernel : {&any, &few}) {
      EXPECT_NE(kernel->schedule.find("flash_schedule"), std::string::npos);
      checkCode(*kernel, kernel->code[0], rt::Code::Kind::Cubin, "sm_80");
      checkCode(*kernel, kernel->code[2], rt::Code::Kind::Cubin, "sm_90a");
      EXPECT_EQ(kernel->code[0].launch.clusterSize, 1u);
    }
    EXPECT_EQ(any.code[2].launch.clusterSize, 1u);
    EXPECT_EQ(few.code[2].launch.clusterSize, 8u);
  }
  EXPECT_EQ(attentions, 1);
}

INSTANTIATE_TEST_SUITE_P(All, AttentionKernels,
                         testing::Values(HeadShape{64, 10, 2},
                                         HeadShape{80, 6, 1},
                                         HeadShape{128, 14, 2},
                                         HeadShape{256, 4, 4}),
                         [](const auto &info) {
                           return "HeadsOf" + std::to_string(info.param.size);
                         });

std::vector<std::string> listModels() {
  std::vector<std::string> models = familyNames();
  models.push_back("stories260k");
  return models;
}

INSTANTIATE_TEST_SUITE_P(All, CudaKernels, testing::ValuesIn(listModels()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
