//===- CudaDeviceTest.cpp - The CUDA device on a driver without a GPU -----===//

#include "runtime/Device/Cuda/CudaDevice.h"

#include "runtime/Device/Cuda/CodeCompiler.h"
#include "test/runtime/Device/Cuda/FakeCuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

using namespace weft::rt;
using test::FakeCuda;
using test::FakeLaunch;
using testing::AllOf;
using testing::HasSubstr;

namespace {

class CudaDeviceTest : public testing::Test {
protected:
  FakeCuda &fake = test::resetFakeCuda();

  /// Of devices that are opened from now on.
  std::string nvrtc = "libweft-no-such-nvrtc.so";

  Result<std::shared_ptr<CudaDevice>> open(int number = 0) {
    CudaOptions options;
    options.driver = WEFT_FAKE_CUDA;
    options.nvrtc = nvrtc;
    options.cacheFolder = "";
    return CudaDevice::create(number, options);
  }
  std::shared_ptr<CudaDevice> make() {
    auto device = open();
    EXPECT_TRUE(device) << device.getStatus().getMessage();
    return device.take();
  }

  static Code makeCode(const std::string &symbol, const std::string &target,
                       LaunchShape shape = {128, 0, 1, 0, false}) {
    Code code;
    code.kind = Code::Kind::Cubin;
    code.target = target;
    code.symbol = symbol;
    code.bytes = std::vector<uint8_t>{'F', 'A', 'K', 'E', 0};
    code.launch = shape;
    return code;
  }
  static Kernel makeKernel(const std::string &symbol, uint32_t buffers,
                           uint32_t symbols,
                           LaunchShape shape = {128, 0, 1, 0, false}) {
    Kernel kernel;
    kernel.name = "k_" + symbol;
    kernel.bufferCount = buffers;
    kernel.symbolCount = symbols;
    kernel.code = {makeCode(symbol, "sm_90a", shape)};
    return kernel;
  }
};

TEST_F(CudaDeviceTest, TellsWhatItIs) {
  auto device = make();
  EXPECT_EQ(device->getName(), "cuda");
  EXPECT_FALSE(device->isHostMemory());
  EXPECT_EQ(device->describe(),
            "cuda:0 Fake GPU, compute capability 9.0, 4 multiprocessors, "
            "1.00 GiB, driver 13.0");
}

TEST_F(CudaDeviceTest, NumberOfNoGpuIsExplained) {
  auto device = open(1);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.getStatus().getCode(), StatusCode::NotFound);
  EXPECT_THAT(device.getStatus().getMessage(),
              AllOf(HasSubstr("number 1"), HasSubstr("there is one"),
                    HasSubstr("CUDA_VISIBLE_DEVICES")));
  fake.deviceCount = 0;
  EXPECT_THAT(open().getStatus().getMessage(), HasSubstr("finds none"));
}

TEST_F(CudaDeviceTest, MemoryIsZeroedAndCounted) {
  auto device = make();
  auto stream = device->createStream().take();
  {
    DeviceMemory memory = device->allocate(1000, "a test").take();
    std::vector<uint8_t> back(1000, 1);
    ASSERT_TRUE(stream->download(back.data(), memory.getData(), 1000));
    ASSERT_TRUE(stream->synchronize());
    EXPECT_EQ(back, std::vector<uint8_t>(1000, 0));
    EXPECT_EQ(device->getMemoryUse().used, 1000u);
    EXPECT_EQ(device->allocate(0, "nothing").take().getSize(), 0u);
  }
  EXPECT_EQ(device->getMemoryUse().used, 0u);
  EXPECT_EQ(device->getMemoryUse().peak, 1000u);
  EXPECT_EQ(fake.usedBytes, 0u);
}

TEST_F(CudaDeviceTest, ShortageOfMemoryIsExplained) {
  fake.memoryBytes = 10 << 20;
  auto device = make();
  DeviceMemory some = device->allocate(4 << 20, "a test").take();
  auto memory = device->allocate(7 << 20, "state cache.0.key");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.getStatus().getCode(), StatusCode::OutOfMemory);
  EXPECT_THAT(memory.getStatus().getMessage(),
              AllOf(HasSubstr("7.00 MiB"), HasSubstr("state cache.0.key"),
                    HasSubstr("6.00 MiB of 10.0 MiB are free"),
                    HasSubstr("this process uses 4.00 MiB")));
  // It is no fault of the device.
  EXPECT_TRUE(device->allocate(1 << 20, "a test"));
}

