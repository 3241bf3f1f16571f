//===- VerifyTest.cpp - Plans that may not be run -------------------------===//

#include "runtime/Format/Verify.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <random>

using namespace weft::rt;
using namespace weft::rt::test;
using testing::HasSubstr;

namespace {

/// makePlan with the parameters' sizes, as the writer would set them.
Plan makePlacedPlan() {
  Plan plan = makePlan();
  plan.params[0].size = 16 * 8 * 4;
  plan.params[1].size = 5 * 2;
  plan.params[1].offset = 512;
  plan.params[2].size = 3;
  plan.params[2].offset = 576;
  plan.params[3].size = 3 * 4 * 2;
  return plan;
}

TEST(Verify, TestPlanIsValid) {
  Status status = verifyPlan(makePlacedPlan());
  EXPECT_TRUE(status) << status.getMessage();
}

struct Wrong {
  const char *name;
  std::function<void(Plan &)> damage;
  const char *message;
};

class WrongPlan : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlan, IsRefused) {
  Plan plan = makePlacedPlan();
  GetParam().damage(plan);
  Status status = verifyPlan(plan);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.getCode(), StatusCode::Corrupt);
  EXPECT_THAT(status.getMessage(), HasSubstr(GetParam().message));
}

Entry &step(Plan &plan) { return plan.entries[0]; }
Buffer &buffer(Plan &plan, size_t i) { return plan.entries[0].buffers[i]; }
Command &command(Plan &plan, size_t i) { return plan.entries[0].commands[i]; }
const Expr tokens = Expr::symbol(0), blocks = Expr::symbol(1);

