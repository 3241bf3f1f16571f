//===- CompileLogTest.cpp - Reading and judging logs of ptxas -------------===//
//
// The logs are those of NVRTC 13.0 for kernels written to have the resources
// that the tests name, shortened where lines repeat.
//
//===----------------------------------------------------------------------===//

#include "runtime/Nvrtc/CompileLog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace weft::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr BlockLimits hopper{227 * 1024, 65536};

LaunchShape makeLaunch(uint32_t threads, uint32_t sharedBytes = 0) {
  LaunchShape launch;
  launch.threads = threads;
  launch.sharedBytes = sharedBytes;
  launch.clusterSize = 1;
  return launch;
}

constexpr const char *clean =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes "
    "spill loads\n"
    "ptxas info    : Used 243 registers, used 0 barriers\n"
    "ptxas info    : Compile time = 106.584 ms\n";

constexpr const char *spilling =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'spills' for 'sm_90a'\n"
    "ptxas info    : Function properties for spills\n"
    "ptxas         .     224 bytes stack frame, 640 bytes spill stores, 436 "
    "bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 0 barriers, 224 bytes cumulative "
    "stack size\n"
    "ptxas info    : Compile time = 26.155 ms\n";

constexpr const char *onStack =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'stacks' for 'sm_90a'\n"
    "ptxas info    : Function properties for stacks\n"
    "ptxas         .     256 bytes stack frame, 0 bytes spill stores, 0 bytes "
    "spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 256 bytes cumulative "
    "stack size, 1024 bytes smem\n";

/// Also with a function that is not inlined.
constexpr const char *serialised =
    "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored "
    "to maintain compatibility across compilation units.\n"
    "ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async "
    "instructions are serialized due to program dependence on "
    "compiler-inserted WG.AR in divergent path in the function 'wg'\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'wg' for 'sm_90a'\n"
    "ptxas info    : Function properties for wg\n"
    "ptxas         .     16 bytes stack frame, 0 bytes spill stores, 0 bytes "
    "spill loads\n"
    "ptxas info    : Used 38 registers, used 0 barriers, 16 bytes cumulative "
    "stack size\n"
    "ptxas info    : Function properties for _Z3mmaRA4_fyy\n"
    "ptxas         .     24 bytes stack frame, 8 bytes spill stores, 4 bytes "
    "spill loads\n";

/// A log of one wgmma kernel that uses 30 registers, with ptxas' notes before.
std::string withNotes(const std::string &notes) {
  return notes +
         "ptxas info    : 0 bytes gmem\n"
         "ptxas info    : Compiling entry function 'wg' for 'sm_90a'\n"
         "ptxas info    : Function properties for wg\n"
         "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 "
         "bytes spill loads\n"
         "ptxas info    : Used 30 registers, used 0 barriers\n";
}

constexpr const char *injectedWait =
    "ptxas info    : (C7517) warpgroup.wait is injected in around line 62 by "
    "compiler to allow use of registers defined by GMMA in function 'wg'\n";

TEST(CompileLog, ReadsResources) {
  CompileReport report = parseCompileLog(clean, "k");
  ASSERT_TRUE(report.resources);
  EXPECT_EQ(*report.resources, (KernelResources{243, 0, 0, 0, 0, 0}));
  EXPECT_THAT(report.messages, ElementsAre());

  report = parseCompileLog(spilling, "spills");
  ASSERT_TRUE(report.resources);
  EXPECT_EQ(*report.resources, (KernelResources{32, 0, 0, 224, 640, 436}));

  report = parseCompileLog(onStack, "stacks");
  ASSERT_TRUE(report.resources);
  EXPECT_EQ(*report.resources, (KernelResources{32, 1, 1024, 256, 0, 0}));
}

TEST(CompileLog, ReadsTheLinesOfCuda12) {
  CompileReport report = parseCompileLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\r\n"
      "ptxas info    : Used 10 registers, 80000 bytes smem, 360 bytes "
      "cmem[0]\n",
      "k");
  ASSERT_TRUE(report.resources);
  EXPECT_EQ(*report.resources, (KernelResources{10, 0, 80000, 8, 4, 12}));
}