TEST_F(CudaDeviceTest, ConstantsGoThroughChunks) {
  auto device = make();
  std::vector<uint32_t> large(11 << 20), small(5, 7);
  std::iota(large.begin(), large.end(), 1u);
  const auto largeBytes = std::as_bytes(std::span(large)).subspan(1);
  const auto smallBytes = std::as_bytes(std::span(small));
  const Constant constants[] = {{"large", largeBytes, largeBytes.size()},
                                {"empty", {}, 0},
                                {"small", smallBytes, smallBytes.size()}};
  auto made = device->importConstants(constants);
  ASSERT_TRUE(made) << made.getStatus().getMessage();
  EXPECT_EQ(fake.largestUpload, size_t(16) << 20);
  EXPECT_LE(fake.pinnedBytes, size_t(8 * 2 * 16) << 20);
  auto stream = device->createStream().take();
  std::vector<std::byte> back(largeBytes.size());
  ASSERT_TRUE(stream->download(back.data(), (*made)[0].getData(), back.size()));
  ASSERT_TRUE(stream->synchronize());
  EXPECT_TRUE(std::ranges::equal(back, largeBytes));
  ASSERT_TRUE(
      stream->download(back.data(), (*made)[2].getData(), smallBytes.size()));
  EXPECT_TRUE(
      std::ranges::equal(std::span(back).first(smallBytes.size()), smallBytes));
}

TEST_F(CudaDeviceTest, FailureWhileLoadingNamesTheConstant) {
  auto device = make();
  std::vector<std::byte> bytes(100);
  const Constant constants[] = {{"parameter embed", bytes, bytes.size()}};
  fake.failures["cuMemcpyHtoDAsync_v2"] = cuda::Code::OutOfMemory;
  auto made = device->importConstants(constants);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.getStatus().getMessage(), HasSubstr("parameter embed"));
  EXPECT_EQ(fake.usedBytes, 0u);
}

TEST_F(CudaDeviceTest, GeneratedConstantsAreTheSameEveryTime) {
  auto device = make();
  auto stream = device->createStream().take();
  auto read = [&](uint64_t seed) {
    const Constant constant = {
        "w", {}, 40 << 20, DType::BF16, {true, 0.02, seed}};
    auto made = device->importConstants({&constant, 1}).take();
    std::vector<uint16_t> values(20 << 20);
    EXPECT_TRUE(stream->download(values.data(), made[0].getData(), 40 << 20));
    EXPECT_TRUE(stream->synchronize());
    return values;
  };
  const std::vector<uint16_t> first = read(1);
  EXPECT_EQ(first, read(1));
  EXPECT_NE(first, read(2));
  double squares = 0;
  for (uint16_t bits : first) {
    const float value = std::bit_cast<float>(uint32_t(bits) << 16);
    squares += double(value) * value;
  }
  EXPECT_NEAR(std::sqrt(squares / double(first.size())), 0.02, 2e-4);
}

struct Choice {
  int major, minor;
  std::vector<const char *> targets;
  const char *expected; ///< Null: none fits.
};

class CudaCodeChoice : public testing::TestWithParam<Choice> {};

TEST_P(CudaCodeChoice, TakesTheBestThatFits) {
  cuda::GpuFacts facts;
  facts.name = "Fake GPU";
  facts.major = GetParam().major;
  facts.minor = GetParam().minor;
  cuda::CodeCompiler compiler(facts, "libweft-no-such-nvrtc.so", "");
  Kernel kernel;
  kernel.name = "k";
  for (const char *target : GetParam().targets) {
    Code &code = kernel.code.emplace_back();
    code.kind = Code::Kind::Cubin;
    code.target = target;
  }
  auto chosen = compiler.choose(kernel);
  if (GetParam().expected) {
    ASSERT_TRUE(chosen) << chosen.getStatus().getMessage();
    EXPECT_EQ(chosen->target, GetParam().expected);
    return;
  }
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(chosen.getStatus().getMessage(),
              AllOf(HasSubstr("kernel 'k'"), HasSubstr("Fake GPU"),
                    HasSubstr("--target=cuda:sm_")));
}