INSTANTIATE_TEST_SUITE_P(
    Verify, WrongPlan,
    testing::Values(
        Wrong{"NoTarget", [](Plan &p) { p.target.clear(); }, "target"},
        Wrong{"MetaNotUtf8", [](Plan &p) { p.metaJson = "\xC0\x80"; },
              "metadata"},
        Wrong{"SymbolTwice", [](Plan &p) { p.symbols[1].name = "tokens"; },
              "two symbols are named 'tokens'"},
        Wrong{"SymbolRange", [](Plan &p) { p.symbols[0].min = 5000; },
              "[5000, 4096]"},
        Wrong{"NegativeSymbol", [](Plan &p) { p.symbols[0].min = -1; },
              "[-1, 4096]"},
        Wrong{"TooManySymbols", [](Plan &p) { p.symbols.resize(300); },
              "300 symbols"},
        Wrong{"ParamTwice", [](Plan &p) { p.params[1].name = "embed"; },
              "two parameters are named 'embed'"},
        Wrong{"ParamWithoutName", [](Plan &p) { p.params[1].name = ""; },
              "has no name"},
        Wrong{"LongName",
              [](Plan &p) { p.params[1].name = std::string(2000, 'x'); },
              "2000 bytes"},
        Wrong{"ParamSize", [](Plan &p) { p.params[1].size = 12; }, "need 10"},
        Wrong{"ParamRank", [](Plan &p) { p.params[0].shape.assign(17, 1); },
              "rank 17"},
        Wrong{"NegativeDimension",
              [](Plan &p) { p.params[0].shape = {-16, -8}; }, "negative"},
        Wrong{"ParamAlignment", [](Plan &p) { p.params[1].offset = 520; },
              "multiple of 64"},
        Wrong{"LargeParamAlignment",
              [](Plan &p) {
                p.params[1].shape = {32768};
                p.params[1].size = 65536;
              },
              "multiple of 4096"},
        Wrong{"ParamFile", [](Plan &p) { p.params[1].file = 1; },
              "external file 1"},
        Wrong{"ParamBeyondItsFile",
              [](Plan &p) {
                p.externalFiles = {{"w", 520, 0}};
                p.params[1].file = 1;
              },
              "ends at byte 522 of 'w'"},
        Wrong{"A6ExternalPath",
              [](Plan &p) { p.externalFiles = {{"../w", 1, 0}}; }, "'../w'"},
        Wrong{"TokenizerPath",
              [](Plan &p) { p.tokenizerFiles[0].first = "/etc/passwd"; },
              "absolute"},
        Wrong{"StateTwice", [](Plan &p) { p.states[1].name = "cache.0.key"; },
              "two states"},
        Wrong{"StateUsesRunSymbol",
              [](Plan &p) { p.states[0].shape = {tokens}; },
              "the symbol 'tokens', which has no value there"},
        Wrong{"KernelTwice", [](Plan &p) { p.kernels[1].name = "k0"; },
              "two kernels"},
        Wrong{"CodeKind",
              [](Plan &p) {
                p.kernels[0].code[0].kind = static_cast<Code::Kind>(9);
              },
              "unknown kind 9"},
        Wrong{"CodeWithoutSymbol",
              [](Plan &p) { p.kernels[0].code[0].symbol.clear(); },
              "without a target or a symbol"},
        Wrong{"LaunchShapeOnCpu",
              [](Plan &p) { p.kernels[0].code[0].launch.threads = 32; },
              "which CPU code has not"},
        Wrong{"NoThreads",
              [](Plan &p) { p.kernels[2].code[0].launch.threads = 0; },
              "blocks of 0 threads"},
        Wrong{"OddThreads",
              [](Plan &p) { p.kernels[2].code[0].launch.threads = 48; },
              "blocks of 48 threads"},
        Wrong{"TooManyThreads",
              [](Plan &p) { p.kernels[2].code[1].launch.threads = 1056; },
              "blocks of 1056 threads"},
        Wrong{"NoCluster",
              [](Plan &p) { p.kernels[2].code[0].launch.clusterSize = 0; },
              "clusters of 0 blocks"},
        Wrong{"LargeCluster",
              [](Plan &p) { p.kernels[2].code[0].launch.clusterSize = 17; },
              "clusters of 17 blocks"},
        Wrong{
            "SharedMemory",
            [](Plan &p) { p.kernels[2].code[0].launch.sharedBytes = 1 << 24; },
            "16777216 bytes of shared memory"},
        Wrong{"PersistentBlocks",
              [](Plan &p) {
                p.kernels[2].code[0].launch.blocksPerMultiprocessor = 65;
              },
              "65 blocks on a multiprocessor"},
        Wrong{"SourceNotUtf8",
              [](Plan &p) {
                p.kernels[2].code[1].bytes = std::vector<uint8_t>{0xC0, 0x80};
              },
              "the source is not UTF-8 text"},
        Wrong{"GeneratedIntegers",
              [](Plan &p) { p.params[3].dtype = DType::I16; },
              "generated values of the type i16"},
        Wrong{"GeneratedDeviation",
              [](Plan &p) { p.params[3].generated.deviation = -1; },
              "the deviation -1"},
        Wrong{"GeneratedNoNumber",
              [](Plan &p) { p.params[3].generated.deviation = NAN; },
              "the deviation nan"},
        Wrong{"GeneratedAndStored", [](Plan &p) { p.params[3].offset = 4096; },
              "generated values and stored ones"},
        Wrong{"EntrySymbol", [](Plan &p) { step(p).symbols = {2}; },
              "uses symbol 2"},
        Wrong{"EntrySymbolTwice", [](Plan &p) { step(p).symbols = {0, 0}; },
              "lists the symbol 'tokens' twice"},
        Wrong{"SymbolNotOfTheEntry", [](Plan &p) { step(p).symbols = {}; },
              "uses the symbol 'tokens'"},
        Wrong{"BufferTwice", [](Plan &p) { buffer(p, 2).name = "ids"; },
              "two buffers are named 'ids'"},
        Wrong{"BufferKind",
              [](Plan &p) { buffer(p, 2).kind = static_cast<BufferKind>(0); },
              "unknown kind 0"},
        Wrong{"BufferType",
              [](Plan &p) { buffer(p, 2).dtype = static_cast<DType>(77); },
              "unknown element type"},
        Wrong{"BufferShapeSymbol",
              [](Plan &p) { buffer(p, 0).shape = {Expr::symbol(2)}; },
              "uses symbol 2"},
        Wrong{"ParamIndex", [](Plan &p) { buffer(p, 1).index = 4; },
              "is parameter 4"},
        Wrong{"ParamBufferType",
              [](Plan &p) { buffer(p, 1).dtype = DType::I32; },
              "has type i32, its parameter 'embed' has f32"},
        Wrong{"ParamBufferTooLarge",
              [](Plan &p) { buffer(p, 1).shape = {Expr::constant(129)}; },
              "only 512"},
        Wrong{"ParamBufferSymbolic",
              [](Plan &p) { buffer(p, 1).shape = {tokens}; }, "not constant"},
        Wrong{"StateIndex", [](Plan &p) { buffer(p, 6).index = 2; },
              "is state 2"},
        Wrong{"StateBufferShape",
              [](Plan &p) { buffer(p, 6).shape = {blocks}; },
              "differs in type or shape"},
        Wrong{"TempLife", [](Plan &p) { buffer(p, 3).lastUse = 4; },
              "lives from command 1 to 4"},
        Wrong{"TempLifeBackwards", [](Plan &p) { buffer(p, 3).firstUse = 4; },
              "lives from command 4 to 3"},
        Wrong{"TempUsedBeforeItsLife",
              [](Plan &p) { buffer(p, 3).firstUse = 2; },
              "which lives only from command 2 to 3"},
        Wrong{
            "TempOffsetAlignment",
            [](Plan &p) { buffer(p, 3).offset = tokens * Expr::constant(72); },
            "expected a multiple of 64"},
        Wrong{
            "TempBeyondWorkspace",
            [](Plan &p) { buffer(p, 3).offset = tokens * Expr::constant(128); },
            "the workspace only"},
        Wrong{"TempsOverlap", [](Plan &p) { buffer(p, 3).offset = Expr(); },
              "the buffers 'a' and 'b' overlap at command 1"},
        Wrong{"TempsOverlapForSomeValues",
              // Apart for one token, not for two.
              [](Plan &p) { buffer(p, 3).offset = Expr::constant(64); },
              "overlap"},
        Wrong{"TempsOverlapForLargeValues",
              [](Plan &p) {
                buffer(p, 3).offset = Expr({{ExprOp::Kind::Symbol, 0},
                                            {ExprOp::Kind::Constant, 4000},
                                            {ExprOp::Kind::Min, 0},
                                            {ExprOp::Kind::Constant, 64},
                                            {ExprOp::Kind::Mul, 0}});
              },
              "overlap"},
        Wrong{"CommandKind",
              [](Plan &p) { command(p, 0).kind = static_cast<CommandKind>(0); },
              "unknown kind 0"},
        Wrong{"KernelIndex", [](Plan &p) { command(p, 0).kernel = 3; },
              "launches kernel 3"},
        Wrong{"VariantKernel",
              [](Plan &p) { p.entries[0].commands[0].variants[1].kernel = 3; },
              "launches kernel 3"},
        Wrong{"VariantOrder",
              [](Plan &p) { p.entries[0].commands[0].variants[1].limit = 1; },
              "limits 1 and 1 do not ascend"},
        Wrong{"VariantOrderOfOtherDevices",
              [](Plan &p) {
                std::vector<Variant> &v = p.entries[0].commands[0].variants;
                v[1].limit = Variant::anyRows;
                v.push_back(v[0]);
                v.push_back(v[0]);
              },
              "limits 1 and 1 do not ascend"},
        Wrong{"VariantGrid",
              [](Plan &p) {
                p.entries[0].commands[0].variants[0].grid = Expr::symbol(9);
              },
              "grid"},
        Wrong{"VariantWithoutRows",
              [](Plan &p) {
                p.kernels[0].symbolCount = 0;
                p.entries[0].commands[0].symbols.clear();
              },
              "has variants, but no rows to choose by"},
        Wrong{"KeyCountKind",
              [](Plan &p) {
                p.entries[0].keyCounts[1].kind =
                    static_cast<KeyCount::Kind>(3);
              },
              "entry 'step', key count 1 is of an unknown kind 3"},
        Wrong{"KeyCountBuffer",
              [](Plan &p) { p.entries[0].keyCounts[0].positions = 7; },
              "key count 0 uses buffer 7, the entry has only 7"},
        Wrong{"KeyCountWithoutPositions",
              [](Plan &p) {
                p.entries[0].keyCounts[0].positions = KeyCount::noBuffer;
              },
              "key count 0 uses buffer 4294967295"},
        Wrong{"KeyCountInput",
              [](Plan &p) { p.entries[0].keyCounts[0].sequenceStarts = 1; },
              "uses 'embed', expected an input of i32 with one dimension"},
        Wrong{"KeyCountNumber",
              [](Plan &p) { p.entries[0].keyCounts.resize(65); },
              "has 65 key counts, at most 64 are allowed"},
        Wrong{"CountedCostAlone",
              [](Plan &p) { command(p, 0).countedBytes = Expr(); },
              "has only one of two counted costs"},
        Wrong{"CountedCostSymbol",
              [](Plan &p) { command(p, 0).countedBytes = Expr::symbol(9); },
              "counted cost"},
        Wrong{"KeyCountInASize",
              [](Plan &p) {
                command(p, 0).flops = Expr::symbol(uint32_t(p.symbols.size()));
              },
              "grid or cost"},
        Wrong{"BufferIndex", [](Plan &p) { command(p, 0).buffers[1] = 7; },
              "uses buffer 7"},
        Wrong{"ArgumentCount",
              [](Plan &p) { command(p, 0).buffers.pop_back(); },
              "gives 2 buffers and 1 symbols to the kernel 'k0', which takes 3 "
              "and 1"},
        Wrong{"SymbolCount", [](Plan &p) { command(p, 0).symbols.clear(); },
              "which takes 3 and 1"},
        Wrong{
            "Grid",
            [](Plan
                   &p) { command(p, 0).grid = Expr({{ExprOp::Kind::Add, 0}}); },
            "lacks an operand"},
        Wrong{"CopyCount", [](Plan &p) { command(p, 1).buffers = {2}; },
              "expected a source and a destination"},
        Wrong{
            "CopySizes",
            [](Plan &p) { buffer(p, 2).shape = {tokens, Expr::constant(15)}; },
            "the source has 60 bytes, the destination 64"},
        Wrong{"CopyToInput", [](Plan &p) { command(p, 1).buffers = {2, 0}; },
              "writes to 'ids'"},
        Wrong{"FillOfParam", [](Plan &p) { command(p, 2).buffers = {1}; },
              "writes to 'embed'"},
        Wrong{"FillByte", [](Plan &p) { command(p, 2).kernel = 256; },
              "a byte"},
        Wrong{"LabelNotUtf8", [](Plan &p) { command(p, 2).label = "\xFF"; },
              "command 2"}),
    [](const auto &info) { return info.param.name; });