TEST(CompileLog, CountsFunctionsThatAreCalled) {
  CompileReport report = parseCompileLog(serialised, "wg");
  ASSERT_TRUE(report.resources);
  EXPECT_EQ(*report.resources, (KernelResources{38, 0, 0, 24, 8, 4}));
  ASSERT_EQ(report.messages.size(), 2u);
  EXPECT_EQ(report.messages[0].code, "C7504");
  EXPECT_EQ(report.messages[0].text,
            "Potential Performance Loss: 'setmaxnreg' ignored to maintain "
            "compatibility across compilation units.");
  EXPECT_EQ(report.messages[1].code, "C7520");
}

TEST(CompileLog, KeepsWarnings) {
  CompileReport report = parseCompileLog(
      "k.cu(1): warning #177-D: variable \"unused\" was declared but never "
      "referenced\n    int unused;\n        ^\n\nRemark: The warnings can be "
      "suppressed with \"-diag-suppress <warning-number>\"\n\n"
      "ptxas warning : Value of threads per SM for entry k is out of range. "
      ".minnctapersm will be ignored\n" +
          std::string(injectedWait) + clean,
      "k");
  EXPECT_THAT(
      report.messages,
      ElementsAre(
          CompileMessage{"", "k.cu(1): warning #177-D: variable \"unused\" "
                             "was declared but never referenced"},
          CompileMessage{"", "Value of threads per SM for entry k is out of "
                             "range. .minnctapersm will be ignored"},
          CompileMessage{"C7517",
                         "warpgroup.wait is injected in around line 62 by "
                         "compiler to allow use of registers defined by GMMA "
                         "in function 'wg'"}));
}

TEST(CompileLog, NeedsTheKernel) {
  EXPECT_FALSE(parseCompileLog(clean, "other").resources);
  EXPECT_FALSE(parseCompileLog("", "k").resources);
  auto rejection =
      checkResources(parseCompileLog("", "k"), makeLaunch(128), hopper);
  ASSERT_TRUE(rejection);
  EXPECT_FALSE(rejection->isUsable);
  EXPECT_THAT(rejection->reason, HasSubstr("is not described by the log"));
}

std::optional<Rejection> check(const std::string &log,
                               const std::string &symbol,
                               const LaunchShape &launch) {
  return checkResources(parseCompileLog(log, symbol), launch, hopper);
}

TEST(CompileLog, AcceptsWhatIsAsItWasMeant) {
  EXPECT_FALSE(check(clean, "k", makeLaunch(256)));
  EXPECT_FALSE(check(withNotes(""), "wg", makeLaunch(256, 227 * 1024)));
  // A wait that ptxas adds costs little; it is a note, no reason.
  EXPECT_FALSE(check(withNotes(injectedWait), "wg", makeLaunch(256)));
}

TEST(CompileLog, RejectsSpillsAndStacks) {
  auto rejection = check(spilling, "spills", makeLaunch(1024));
  ASSERT_TRUE(rejection);
  EXPECT_TRUE(rejection->isUsable);
  EXPECT_EQ(rejection->reason,
            "spills registers (640 bytes stored, 436 bytes loaded, at 32 "
            "registers); has a stack frame of 224 bytes");
  EXPECT_EQ(rejection->weight, 640u + 436u + 224u);
  rejection = check(onStack, "stacks", makeLaunch(128));
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, "has a stack frame of 256 bytes");
}

