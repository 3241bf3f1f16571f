//===- DeviceTest.cpp - What every device must do -------------------------===//

#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cpu/HostFeatures.h"
#include "runtime/Device/Null/NullDevice.h"
#include "test/runtime/Support/ToyPlan.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace weft::rt;
using testing::AllOf;
using testing::HasSubstr;

namespace {

Kernel makeKernel(const std::string &symbol, uint32_t buffers,
                  uint32_t symbols) {
  Kernel kernel;
  kernel.name = symbol;
  kernel.bufferCount = buffers;
  kernel.symbolCount = symbols;
  kernel.code = {toy::makeCode(symbol, "x86-64-v2", {})};
  return kernel;
}

std::shared_ptr<Device> makeDevice(const std::string &name, unsigned threads) {
  Result<std::shared_ptr<Device>> device = createDevice(name, threads);
  EXPECT_TRUE(device.isOk()) << device.getStatus().getMessage();
  return device.take();
}

/// Conformance suite: run over every device of the build.
class DeviceConformance : public testing::TestWithParam<const char *> {
protected:
  std::shared_ptr<Device> device = makeDevice(GetParam(), 2);
  std::unique_ptr<Stream> stream = device->createStream().take();

  DeviceMemory allocate(size_t size) {
    Result<DeviceMemory> memory = device->allocate(size, "a test");
    EXPECT_TRUE(memory.isOk()) << memory.getStatus().getMessage();
    return memory.take();
  }
  std::unique_ptr<LoadedKernel> load(const Kernel &kernel) {
    Result<std::unique_ptr<LoadedKernel>> loaded = device->loadKernel(kernel);
    EXPECT_TRUE(loaded.isOk()) << loaded.getStatus().getMessage();
    return loaded.take();
  }
};

TEST_P(DeviceConformance, TellsWhatItIs) {
  EXPECT_EQ(device->getName(), GetParam());
  EXPECT_FALSE(device->describe().empty());
  EXPECT_GE(device->getWorkerCount(), 1u);
}

TEST_P(DeviceConformance, MemoryIsAlignedAndZeroed) {
  for (size_t size :
       {size_t(0), size_t(1), size_t(4095), size_t(4097), size_t(20) << 20}) {
    DeviceMemory memory = allocate(size);
    EXPECT_NE(memory.getData(), nullptr);
    EXPECT_EQ(memory.getSize(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.getData()) % Device::alignment,
              0u);
    const auto *bytes = static_cast<const unsigned char *>(memory.getData());
    for (size_t i = 0; i < size; i += 509)
      ASSERT_EQ(bytes[i], 0);
  }
}

TEST_P(DeviceConformance, RefusesMemoryThatTheMachineDoesNotHave) {
  for (size_t size : {size_t(1) << 60, SIZE_MAX, SIZE_MAX - 4096}) {
    Result<DeviceMemory> memory = device->allocate(size, "state cache.0.key");
    ASSERT_FALSE(memory.isOk());
    EXPECT_EQ(memory.getStatus().getCode(), StatusCode::OutOfMemory);
    EXPECT_THAT(memory.getStatus().getMessage(),
                AllOf(HasSubstr("state cache.0.key"), HasSubstr("EiB"),
                      HasSubstr("smaller limits")));
  }
}

TEST_P(DeviceConformance, MemoryMovesAndIsFreedOnce) {
  DeviceMemory first = allocate(100);
  void *data = first.getData();
  DeviceMemory second = std::move(first);
  EXPECT_EQ(second.getData(), data);
  EXPECT_EQ(first.getData(), nullptr);
  second = allocate(200);
  EXPECT_EQ(second.getSize(), 200u);
}

TEST_P(DeviceConformance, ConstantsKeepTheirValues) {
  alignas(64) std::array<float, 32> values;
  std::iota(values.begin(), values.end(), 1.0f);
  // At every alignment a file can have them.
  for (size_t skip : {0, 1}) {
    auto bytes = std::as_bytes(std::span(values).subspan(skip, 16));
    const Constant constant = {"weight", bytes, bytes.size()};
    Result<std::vector<DeviceMemory>> made =
        device->importConstants({&constant, 1});
    ASSERT_TRUE(made.isOk());
    ASSERT_EQ(made->size(), 1u);
    EXPECT_EQ(std::memcmp(made->front().getData(), bytes.data(), bytes.size()),
              0);
  }
}

TEST_P(DeviceConformance, GeneratedConstantsHaveTheirDeviation) {
  const size_t count = size_t(5) << 20;
  Constant constant = {"weight", {}, count * 4, DType::F32, {true, 0.5, 3}};
  std::vector<Constant> constants = {constant, constant, constant};
  constants[1].generated.seed = 4;
  constants[2].dtype = DType::BF16;
  constants[2].size = count * 2;
  Result<std::vector<DeviceMemory>> made = device->importConstants(constants);
  ASSERT_TRUE(made.isOk()) << made.getStatus().getMessage();
  const auto *values = static_cast<const float *>((*made)[0].getData());
  const auto *others = static_cast<const float *>((*made)[1].getData());
  double sum = 0, squares = 0, products = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += values[i];
    squares += double(values[i]) * values[i];
    products += double(values[i]) * others[i];
  }
  // Five standard errors of a sample of this size.
  const double error = 5 / std::sqrt(double(count));
  EXPECT_NEAR(sum / count, 0, 0.5 * error);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.5 * error);
  EXPECT_NEAR(products / count, 0, 0.25 * error);
  const auto *halves = static_cast<const uint16_t *>((*made)[2].getData());
  double halfSquares = 0;
  for (size_t i = 0; i < count; ++i) {
    const float value = std::bit_cast<float>(uint32_t(halves[i]) << 16);
    halfSquares += double(value) * value;
  }
  EXPECT_NEAR(std::sqrt(halfSquares / count), 0.5, 0.5 * error + 1e-4);
}