TEST(Verify, SamplesStayInTheirRanges) {
  Plan plan;
  plan.symbols = {{"a", 1, 1, false},
                  {"b", 3, 17, false},
                  {"c", 0, INT64_MAX, true},
                  {"d", INT64_MAX, INT64_MAX, true}};
  const auto samples = sampleSymbols(plan);
  EXPECT_LE(samples.size(), 32u);
  EXPECT_EQ(samples[0], (std::vector<int64_t>{1, 3, 0, INT64_MAX}));
  EXPECT_EQ(samples[1], (std::vector<int64_t>{1, 17, 1 << 20, INT64_MAX}));
  for (const auto &sample : samples)
    for (size_t i = 0; i < plan.symbols.size(); ++i) {
      EXPECT_GE(sample[i], plan.symbols[i].min);
      EXPECT_LE(sample[i], plan.symbols[i].max);
    }
}

/// The overlap check against all pairs of buffers at all commands.
TEST(Verify, OverlapsAsByComparingAllPairs) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Plan plan;
    plan.target = "cpu";
    Entry &entry = plan.entries.emplace_back();
    entry.name = "e";
    entry.commands.resize(6);
    entry.workspaceBytes = Expr::constant(64 * 40);
    const size_t count = 2 + random() % 5;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (size_t i = 0; i < count; ++i) {
      const int64_t offset = random() % 20 * 64, bytes = random() % 300;
      ranges.push_back({offset, offset + bytes});
      Buffer &b = entry.buffers.emplace_back();
      b.name = std::to_string(i);
      b.dtype = DType::U8;
      b.shape = {Expr::constant(bytes)};
      b.offset = Expr::constant(offset);
      b.firstUse = random() % 6;
      b.lastUse = b.firstUse + random() % (6 - b.firstUse);
    }
    bool overlap = false;
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < i; ++k)
        for (uint32_t c = 0; c < 6; ++c)
          overlap |=
              entry.buffers[i].firstUse <= c && c <= entry.buffers[i].lastUse &&
              entry.buffers[k].firstUse <= c && c <= entry.buffers[k].lastUse &&
              std::max(ranges[i].first, ranges[k].first) <
                  std::min(ranges[i].second, ranges[k].second);
    EXPECT_EQ(verifyWorkspace(plan, entry, {}).isOk(), !overlap) << round;
    refused += overlap;
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 1900);
}

