//===- MemoryReportTest.cpp -----------------------------------------------===//

#include "runtime/Exec/MemoryReport.h"
#include "runtime/Device/HostMemory.h"
#include "runtime/Device/Null/NullDevice.h"
#include "runtime/Format/ByteSize.h"
#include "test/runtime/Exec/ToySession.h"

using namespace weft::rt;
using testing::HasSubstr;

namespace {

TEST(MemoryReport, CountsEachPartOfThePlan) {
  Plan plan = toy::makePlan();
  std::vector<SymbolValue> symbols = {{"rows", 100}, {"tokens", 5}};
  Result<MemoryReport> report = reportMemory(plan, symbols, 3);
  ASSERT_OK(report.getStatus());
  EXPECT_EQ(report->weights, 8u * 8 * 4 + 8 * 4);
  EXPECT_EQ(report->code, plan.kernels[0].code[0].bytes.size() * 3);
  ASSERT_EQ(report->states.size(), 1u);
  EXPECT_EQ(report->states[0].name, "memory");
  EXPECT_EQ(report->stateBytes, 100u * 8 * 4);
  EXPECT_EQ(report->workspaceBytes, 384u); // 2 x ceil(160 / 64) x 64
  EXPECT_EQ(report->scratchBytes, 3u * 64);
  EXPECT_EQ(report->entries[0].inputs, 5u * 32 + 5 * 4);
  EXPECT_EQ(report->entries[0].outputs, 5u * 32 + 32);
  EXPECT_EQ(report->entries[0].lowerBound, 320u);
  EXPECT_EQ(report->total,
            report->weights + report->code + 3200 + 384 + 192 + 180 + 192);
  EXPECT_EQ(report->total - report->lowerBound, 64u);
}

TEST(MemoryReport, KernelsOfAGpuTakeNoScratchMemory) {
  Plan plan = toy::makePlan();
  for (Kernel &kernel : plan.kernels)
    for (Code &code : kernel.code)
      code.kind = Code::Kind::Cubin;
  std::vector<SymbolValue> symbols = {{"rows", 100}, {"tokens", 5}};
  Result<MemoryReport> report = reportMemory(plan, symbols, 3);
  ASSERT_OK(report.getStatus());
  EXPECT_EQ(report->scratchBytes, 0u);
}

TEST(MemoryReport, EqualsWhatASessionAllocates) {
  for (int64_t rows : {1, 77, 4096})
    for (int64_t tokens : {1, 7, 16}) {
      auto device = std::make_shared<NullDevice>();
      std::shared_ptr<Program> program =
          Program::load(toy::makeArtifact(), device).take();
      std::vector<SymbolValue> symbols = {{"rows", rows}, {"tokens", tokens}};
      std::unique_ptr<Session> session =
          Session::create(program, {symbols}).take();
      MemoryReport report = reportMemory(program->getPlan(), symbols, 1).take();
      EXPECT_EQ(device->getCounts().liveBytes,
                report.stateBytes + report.workspaceBytes);
    }
}

TEST(MemoryReport, ErrorsAreThoseOfTheSession) {
  EXPECT_THAT(reportMemory(toy::makePlan(), {}, 1).getStatus().getMessage(),
              HasSubstr("'rows' has no value"));
}

TEST(MemoryReport, ServingSizesBecomeTheSymbolsOfADecoder) {
  Plan plan;
  for (const char *name : {"tokens", "sequences", "table_width", "logits",
                           "cache_blocks", "adjustments"})
    plan.symbols.push_back({name, 0, INT64_MAX, false});
  Result<std::vector<SymbolValue>> values =
      getServingSymbols(plan, {4, 1000, 512, 64});
  ASSERT_OK(values.getStatus());
  std::vector<int64_t> found;
  for (const SymbolValue &value : *values)
    found.push_back(value.value);
  // 1000 positions are 15.6 blocks of 64: 16 for each of 4 sequences. Each may
  // have 4096 adjusted logits.
  EXPECT_EQ(found, (std::vector<int64_t>{512, 4, 16, 4, 64, 16384}));
  EXPECT_EQ(getServingSymbols(toy::makePlan(), {1, 64, 7, 64})->size(), 1u);

  for (ServingSizes bad : {ServingSizes{0, 1, 1, 1}, ServingSizes{1, 0, 1, 1},
                           ServingSizes{1, 1, -1, 1}, ServingSizes{1, 1, 1, 0},
                           ServingSizes{INT64_MAX, INT64_MAX, 1, 2}})
    EXPECT_EQ(getServingSymbols(plan, bad).getStatus().getCode(),
              StatusCode::InvalidArgument);
}

TEST(HostMemory, KnowsWhatIsAvailable) {
  uint64_t available = getAvailableMemory();
  EXPECT_GT(available, 1u << 20);
  EXPECT_LT(available, uint64_t(1) << 50);
}

TEST(ByteSize, HasThreeDigits) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1.00 KiB");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(1048575), "1.00 MiB");
  EXPECT_EQ(formatBytes(uint64_t(12.34 * (1 << 20))), "12.3 MiB");
  EXPECT_EQ(formatBytes(uint64_t(123.4 * (1 << 20))), "123 MiB");
  EXPECT_EQ(formatBytes(UINT64_MAX), "16.0 EiB");
}

} // namespace
