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

/// The artifact `name` that weft-compile makes with these arguments; null if it
/// does not.
std::unique_ptr<rt::Artifact> compile(const std::string &name,
                                      const std::string &arguments) {
  fs::path file = getFolder() / (name + ".weft");
  auto [output, status] = test::runCommand(
      std::string(WEFT_COMPILE) + " " + arguments +
      " --strip-ir --kernel-cache " + (getFolder() / "cache").string() +
      " -o " + file.string());
  EXPECT_EQ(status, 0) << output;
  auto artifact = rt::Artifact::open(file.string());
  EXPECT_TRUE(artifact) << artifact.getStatus().getMessage();
  return artifact ? artifact.take() : nullptr;
}

class CudaKernels : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override { skipWithoutNvrtc(); }
};

class StreamedKernels : public testing::Test {
protected:
  void SetUp() override { skipWithoutNvrtc(); }
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
  auto artifact =
      compile(GetParam(), checkpoint.string() + " --target=cuda:sm_80,sm_90a");
  ASSERT_TRUE(artifact);
  const rt::Plan &plan = artifact->getPlan();
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
  "model_type": "llama", "vocab_size": 2048, "hidden_size": 256,
  "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 512,
  "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": false,
  "torch_dtype": "bfloat16"
})";

/// The streamed model's plan for a target, which must compile.
std::unique_ptr<rt::Artifact> compileStreamed(const std::string &target,
                                              const std::string &option = "") {
  fs::path config = getFolder() / "streamed.json";
  std::ofstream(config) << streamedConfig;
  return compile("streamed", "--synthesize " + config.string() +
                                 " --target=" + target + " " + option);
}

/// Shapes of real models, whose kernels need more registers than those of small
/// ones; checkCode is for every one.
TEST_F(StreamedKernels, CompileForLargeShapes) {
  for (const char *option : {"", " --batch-invariant"}) {
    auto artifact = compile(
        "large", std::string("--synthesize llama-3.1-8b --dtype=bf16 "
                             "--weights=generated --target=cuda:sm_80,sm_90a") +
                     option);
    ASSERT_TRUE(artifact);
    for (const rt::Kernel &kernel : artifact->getPlan().kernels) {
      ASSERT_FALSE(kernel.code.empty()) << kernel.name;
      for (const rt::Code &code : kernel.code)
        checkCode(kernel, code, code.kind, code.target);
    }
  }
}

/// The launches of linear layers: query/key/value, output, gate and up, down,
/// head.
std::vector<const rt::Command *> findLinears(const rt::Plan &plan) {
  std::vector<const rt::Command *> linears;
  for (const rt::Command &command : plan.entries.at(0).commands)
    if (plan.kernels[command.kernel].program.find("linear") !=
        std::string::npos)
      linears.push_back(&command);
  EXPECT_EQ(linears.size(), 5u);
  return linears;
}

/// The codes for an architecture of what a launch chooses among, with the
/// numbers of rows that they are for.
std::vector<std::pair<int64_t, const rt::Code *>>
findChoices(const rt::Plan &plan, const rt::Command &command,
            std::string_view arch) {
  std::vector<std::pair<int64_t, const rt::Code *>> choices;
  auto add = [&](int64_t limit, uint32_t number) {
    const rt::Kernel &kernel = plan.kernels[number];
    for (const rt::Code &code : kernel.code)
      if (code.target == arch && code.kind == rt::Code::Kind::Cubin) {
        checkCode(kernel, code, rt::Code::Kind::Cubin, std::string(arch));
        choices.push_back({limit, &code});
      }
  };
  for (const rt::Variant &variant : command.variants)
    add(variant.limit, variant.kernel);
  add(rt::Variant::anyRows, command.kernel);
  return choices;
}

/// Checks that the linear layers have streamed kernels for an architecture, for
/// each of the numbers of rows and one for any: `threads` of a block are 256
/// that multiply and those that only copy.
void checkStreamed(const rt::Plan &plan, std::string_view arch,
                   uint32_t threads,
                   std::vector<int64_t> limits = {1, 8, 16, 32}) {
  limits.push_back(rt::Variant::anyRows);
  SCOPED_TRACE(arch);
  for (const rt::Command *command : findLinears(plan)) {
    SCOPED_TRACE(command->label);
    auto choices = findChoices(plan, *command, arch);
    ASSERT_EQ(choices.size(), limits.size());
    for (size_t i = 0; i < limits.size(); ++i) {
      EXPECT_EQ(choices[i].first, limits[i]);
      EXPECT_EQ(choices[i].second->launch.threads, threads);
      EXPECT_EQ(choices[i].second->launch.dependentLaunch, threads > 256);
    }
  }
}

