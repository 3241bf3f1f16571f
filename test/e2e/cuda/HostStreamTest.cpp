// Models whose weights stream through rings of shared memory, on the host:
// every variant for numbers of rows, clusters of 1, 2, 4 and 8, in several
// random orders of threads and copies. So roles, channels and clusters are
// right as they are printed for Hopper.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"
#include "test/e2e/cuda/HostCudaDevice.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

PlanStore &plans() {
  static PlanStore store("cuda-host-stream");
  return store;
}

/// Hidden and intermediate sizes are multiples of 128. The sizes of the layers
/// take clusters of 4 (qkv, output, down), 1 (gate and up) and 2 (head). Of the
/// 49 steps of the down projection a block has more than a ring has slots, and
/// another number than its neighbour.
reference::RandomOptions makeOptions() {
  reference::RandomOptions options;
  options.elementType = reference::ElementType::BF16;
  options.vocabulary = 4096;
  options.layers = 1;
  options.hidden = 128;
  options.heads = 8;
  options.kvHeads = 2;
  options.headSize = 16;
  options.intermediate = 6272;
  options.maxPositions = 640;
  return options;
}

std::string compilePlan(const std::string &name,
                        const CompileSettings &settings) {
  static const reference::RandomOptions options = makeOptions();
  return plans().compile(name, options, settings);
}

CompileSettings forArch(const std::string &arch) {
  CompileSettings settings;
  settings.cudaArchs = {arch};
  return settings;
}

CompileSettings hopper() { return forArch("sm_90a"); }

std::shared_ptr<rt::Program> load(uint64_t seed,
                                  const std::string &name = "stream",
                                  const std::string &arch = "sm_90a") {
  static std::map<std::string, std::shared_ptr<HostKernels>> allKernels;
  return loadProgram(
      compilePlan(name, forArch(arch)), [&](const rt::Plan &plan) {
        std::shared_ptr<HostKernels> &kernels = allKernels[name];
        if (!kernels)
          kernels =
              compileHostKernels(plan, plans().getFolder() / (name + "-host"));
        return createHostCudaDevice(kernels, seed);
      });
}

TEST(HostStream, TheModelTakesEveryClusterAndVariant) {
  std::shared_ptr<rt::Program> program = load(1);
  std::set<uint32_t> streamed, attention;
  for (const rt::Kernel &kernel : program->getPlan().kernels)
    for (const rt::Code &code : kernel.code) {
      if (kernel.schedule.find("stream_schedule") != std::string::npos)
        streamed.insert(code.launch.clusterSize);
      if (kernel.schedule.find("flash_schedule") != std::string::npos)
        attention.insert(code.launch.clusterSize);
    }
  EXPECT_EQ(streamed, (std::set<uint32_t>{1, 2}));
  EXPECT_EQ(attention, (std::set<uint32_t>{1, 2, 4, 8}));
}

/// Compares random prompts with the forward pass in float64.
void expectReference(std::shared_ptr<rt::Program> program,
                     const std::string &name,
                     const std::vector<int64_t> &lengths, int64_t vocabulary) {
  PlanModel model(std::move(program));
  auto reference = reference::Transformer::load(plans().getCheckpoint(name));
  EXPECT_LE(relativeError(reference, randomPrompts(lengths, vocabulary, 7),
                          model.asRunModel()),
            2e-2);
}

