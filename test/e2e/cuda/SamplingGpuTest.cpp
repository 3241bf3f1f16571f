//===- SamplingGpuTest.cpp - Ids chosen on a GPU --------------------------===//
//
// The plans are in the program, so that it needs no compiler. Skipped where
// there is no GPU.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/cuda/SamplingChecks.h"
#include "test/reference/Scratch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>

#define WEFT_PLAN(NUMBER)                                                      \
  asm(".section .rodata\n"                                                     \
      ".balign 64\n"                                                           \
      ".global weft_plan_" #NUMBER ", weft_plan_size_" #NUMBER "\n"            \
      "weft_plan_" #NUMBER ": .incbin \"" WEFT_PLANS "/" #NUMBER ".weft\"\n"   \
      "weft_plan_end_" #NUMBER ": .byte 0\n"                                   \
      ".balign 8\n"                                                            \
      "weft_plan_size_" #NUMBER ": .quad weft_plan_end_" #NUMBER               \
      " - weft_plan_" #NUMBER "\n"                                             \
      ".text\n");                                                              \
  extern "C" const char weft_plan_##NUMBER[];                                  \
  extern "C" const uint64_t weft_plan_size_##NUMBER;

WEFT_PLAN(7)
WEFT_PLAN(700)
WEFT_PLAN(5003)
WEFT_PLAN(128256)

using namespace weft;
using namespace weft::e2e;

namespace {

class SamplingOnGpu : public testing::Test {
protected:
  void SetUp() override {
    auto made = rt::createDevice("cuda", 0);
    if (!made)
      GTEST_SKIP() << made.getStatus().getMessage();
    device = made.take();
  }

  std::string write(int64_t vocabulary, const char *data, uint64_t size) {
    std::filesystem::create_directories(scratch.path);
    std::string path =
        (scratch.path / (std::to_string(vocabulary) + ".weft")).string();
    std::ofstream(path, std::ios::binary).write(data, std::streamsize(size));
    return path;
  }

  reference::Scratch scratch{"sampling-gpu"};
  std::shared_ptr<rt::Device> device;
  MakeDevice makeDevice = [this](const rt::Plan &) { return device; };
};

TEST_F(SamplingOnGpu, KernelsEqualTheDefinition) {
  checkRandomRows(7, write(7, weft_plan_7, weft_plan_size_7), makeDevice, 256,
                  32);
  checkRandomRows(5003, write(5003, weft_plan_5003, weft_plan_size_5003),
                  makeDevice, 256, 32);
  checkRandomRows(128256,
                  write(128256, weft_plan_128256, weft_plan_size_128256),
                  makeDevice, 64, 32);
}

TEST_F(SamplingOnGpu, BlocksOfAClusterDivideARow) {
  checkDividedRows(5003, write(5003, weft_plan_5003, weft_plan_size_5003),
                   makeDevice, 41);
  checkDividedRows(128256,
                   write(128256, weft_plan_128256, weft_plan_size_128256),
                   makeDevice, 41);
}

TEST_F(SamplingOnGpu, ChosenRows) {
  checkChosenRows(write(chosenVocabulary, weft_plan_700, weft_plan_size_700),
                  makeDevice);
}

} // namespace