TEST_P(DeviceConformance, TellsTimes) {
  ASSERT_TRUE(stream->markTime(0).isOk());
  ASSERT_TRUE(stream->markTime(3).isOk());
  ASSERT_TRUE(stream->synchronize().isOk());
  EXPECT_LE(*stream->getTime(0), *stream->getTime(3));
}

TEST_P(DeviceConformance, AcceptsLaunchesCopiesAndFills) {
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  std::unique_ptr<LoadedKernel> loaded = load(kernel);
  DeviceMemory out = allocate(100 * 8), counts = allocate(100 * 4);
  void *buffers[] = {out.getData(), counts.getData()};
  int64_t symbols[] = {3};
  for (int64_t grid : {0, 1, 100})
    EXPECT_TRUE(stream->launch(*loaded, {buffers, symbols, grid}).isOk());
  EXPECT_TRUE(stream->copy(out.getData(), counts.getData(), 400).isOk());
  EXPECT_TRUE(stream->copy(nullptr, nullptr, 0).isOk());
  EXPECT_TRUE(stream->fill(out.getData(), 7, 800).isOk());
  EXPECT_TRUE(stream->fill(nullptr, 7, 0).isOk());
}

TEST_P(DeviceConformance, RefusesLaunchesThatDoNotFitTheKernel) {
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  std::unique_ptr<LoadedKernel> loaded = load(kernel);
  DeviceMemory memory = allocate(800);
  void *buffers[] = {memory.getData(), memory.getData()};
  int64_t symbols[] = {3};
  const LaunchInfo wrong[] = {
      {{buffers, 1}, symbols, 1},
      {buffers, {}, 1},
      {buffers, symbols, -1},
      {buffers, symbols, INT64_MAX},
  };
  for (const LaunchInfo &info : wrong) {
    Status status = stream->launch(*loaded, info);
    EXPECT_EQ(status.getCode(), StatusCode::InvalidArgument);
    EXPECT_THAT(status.getMessage(), HasSubstr("toy_iota"));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformance,
                         testing::Values("cpu", "null"), [](const auto &info) {
                           return std::string(info.param);
                         });

TEST(Device, NamesThatDoNotExistAreExplained) {
  Result<std::shared_ptr<Device>> device = createDevice("gpu9", 0);
  ASSERT_FALSE(device.isOk());
  EXPECT_EQ(device.getStatus().getCode(), StatusCode::NotFound);
  EXPECT_THAT(device.getStatus().getMessage(),
              AllOf(HasSubstr("gpu9"), HasSubstr("'cpu', 'cuda', 'cuda:N'")));
}

TEST(CpuDevice, RunsEachItemOnceWithAnyNumberOfThreads) {
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  for (unsigned threads : {1u, 2u, 5u}) {
    std::shared_ptr<Device> device = makeDevice("cpu", threads);
    std::unique_ptr<Stream> stream = device->createStream().take();
    std::unique_ptr<LoadedKernel> loaded = device->loadKernel(kernel).take();
    // Small ones that are known to be small stay on one thread.
    for (int64_t flops : {0, 10, 1 << 20}) {
      std::vector<int64_t> out(1000, -1);
      std::vector<int32_t> counts(1000, 0);
      void *buffers[] = {out.data(), counts.data()};
      int64_t symbols[] = {11};
      ASSERT_TRUE(
          stream->launch(*loaded, {buffers, symbols, 1000, flops}).isOk());
      for (int64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(out[i], 7 * i + 11);
        ASSERT_EQ(counts[i], 1);
      }
    }
  }
}

TEST(CpuDevice, CopiesAndFills) {
  std::shared_ptr<Device> device = makeDevice("cpu", 1);
  std::unique_ptr<Stream> stream = device->createStream().take();
  std::vector<int> from = {1, 2, 3}, to(3);
  ASSERT_TRUE(stream->copy(to.data(), from.data(), 12).isOk());
  EXPECT_EQ(to, from);
  ASSERT_TRUE(stream->fill(to.data(), 0xFF, 8).isOk());
  EXPECT_EQ(to, (std::vector<int>{-1, -1, 3}));
}

TEST(CpuDevice, ChoosesTheBestCodeThatTheProcessorCanRun) {
  Kernel kernel = makeKernel("toy_level_1", 1, 0);
  kernel.code.push_back(toy::makeCode("toy_level_2", "x86-64-v3", {"avx2"}));
  kernel.code.push_back(
      toy::makeCode("toy_level_3", "made-up", {"avx2", "made-up-feature"}));
  Code gpu = toy::makeCode("toy_level_3", "sm_90a", {});
  gpu.kind = Code::Kind::Cubin;
  kernel.code.push_back(gpu);

  std::shared_ptr<Device> device = makeDevice("cpu", 1);
  std::unique_ptr<Stream> stream = device->createStream().take();
  std::unique_ptr<LoadedKernel> loaded = device->loadKernel(kernel).take();
  int result = 0;
  void *buffers[] = {&result};
  ASSERT_TRUE(stream->launch(*loaded, {buffers, {}, 1}).isOk());
  std::vector<std::string> avx2 = {"avx2"};
  bool hasAvx2 = hasAllFeatures(avx2);
  EXPECT_EQ(result, hasAvx2 ? 2 : 1);
  EXPECT_EQ(loaded->getTarget(), hasAvx2 ? "x86-64-v3" : "x86-64-v2");
}

TEST(CpuDevice, SaysWhatEachCodeLacks) {
  Kernel kernel = makeKernel("toy_level_1", 1, 0);
  kernel.code[0].features = {"made-up-a", "made-up-b"};
  kernel.code.push_back(toy::makeCode("toy_level_2", "sm_90a", {}));
  kernel.code[1].kind = Code::Kind::Cubin;
  std::shared_ptr<Device> device = makeDevice("cpu", 1);
  std::unique_ptr<Stream> stream = device->createStream().take();
  Result<std::unique_ptr<LoadedKernel>> loaded = device->loadKernel(kernel);
  ASSERT_FALSE(loaded.isOk());
  EXPECT_EQ(loaded.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(loaded.getStatus().getMessage(),
              AllOf(HasSubstr("lacks made-up-a, made-up-b"),
                    HasSubstr("sm_90a (not CPU code)")));
}

TEST(CpuDevice, NamesTheKernelWhoseCodeIsBroken) {
  std::shared_ptr<Device> device = makeDevice("cpu", 1);
  std::unique_ptr<Stream> stream = device->createStream().take();
  Kernel missing = makeKernel("toy_level_1", 1, 0);
  missing.code[0].symbol = "not_there";
  Result<std::unique_ptr<LoadedKernel>> loaded = device->loadKernel(missing);
  ASSERT_FALSE(loaded.isOk());
  EXPECT_THAT(loaded.getStatus().getMessage(), HasSubstr("'not_there'"));

  Kernel garbage = makeKernel("toy_level_1", 1, 0);
  garbage.code[0].bytes = std::vector<uint8_t>(100, 0x90);
  loaded = device->loadKernel(garbage);
  ASSERT_FALSE(loaded.isOk());
  EXPECT_THAT(loaded.getStatus().getMessage(), HasSubstr("'toy_level_1'"));
}

TEST(CpuDevice, GivesEachThreadScratchOfItsOwn) {
  // toy_sum adds through scratch memory: shared scratch would mix columns.
  Kernel kernel = makeKernel("toy_sum", 2, 1);
  kernel.scratchBytes = 64;
  std::shared_ptr<Device> device = makeDevice("cpu", 4);
  std::unique_ptr<Stream> stream = device->createStream().take();
  std::unique_ptr<LoadedKernel> loaded = device->loadKernel(kernel).take();
  std::vector<float> memory(512 * 8), sums(8);
  for (int64_t i = 0; i < 512 * 8; ++i)
    memory[i] = float(i % 8 + 1);
  void *buffers[] = {memory.data(), sums.data()};
  int64_t symbols[] = {512};
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(stream->launch(*loaded, {buffers, symbols, 8}).isOk());
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(sums[i], 512.0f * float(i + 1));
  }
}

TEST(NullDevice, Counts) {
  NullDevice device;
  Kernel kernel = makeKernel("toy_iota", 1, 0);
  kernel.code.clear(); // It takes any.
  std::unique_ptr<LoadedKernel> loaded = device.loadKernel(kernel).take();
  {
    DeviceMemory a = device.allocate(1000, "a").take();
    DeviceMemory b = device.allocate(500, "b").take();
    void *buffers[] = {a.getData()};
    ASSERT_TRUE(device.launch(*loaded, {buffers, {}, 12}).isOk());
    ASSERT_TRUE(device.launch(*loaded, {buffers, {}, 30}).isOk());
    ASSERT_TRUE(device.copy(a.getData(), b.getData(), 500).isOk());
    ASSERT_TRUE(device.fill(a.getData(), 1, 10).isOk());
    EXPECT_EQ(*static_cast<unsigned char *>(a.getData()), 0);
  }
  NullDevice::Counts counts = device.getCounts();
  EXPECT_EQ(counts.kernels, 1u);
  EXPECT_EQ(counts.allocations, 2u);
  EXPECT_EQ(counts.peakBytes, 1500u);
  EXPECT_EQ(counts.liveBytes, 0u);
  EXPECT_EQ(counts.launches, 2u);
  EXPECT_EQ(counts.workItems, 42u);
  EXPECT_EQ(counts.copies, 1u);
  EXPECT_EQ(counts.copiedBytes, 500u);
  EXPECT_EQ(counts.fills, 1u);
  EXPECT_EQ(counts.filledBytes, 10u);
}

} // namespace
