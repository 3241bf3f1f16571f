// The matrix of scores of a long prompt never exists: 32,768 tokens in one step
// would need 4 GiB for each head.

#include "runtime/Exec/MemoryReport.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

constexpr int64_t kLength = 32768;
constexpr int64_t kMiB = 1024 * 1024;

/// A line of /proc/self/status in bytes; 0 where there is no such file.
int64_t readStatus(const std::string &key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == key + ":") {
      int64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return 0;
}

TEST(LongPrompt, PeakMemoryIsFarBelowTheScoreMatrix) {
  reference::RandomOptions options;
  options.vocabulary = 64;
  options.hidden = 32;
  options.layers = 1;
  options.heads = 2;
  options.kvHeads = 1;
  options.intermediate = 48;
  options.maxPositions = 65536;
  PlanStore plans("long-prompt");
  const std::string &plan = plans.compile("long", options);
  int64_t before = readStatus("VmRSS");
  if (before == 0)
    GTEST_SKIP() << "this system does not tell a process's memory";
  // Forget the peak of compiling, where the system allows it.
  std::ofstream("/proc/self/clear_refs") << "5";

  auto model = rt::LanguageModel::open(plan);
  ASSERT_TRUE(model) << model.getStatus().getMessage();
  rt::GenerationSessionOptions sizes;
  sizes.contextLength = kLength + 64;
  sizes.tokensPerStep = kLength;
  auto symbols =
      rt::chooseSymbols((*model)->getPlan(), (*model)->getMeta(), sizes);
  ASSERT_TRUE(symbols);
  auto report = rt::reportMemory((*model)->getPlan(), *symbols, 2);
  ASSERT_TRUE(report) << report.getStatus().getMessage();
  EXPECT_LT(report->total, 64u * kMiB);

  auto session = (*model)->createSession(sizes);
  ASSERT_TRUE(session) << session.getStatus().getMessage();
  rt::Generator &generator = (*session)->getGenerator();
  rt::GenerationRequest request;
  request.sequence = generator.addSequence();
  request.options.maxTokens = 2;
  request.options.ignoreEos = true;
  std::vector<int32_t> ids(kLength);
  for (int64_t i = 0; i < kLength; ++i)
    ids[size_t(i)] = int32_t((i * 7 + i / 64) % 64);
  ASSERT_TRUE(generator.append(request.sequence, ids));
  auto result = generator.generate(request);
  ASSERT_TRUE(result) << result.getStatus().getMessage();
  EXPECT_EQ(result->reason, rt::FinishReason::Length);
  EXPECT_EQ(result->ids.size(), 2u);

  int64_t growth = readStatus("VmHWM") - before;
  std::cout << "growth " << growth / kMiB << " MiB, reported "
            << int64_t(report->total) / kMiB << " MiB\n";
  EXPECT_LT(growth, 256 * kMiB);
}

} // namespace