INSTANTIATE_TEST_SUITE_P(
    CudaDevice, CudaCodeChoice,
    testing::Values(Choice{9, 0, {"sm_80", "sm_90a"}, "sm_90a"},
                    Choice{9, 0, {"sm_90a", "sm_90"}, "sm_90a"},
                    Choice{9, 0, {"sm_80", "sm_90"}, "sm_90"},
                    Choice{9, 0, {"sm_80"}, nullptr},
                    Choice{8, 0, {"sm_80", "sm_90a"}, "sm_80"},
                    Choice{8, 6, {"sm_80", "sm_86", "sm_89"}, "sm_86"},
                    Choice{8, 9, {"sm_86", "sm_80"}, "sm_86"},
                    Choice{8, 0, {"sm_86"}, nullptr},
                    Choice{12, 1, {"sm_120a"}, nullptr},
                    Choice{12, 1, {"sm_120f"}, "sm_120f"},
                    Choice{9, 0, {"sm_", "sm_9x", "x", "sm_-90"}, nullptr},
                    Choice{9, 0, {}, nullptr}));

TEST_F(CudaDeviceTest, SourceWithoutNvrtcIsExplained) {
  auto device = make();
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  kernel.code[0].kind = Code::Kind::CudaSource;
  kernel.code[0].target = "sm_80";
  auto loaded = device->loadKernel(kernel);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(loaded.getStatus().getMessage(),
              AllOf(HasSubstr("sm_80 (source)"),
                    HasSubstr("cannot compile for CUDA without NVRTC"),
                    HasSubstr("libweft-no-such-nvrtc.so")));
}

TEST(CodeCompiler, CompilesSourcesWhereNvrtcIs) {
  auto nvrtc = Nvrtc::load();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.getStatus().getMessage();
  cuda::GpuFacts facts;
  facts.name = "Fake GPU";
  facts.major = 9;
  std::string folder = testing::TempDir() + "weft-cubins-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Kernel kernel;
  kernel.name = "scale";
  Code &code = kernel.code.emplace_back();
  code.kind = Code::Kind::CudaSource;
  code.target = "sm_80";
  code.symbol = "scale";
  code.features = {"--fmad=true"};
  auto setSource = [&](std::string_view text) {
    code.bytes = std::vector<uint8_t>(text.begin(), text.end());
  };
  setSource("extern \"C\" __global__ void scale(float *x, long long n) {"
            "  x[blockIdx.x] *= FACTOR; }");
  cuda::CodeCompiler compiler(facts, "", folder);
  auto failed = compiler.choose(kernel);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(failed.getStatus().getMessage(),
              AllOf(HasSubstr("the source for sm_80"), HasSubstr("scale.cu"),
                    HasSubstr("FACTOR")));
  EXPECT_TRUE(std::filesystem::is_empty(folder));

  code.features.push_back("-DFACTOR=2");
  auto chosen = compiler.choose(kernel);
  ASSERT_TRUE(chosen) << chosen.getStatus().getMessage();
  EXPECT_EQ(chosen->target, "sm_90a");
  EXPECT_EQ(chosen->code, &code);
  ASSERT_GT(chosen->cubin.size(), 4u);
  EXPECT_EQ(std::memcmp(chosen->cubin.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  EXPECT_FALSE(std::filesystem::is_empty(folder));
  // Another compiler finds it.
  auto again = cuda::CodeCompiler(facts, "", folder).choose(kernel);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cubin, chosen->cubin);
  // The entry is that of the compiler, which may have made it.
  NvrtcOptions options;
  options.extra = code.features;
  const std::string key = KernelCache::makeKey(
      {reinterpret_cast<const char *>(code.bytes.data()), code.bytes.size()},
      (*nvrtc)->getArguments("sm_90a", options), (*nvrtc)->getVersion());
  EXPECT_TRUE(KernelCache(folder).find(key, false));
  std::filesystem::remove_all(folder);
}

TEST_F(CudaDeviceTest, SourcesAreCompiledTogether) {
  nvrtc = WEFT_FAKE_NVRTC;
  auto device = make();
  const char *symbols[] = {"toy_iota", "toy_sum", "toy_linear"};
  std::vector<Kernel> kernels = {makeKernel(symbols[0], 2, 1),
                                 makeKernel(symbols[1], 2, 1),
                                 makeKernel(symbols[2], 4, 1)};
  std::vector<const Kernel *> pointers;
  for (Kernel &kernel : kernels) {
    if (&kernel != &kernels[1]) { // This one has a cubin.
      kernel.code[0].kind = Code::Kind::CudaSource;
      kernel.code[0].target = "sm_80";
    }
    pointers.push_back(&kernel);
  }
  auto loaded = device->loadKernels(pointers);
  ASSERT_TRUE(loaded) << loaded.getStatus().getMessage();
  ASSERT_EQ(loaded->size(), 3u);
  for (const auto &kernel : *loaded)
    EXPECT_EQ(kernel->getTarget(), "sm_90a");
  EXPECT_EQ(fake.modules, 3u);
  loaded->clear();

  // The first failure in the order of the kernels, whichever is found first.
  const std::string_view wrong = "#error";
  for (size_t i : {0, 2})
    kernels[i].code[0].bytes = std::vector<uint8_t>(wrong.begin(), wrong.end());
  auto failed = device->loadKernels(pointers);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.getStatus().getMessage(),
              AllOf(HasSubstr("kernel 'k_toy_iota'"), HasSubstr("#error"),
                    HasSubstr("the source for sm_80")));
  EXPECT_EQ(fake.modules, 0u);
}

