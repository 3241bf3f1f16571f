//===- SamplingTest.cpp - Ids chosen on CPUs, and GPUs on the host --------===//

#include "test/e2e/CompileModel.h"
#include "test/e2e/cuda/HostCudaDevice.h"
#include "test/e2e/cuda/SamplingChecks.h"
#include "test/e2e/cuda/SamplingPlans.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft;
using namespace weft::e2e;

namespace {

PlanStore &plans() {
  static PlanStore store("sampling");
  return store;
}

std::string makePlan(int64_t vocabulary, const std::string &target) {
  std::string name = target + "-" + std::to_string(vocabulary);
  std::ranges::replace(name, ':', '-');
  return plans().get(name, [&](const std::filesystem::path &file) {
    writeSamplingPlan(file.string(), vocabulary,
                      llvm::cantFail(parseTarget(target)), /*sourceOnly=*/true);
  });
}

std::shared_ptr<rt::Device> makeDevice(const rt::Plan &plan) {
  if (plan.target == "cpu")
    return rt::createDevice("cpu", 1).take();
  static int number = 0;
  return createHostCudaDevice(plan, plans().getFolder() /
                                        (std::to_string(number++) + ".host"));
}

void checkTarget(const std::string &target, int64_t vocabulary, int count,
                 int batch) {
  SCOPED_TRACE(target);
  checkRandomRows(vocabulary, makePlan(vocabulary, target), makeDevice, count,
                  batch);
}

TEST(Sampling, CpuKernelsEqualTheDefinition) {
  for (const std::string &level : supportedLevels())
    for (int64_t vocabulary : {1, 2, 7, 63, 512, 5003})
      checkTarget("cpu:" + level, vocabulary, 96, 8);
}

TEST(Sampling, CpuKernelsOfLargeVocabularies) {
  checkTarget("cpu", 32003, 16, 8);
  checkTarget("cpu", 128256, 8, 4);
  checkTarget("cpu", 262144, 4, 4);
}

TEST(Sampling, GpuKernelsEqualTheDefinition) {
  for (int64_t vocabulary : {1, 7, 512, 3000, 7001})
    checkTarget("cuda:sm_90a", vocabulary, 24, 8);
  checkTarget("cuda:sm_80", 20011, 6, 3);
}

/// One block for a row on sm_80; on sm_90a 4, 8 and 4, of which the last one
/// has nothing in the third case.
TEST(Sampling, BlocksOfAClusterDivideARow) {
  for (auto [vocabulary, draws] :
       {std::pair{7001, 41}, {61003, 2}, {33001, 2}}) {
    auto choose = [&](const char *target) {
      SCOPED_TRACE(target);
      return checkDividedRows(vocabulary, makePlan(vocabulary, target),
                              makeDevice, draws);
    };
    EXPECT_EQ(choose("cuda:sm_90a"), choose("cuda:sm_80"));
  }
}

TEST(Sampling, ChosenRows) {
  std::vector<std::string> targets = {"cuda:sm_90a"};
  for (const std::string &level : supportedLevels())
    targets.push_back("cpu:" + level);
  for (const std::string &target : targets) {
    SCOPED_TRACE(target);
    checkChosenRows(makePlan(chosenVocabulary, target), makeDevice);
  }
}

} // namespace