/// Every note of lost performance that NVRTC 13.0 could be made to write.
TEST(CompileLog, RejectsLostPerformance) {
  const std::pair<const char *, const char *> notes[] = {
      {"C7504", "'setmaxnreg' ignored to maintain compatibility across "
                "compilation units."},
      {"C7505", "'setmaxnreg' ignored to allow debugging."},
      {"C7508", "'setmaxnreg' ignored; unable to determine register count at "
                "entry."},
      {"C7511", "wgmma.mma_async instructions are serialized due to "
                "insufficient register resources for the wgmma pipeline in "
                "the function 'wg'"},
      {"C7513", "wgmma.mma_async instructions are serialized due to non wgmma "
                "instructions defining input registers of a wgmma between "
                "start and end of the pipeline stage in the function 'wg'"},
      {"C7514", "wgmma.mma_async instructions are serialized due to non wgmma "
                "instructions reading accumulator registers of  a wgmma "
                "between start and end of the pipeline stage in the function "
                "'wg'"},
      {"C7515", "wgmma.mma_async instructions are serialized due to non wgmma "
                "instructions defining accumulator registers of a wgmma "
                "between start and end of the pipeline stage in the function "
                "'wg'"},
      {"C7520", "wgmma.mma_async instructions are serialized due to program "
                "dependence on compiler-inserted WG.AR in divergent path in "
                "the function 'wg'"},
  };
  uint64_t spills = check(spilling, "spills", makeLaunch(1024))->weight;
  for (auto [code, text] : notes) {
    std::string message = std::string("Potential Performance Loss: ") + text;
    auto rejection = check(withNotes(injectedWait +
                                     ("ptxas info    : (" + std::string(code)) +
                                     ") " + message + "\n"),
                           "wg", makeLaunch(256));
    ASSERT_TRUE(rejection) << code;
    EXPECT_TRUE(rejection->isUsable) << code;
    EXPECT_EQ(rejection->reason,
              "loses performance (" + std::string(code) + ": " + message + ")");
    EXPECT_GT(rejection->weight, spills) << code;
  }
}

TEST(CompileLog, RejectsWhatDoesNotFit) {
  auto rejection = check(onStack, "stacks", makeLaunch(128, 227 * 1024));
  ASSERT_TRUE(rejection);
  EXPECT_FALSE(rejection->isUsable);
  EXPECT_THAT(rejection->reason,
              HasSubstr("needs 228 KiB of shared memory, a block has at most "
                        "227 KiB"));
  // 243 registers are given as 248; 264 threads of them fit.
  EXPECT_FALSE(check(clean, "k", makeLaunch(256)));
  rejection = check(clean, "k", makeLaunch(288));
  ASSERT_TRUE(rejection);
  EXPECT_FALSE(rejection->isUsable);
  EXPECT_THAT(rejection->reason, HasSubstr("needs 71424 registers (243 in "
                                           "each of 288 threads)"));
}

TEST(CompileLog, FindsTheReasonOfAFailure) {
  EXPECT_EQ(explainErrors("k.cu(1): warning #177-D: unused\n  int x;\n\n"
                          "k.cu(7): error: identifier \"undeclared\" is "
                          "undefined\n  *p = undeclared;\n       ^\n\n1 error "
                          "detected in the compilation of \"k.cu\".\n"),
            "k.cu(7): error: identifier \"undeclared\" is undefined\n"
            "  *p = undeclared;\n       ^");
  EXPECT_EQ(explainErrors("ptxas application ptx input, line 23; error   : "
                          "Instruction 'wgmma.fence' not supported on .target "
                          "'sm_80'\nptxas fatal   : Ptx assembly aborted due "
                          "to errors\n"),
            "ptxas application ptx input, line 23; error   : Instruction "
            "'wgmma.fence' not supported on .target 'sm_80'\nptxas fatal   : "
            "Ptx assembly aborted due to errors");
  EXPECT_THAT(explainErrors("ptxas info    : Used 10 registers, used 1 "
                            "barriers, 80000 bytes smem, 360 bytes cmem[0]\n"),
              HasSubstr("it has 78.1 KiB of static shared memory, at most 48.0 "
                        "KiB are allowed"));
  EXPECT_THAT(explainErrors("nothing"), HasSubstr("nothing"));
}

/// A log comes from another program: whatever is in it, reading ends well.
TEST(CompileLog, ReadsAnything) {
  constexpr unsigned seed = 1;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::string all = std::string(serialised) + spilling + onStack + injectedWait;
  for (int round = 0; round < 3000; ++round) {
    std::string log = all.substr(random() % all.size(), random() % 400);
    for (int change = 0; change < 4 && !log.empty(); ++change)
      switch (random() % 3) {
      case 0:
        log[random() % log.size()] = char(random());
        break;
      case 1:
        log.erase(random() % log.size(), random() % 9);
        break;
      default:
        log.insert(random() % log.size(), "99999999999999999999 : (C");
      }
    CompileReport report = parseCompileLog(log, "wg");
    checkResources(report, makeLaunch(1024), hopper);
    explainErrors(log);
  }
}

} // namespace