TEST_F(CudaDeviceTest, BadCodeIsRefused) {
  auto device = make();
  auto expectRefused = [&](const Kernel &kernel, StatusCode code,
                           const char *text) {
    auto loaded = device->loadKernel(kernel);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.getStatus().getCode(), code) << text;
    EXPECT_THAT(loaded.getStatus().getMessage(),
                AllOf(HasSubstr(kernel.name), HasSubstr(text)));
  };
  Kernel garbage = makeKernel("toy_iota", 2, 1);
  garbage.code[0].bytes = std::vector<uint8_t>{1, 2, 3, 4};
  expectRefused(garbage, StatusCode::Corrupt, "CUDA_ERROR_INVALID_IMAGE");
  expectRefused(makeKernel("toy_missing", 2, 1), StatusCode::Corrupt,
                "no function 'toy_missing'");
  expectRefused(makeKernel("toy_iota", 1, 1), StatusCode::Corrupt,
                "takes more than 3 parameters; expected 1 pointers, 1 symbols");
  expectRefused(makeKernel("toy_iota", 4, 1), StatusCode::Corrupt,
                "takes 4 parameters; expected 4 pointers");
  expectRefused(makeKernel("toy_iota", 2, 1, {128, 232000, 1, 0, false}),
                StatusCode::Unsupported,
                "233024 bytes of shared memory for a block; Fake GPU has "
                "232448");
  fake.occupancy = 0;
  expectRefused(makeKernel("toy_iota", 2, 1), StatusCode::Unsupported,
                "a block of 128 threads does not fit");
  EXPECT_EQ(fake.modules, 0u);
}