/// Orders of threads to try; the environment may ask for more.
uint64_t seedCount() {
  const char *text = std::getenv("WEFT_HOST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

// Steps of 1, 10, 20 and 40 rows take the variants for up to 8, 16 and 32 rows
// and for any number.
TEST(HostStream, EveryVariantEqualsTheReference) {
  for (uint64_t seed = 1; seed <= seedCount(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expectReference(load(seed), "stream", {1, 10, 20, 40}, 4096);
  }
}

// The same without bulk copies, where all warps copy; of sm_89 with its smaller
// pieces.
TEST(HostStream, EveryVariantWithoutBulkCopiesEqualsTheReference) {
  for (const char *arch : {"sm_80", "sm_89"}) {
    SCOPED_TRACE(arch);
    const std::string name = std::string("stream-") + arch;
    std::shared_ptr<rt::Program> program = load(1, name, arch);
    EXPECT_GT(std::ranges::count_if(program->getPlan().kernels,
                                    [](const rt::Kernel &kernel) {
                                      return kernel.schedule.find(
                                                 "load_warps = 0") !=
                                             std::string::npos;
                                    }),
              10);
    expectReference(program, name, {1, 10, 20, 40}, 4096);
  }
}

/// A small model of another family, whose layers stream too.
struct Family {
  const char *name;
  reference::ElementType elementType = reference::ElementType::BF16;
  nlohmann::json rope = nlohmann::json::object();
};

void PrintTo(const Family &family, std::ostream *stream) {
  *stream << family.name;
}

class HostStreamFamilies : public testing::TestWithParam<Family> {};

// Biases, fused weights of heads, partial rotation, head norms, 16-bit floats
// that a norm may not be folded into: what fusions leave alone and what not. A
// single row of 256 values is kept in shared memory.
TEST_P(HostStreamFamilies, EqualTheReference) {
  const Family &family = GetParam();
  reference::RandomOptions options;
  options.family = family.name;
  options.elementType = family.elementType;
  options.rope = family.rope;
  options.vocabulary = 512;
  options.layers = 1;
  options.hidden = 256;
  options.heads = 4;
  options.kvHeads = options.family == "gpt_neox" ? 4 : 2;
  options.headSize = 64;
  options.intermediate = 256;
  const std::string &name = options.family;
  std::string path = plans().compile(name, options, hopper());
  std::shared_ptr<HostKernels> kernels;
  expectReference(loadProgram(path,
                              [&](const rt::Plan &plan) {
                                kernels = compileHostKernels(
                                    plan,
                                    plans().getFolder() / (name + "-host"));
                                return createHostCudaDevice(kernels, 1);
                              }),
                  name, {1, 3, 9}, 512);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostStreamFamilies,
    testing::Values(Family{"llama", reference::ElementType::F16},
                    Family{"qwen2"}, Family{"qwen3"}, Family{"phi3"},
                    Family{"gpt_neox"}, Family{"gemma2"}),
    testing::PrintToStringParamName());

// Alone, together, whole and in chunks, where schedules for numbers of rows
// have one order of summation.
TEST(HostStream, BatchInvariantRowsAreTheSameBits) {
  reference::RandomOptions options = makeOptions();
  options.vocabulary = 512;
  options.hidden = 256;
  options.intermediate = 512;
  CompileSettings settings = hopper();
  settings.batchInvariant = true;
  std::string path = plans().compile("invariant", options, settings);
  std::shared_ptr<HostKernels> kernels;
  std::shared_ptr<rt::Program> program =
      loadProgram(path, [&](const rt::Plan &plan) {
        kernels =
            compileHostKernels(plan, plans().getFolder() / "invariant-host");
        return createHostCudaDevice(kernels, 5);
      });
  const int64_t lengths[] = {1, 9, 20};
  std::vector<std::vector<int32_t>> prompts = randomPrompts(lengths, 512, 3);
  std::vector<Table> expected;
  PlanModel alone(program);
  for (const std::vector<int32_t> &prompt : prompts)
    expected.push_back(alone.computeLogits(prompt));
  struct Way {
    const char *name;
    PlanModelOptions options;
  };
  for (const Way &way : {Way{"chunks of 7", {.tokensPerStep = 7}},
                         Way{"together", {.sequences = 3}}}) {
    PlanModel model(program, way.options);
    std::vector<Table> tables = model.computeLogits(prompts);
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(tables[i].values, expected[i].values)
          << way.name << ", prompt " << i;
  }
}

/// Breaks the kernels for up to so many rows, each number in its own way.
void breakKernel(const rt::Kernel &kernel, std::string &text) {
  auto isFor = [&](const std::string &rows) {
    return kernel.schedule.find("most_rows = " + rows + ",") !=
           std::string::npos;
  };
  size_t start = text.find("extern \"C\" __global__"); // Behind the helpers.
  auto drop = [&](const std::string &call) {
    if (size_t at = text.find(call, start); at != std::string::npos)
      text.replace(at, call.size(), "(void)(");
  };
  const std::string arrive = "cluster_arrive();",
                    relaxed = "cluster_arrive_relaxed();";
  if (isFor("8")) // Slots are never released.
    drop("mbarrier_arrive(");
  if (isFor("16")) // Pieces are not waited for.
    drop("mbarrier_wait(");
  size_t arrival = text.find(arrive, start);
  if (arrival == std::string::npos)
    return;
  if (isFor("32")) // The sums are not released.
    text.replace(arrival, arrive.size(), relaxed);
  if (isFor("0")) // The last arrival is that of the warp that copies.
    text.erase(text.rfind(relaxed), relaxed.size());
}

TEST(HostStream, MistakesInKernelsAreReported) {
  PlanModel model(
      loadProgram(compilePlan("stream", hopper()), [&](const rt::Plan &plan) {
        return createHostCudaDevice(compileHostKernels(
            plan, plans().getFolder() / "broken", breakKernel));
      }));
  auto run = [&](int64_t length) -> std::string {
    const int64_t lengths[] = {length};
    try {
      model.computeLogits(randomPrompts(lengths, 4096, 5).front());
    } catch (const std::exception &error) {
      return error.what();
    }
    return "";
  };
  using testing::ContainsRegex;
  using testing::HasSubstr;
  EXPECT_THAT(run(1), ContainsRegex("nothing can go on.*waiting for phase"));
  EXPECT_THAT(run(10), ContainsRegex("shared memory at .*without a barrier"));
  EXPECT_THAT(run(20), ContainsRegex("reads shared memory at .*, which thread "
                                     ".* wrote without a barrier"));
  EXPECT_THAT(run(40), HasSubstr("waits at the barrier of the cluster without "
                                 "having arrived"));
}

// Attention copies keys of earlier steps before the wait for earlier kernels.
// As if those of this step were settled too, they are copied too early.
TEST(HostStream, KeysOfTheStepCopiedBeforeTheWaitAreReported) {
  auto edit = [](const rt::Kernel &kernel, std::string &text) {
    const std::string wait = "wait_dependency();";
    if (kernel.schedule.find("flash_schedule") != std::string::npos)
      text.erase(text.find(wait, text.find("extern \"C\" __global__")),
                 wait.size());
  };
  PlanModel model(
      loadProgram(compilePlan("stream", hopper()), [&](const rt::Plan &plan) {
        return createHostCudaDevice(
            compileHostKernels(plan, plans().getFolder() / "early", edit));
      }));
  try {
    model.computeLogits(std::vector<int32_t>{5});
    FAIL() << "nothing was reported";
  } catch (const std::exception &error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("before the wait for earlier kernels, one "
                                   "of which writes it"));
  }
}

TEST(HostStream, GreedyTokensEqualTheProcessors) {
  PlanModel gpu(load(3));
  PlanModel cpu(compilePlan("processor", {}));
  const int64_t lengths[] = {5};
  for (const std::vector<int32_t> &prompt : randomPrompts(lengths, 4096, 11))
    EXPECT_EQ(gpu.generateGreedily(prompt, 4), cpu.generateGreedily(prompt, 4));
}

} // namespace