/// The time to open grows with the size of the plan, not with its square.
TEST(Verify, ManyBuffersAreCheckedQuickly) {
  Plan plan = makePlacedPlan();
  Entry &entry = step(plan);
  constexpr int count = 20000;
  entry.commands.resize(4);
  for (int i = 0; i < count; ++i) {
    Buffer &b = entry.buffers.emplace_back();
    b.name = "t" + std::to_string(i);
    b.shape = {tokens};
    b.offset = tokens * Expr::constant(64 * (i + 3));
    b.lastUse = 3;
  }
  entry.workspaceBytes = tokens * Expr::constant(64 * (count + 3));
  const auto start = std::chrono::steady_clock::now();
  Status status = verifyPlan(plan);
  EXPECT_TRUE(status) << status.getMessage();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Verify, Utf8) {
  for (const char *good : {"", "abc", "\u00e9", "\u20ac", "\U0001F600",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(isUtf8(good)) << good;
  for (const char *bad :
       {"\x80", "\xC3", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF",
        "a\xE2\x82"})
    EXPECT_FALSE(isUtf8(bad)) << bad;
  EXPECT_FALSE(isUtf8(std::string_view("a\0b", 3)));
  // At every place of longer texts, as words are looked at as a whole.
  for (size_t at = 0; at < 20; ++at)
    for (std::string_view part :
         {std::string_view("\0", 1), std::string_view("\x80"),
          std::string_view("\x01\xFF"), std::string_view("\u20ac")}) {
      std::string text(20, '\x01');
      text.insert(at, part);
      EXPECT_EQ(isUtf8(text), part == "\u20ac") << at;
    }
}

} // namespace