TEST_F(StreamedKernels, CompileForHopper) {
  auto artifact = compileStreamed("cuda:sm_90a");
  ASSERT_TRUE(artifact);
  checkStreamed(artifact->getPlan(), "sm_90a", 288);
}

TEST_F(StreamedKernels, CompileBatchInvariantForHopper) {
  auto artifact = compileStreamed("cuda:sm_90a", "--batch-invariant");
  ASSERT_TRUE(artifact);
  checkStreamed(artifact->getPlan(), "sm_90a", 288, {8, 16, 32});
}

// Each architecture of a plan has the kernels that it would have alone. The
// head of this model is divided among all multiprocessors, whose number
// differs: then the architectures have launches of their own.
TEST_F(StreamedKernels, CompileForAmpereAndHopperTogether) {
  auto artifact = compileStreamed("cuda:sm_80,sm_90a");
  ASSERT_TRUE(artifact);
  const rt::Plan &plan = artifact->getPlan();
  checkStreamed(plan, "sm_80", 256);
  checkStreamed(plan, "sm_90a", 288);
  const rt::Command &head = *findLinears(plan).back();
  ASSERT_EQ(head.variants.size(), 9u);
  EXPECT_EQ(plan.kernels[head.kernel].code[0].target, "sm_80");
  EXPECT_EQ(plan.kernels[head.variants[0].kernel].code[0].target, "sm_90a");
}

TEST_F(StreamedKernels, CompileForOtherArchitectures) {
  auto artifact = compileStreamed("cuda:sm_86,sm_89,sm_100a,sm_120a");
  ASSERT_TRUE(artifact);
  const rt::Plan &plan = artifact->getPlan();
  for (const char *arch : {"sm_86", "sm_89"})
    checkStreamed(plan, arch, 256);
  for (const char *arch : {"sm_100a", "sm_120a"})
    checkStreamed(plan, arch, 288);
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
  std::string name =
      "attention" + std::to_string(size) + "x" + std::to_string(queryHeads);
  fs::path config = getFolder() / (name + ".json");
  std::ofstream(config)
      << R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 128,
             "intermediate_size": 256, "num_hidden_layers": 1,
             "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
             "hidden_act": "silu", "torch_dtype": "bfloat16", "head_dim": )"
      << size << R"(, "num_attention_heads": )" << queryHeads
      << R"(, "num_key_value_heads": )" << keyHeads << "}";
  auto artifact = compile(name, "--synthesize " + config.string() +
                                    " --target=cuda:sm_80,sm_90a");
  ASSERT_TRUE(artifact);
  const rt::Plan &plan = artifact->getPlan();
  int attentions = 0;
  for (const rt::Command &command : plan.entries.at(0).commands) {
    if (plan.kernels[command.kernel].program != "attention")
      continue;
    ++attentions;
    std::vector<size_t> kernels;
    for (const auto &variant : command.variants)
      kernels.push_back(variant.kernel);
    kernels.push_back(command.kernel);
    std::vector<uint32_t> clusters;
    for (size_t number : kernels) {
      const rt::Kernel &kernel = plan.kernels[number];
      EXPECT_NE(kernel.schedule.find("flash_schedule"), std::string::npos);
      checkCode(kernel, kernel.code[0], rt::Code::Kind::Cubin, "sm_80");
      checkCode(kernel, kernel.code[2], rt::Code::Kind::Cubin, "sm_90a");
      EXPECT_EQ(kernel.code[0].launch.clusterSize, 1u);
      clusters.push_back(kernel.code[2].launch.clusterSize);
    }
    // Tiles for decoding are apart where those of prompts have more rows.
    std::vector<uint32_t> expected = {8, 4, 2, 1};
    if (queryHeads / keyHeads <= 8 || size <= 128)
      expected.push_back(1);
    // Four states of each warp are too many for such rows of wide heads.
    if (size == 256 && queryHeads / keyHeads > 4)
      expected.erase(expected.begin() + 2);
    EXPECT_EQ(clusters, expected);
  }
  EXPECT_EQ(attentions, 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionKernels,
    testing::Values(HeadShape{64, 10, 2}, HeadShape{80, 6, 1},
                    HeadShape{128, 14, 2}, HeadShape{128, 32, 2},
                    HeadShape{256, 4, 4}, HeadShape{256, 8, 1}),
    [](const auto &info) {
      return std::to_string(info.param.queryHeads) + "HeadsOf" +
             std::to_string(info.param.size);
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