TEST_F(CudaDeviceTest, LaunchesHaveTheirShape) {
  struct Case {
    LaunchShape shape;
    int64_t items;
    unsigned blocks;
  };
  // 4 multiprocessors with 2 resident blocks each.
  const Case cases[] = {
      {{128, 0, 1, 0, false}, 1, 1},   {{128, 0, 1, 0, false}, 1000, 1000},
      {{256, 64, 4, 0, false}, 5, 20}, {{128, 0, 1, 1, false}, 1000, 4},
      {{128, 0, 1, 1, false}, 3, 3},   {{128, 0, 1, 2, false}, 1000, 8},
      {{128, 0, 1, 9, false}, 100, 8}, {{128, 0, 3, 1, false}, 1000, 3},
      {{128, 0, 8, 1, false}, 100, 8}, {{32, 0, 16, 0, false}, 1, 16}};
  auto device = make();
  auto stream = device->createStream().take();
  DeviceMemory out = device->allocate(8000, "a test").take();
  DeviceMemory counts = device->allocate(4000, "a test").take();
  void *buffers[] = {out.getData(), counts.getData()};
  int64_t symbols[] = {3};
  for (const Case &c : cases) {
    Kernel kernel = makeKernel("toy_iota", 2, 1, c.shape);
    auto loaded = device->loadKernel(kernel);
    ASSERT_TRUE(loaded) << loaded.getStatus().getMessage();
    EXPECT_EQ((*loaded)->getTarget(), "sm_90a");
    fake.launches.clear();
    ASSERT_TRUE(stream->launch(**loaded, {buffers, symbols, 0}));
    EXPECT_TRUE(fake.launches.empty());
    ASSERT_TRUE(stream->launch(**loaded, {buffers, symbols, c.items}));
    ASSERT_EQ(fake.launches.size(), 1u);
    const FakeLaunch &launch = fake.launches[0];
    EXPECT_EQ(launch.blocks, c.blocks);
    EXPECT_EQ(launch.threads, c.shape.threads);
    EXPECT_EQ(launch.sharedBytes, c.shape.sharedBytes);
    EXPECT_EQ(launch.cluster, c.shape.clusterSize);
  }
  std::vector<int64_t> values(1000);
  ASSERT_TRUE(stream->download(values.data(), out.getData(), 8000));
  ASSERT_TRUE(stream->synchronize());
  for (int64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(values[i], 7 * i + 3);
}

TEST_F(CudaDeviceTest, OnlyKernelsBehindKernelsAreDependent) {
  auto device = make();
  auto stream = device->createStream().take();
  DeviceMemory memory = device->allocate(800, "a test").take();
  void *buffers[] = {memory.getData(), memory.getData()};
  int64_t symbols[] = {3};
  Kernel dependent = makeKernel("toy_iota", 2, 1, {128, 0, 1, 0, true});
  Kernel plain = makeKernel("toy_iota", 2, 1);
  auto a = device->loadKernel(dependent).take();
  auto b = device->loadKernel(plain).take();
  ASSERT_TRUE(stream->launch(*a, {buffers, symbols, 1})); // First of all.
  ASSERT_TRUE(stream->launch(*a, {buffers, symbols, 1}));
  ASSERT_TRUE(stream->launch(*b, {buffers, symbols, 1}));
  ASSERT_TRUE(stream->launch(*a, {buffers, symbols, 1}));
  ASSERT_TRUE(stream->fill(memory.getData(), 0, 8));
  ASSERT_TRUE(stream->launch(*a, {buffers, symbols, 1}));
  std::vector<bool> found;
  for (const FakeLaunch &launch : fake.launches)
    found.push_back(launch.isDependent);
  EXPECT_EQ(found, (std::vector<bool>{false, true, false, true, false}));
}

TEST_F(CudaDeviceTest, TooManyBlocksAreRefused) {
  auto device = make();
  auto stream = device->createStream().take();
  DeviceMemory memory = device->allocate(800, "a test").take();
  void *buffers[] = {memory.getData(), memory.getData()};
  int64_t symbols[] = {3};
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  auto loaded = device->loadKernel(kernel).take();
  Status status = stream->launch(*loaded, {buffers, symbols, int64_t(1) << 31});
  EXPECT_EQ(status.getCode(), StatusCode::LimitExceeded);
  EXPECT_THAT(status.getMessage(), HasSubstr("k_toy_iota"));
}

TEST_F(CudaDeviceTest, FaultMakesTheDeviceUnusableAndSaysSo) {
  auto device = make();
  auto stream = device->createStream().take();
  auto other = device->createStream().take();
  Kernel kernel = makeKernel("toy_fault", 1, 0);
  auto loaded = device->loadKernel(kernel).take();
  DeviceMemory memory = device->allocate(8, "a test").take();
  void *buffers[] = {memory.getData()};
  ASSERT_TRUE(stream->launch(*loaded, {buffers, {}, 1}));
  Status first = stream->synchronize();
  EXPECT_EQ(first.getCode(), StatusCode::Internal);
  EXPECT_THAT(first.getMessage(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  for (const Status &later :
       {stream->synchronize(), other->fill(memory.getData(), 0, 8),
        device->allocate(8, "a test").getStatus(),
        device->createStream().getStatus()})
    EXPECT_THAT(later.getMessage(),
                AllOf(HasSubstr("cannot be used any more"),
                      HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"),
                      HasSubstr("start the process again")));
}

TEST_F(CudaDeviceTest, FailedLaunchNamesTheKernel) {
  auto device = make();
  auto stream = device->createStream().take();
  DeviceMemory memory = device->allocate(800, "a test").take();
  void *buffers[] = {memory.getData(), memory.getData()};
  int64_t symbols[] = {3};
  Kernel kernel = makeKernel("toy_iota", 2, 1);
  auto loaded = device->loadKernel(kernel).take();
  fake.failures["cuLaunchKernelEx"] = cuda::Code::LaunchFailed;
  Status status = stream->launch(*loaded, {buffers, symbols, 5});
  EXPECT_THAT(status.getMessage(),
              AllOf(HasSubstr("kernel 'k_toy_iota'"), HasSubstr("5 blocks"),
                    HasSubstr("CUDA_ERROR_LAUNCH_FAILED")));
}

} // namespace
