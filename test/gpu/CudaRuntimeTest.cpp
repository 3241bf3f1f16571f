//===- CudaRuntimeTest.cpp - The CUDA device on a GPU ---------------------===//
//
// Skipped where there is no driver.
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cuda/CudaDevice.h"

#include "runtime/Device/Cuda/CodeCompiler.h"
#include "test/runtime/Exec/ToySession.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

// The kernels, as text and, where the build had a compiler for it, as a cubin.
asm(".section .rodata\n"
    ".balign 64\n"
    ".global weft_toy_source\n"
    "weft_toy_source: .incbin \"" WEFT_TOY_SOURCE "\"\n"
    "weft_toy_source_end: .byte 0\n"
    ".balign 64\n"
    ".global weft_toy_cubin\n"
    "weft_toy_cubin:\n"
#ifdef WEFT_TOY_CUBIN
    ".incbin \"" WEFT_TOY_CUBIN "\"\n"
#endif
    "weft_toy_cubin_end: .byte 0\n"
    ".balign 8\n"
    ".global weft_toy_source_size, weft_toy_cubin_size\n"
    "weft_toy_source_size: .quad weft_toy_source_end - weft_toy_source\n"
    "weft_toy_cubin_size: .quad weft_toy_cubin_end - weft_toy_cubin\n"
    ".text\n");
extern "C" {
extern const uint8_t weft_toy_source[], weft_toy_cubin[];
extern const uint64_t weft_toy_source_size, weft_toy_cubin_size;
}

using namespace weft::rt;
using testing::AllOf;
using testing::HasSubstr;

namespace {

Code makeCode(Code::Kind kind, const std::string &symbol, LaunchShape shape) {
  const bool isCubin = kind == Code::Kind::Cubin;
  Code code;
  code.kind = kind;
  code.target = "sm_90a";
  code.symbol = symbol;
  code.bytes = isCubin
                   ? Bytes({weft_toy_cubin, weft_toy_cubin_size}, nullptr)
                   : Bytes({weft_toy_source, weft_toy_source_size}, nullptr);
  code.launch = shape;
  return code;
}

Plan makePlan(Code::Kind kind) {
  Plan plan = toy::makePlan();
  plan.target = "cuda:sm_90a";
  const LaunchShape shapes[] = {
      {32, 32, 1, 1, true}, {32, 0, 1, 0, true}, {64, 0, 2, 0, true}};
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    Kernel &kernel = plan.kernels[i];
    kernel.code = {makeCode(kind, kernel.code[0].symbol, shapes[i])};
  }
  return plan;
}

/// Empty for a device that cannot run the tests of `kind`, else why not.
std::string explainSkip(Code::Kind kind, const std::string &description) {
  if (kind == Code::Kind::Cubin && weft_toy_cubin_size == 0)
    return "the tests were built without nvcc, so there is no cubin";
  if (kind == Code::Kind::Cubin &&
      description.find("capability 9.0") == std::string::npos)
    return "the cubin is for another GPU: " + description;
  if (auto nvrtc = Nvrtc::load(); kind == Code::Kind::CudaSource && !nvrtc)
    return nvrtc.getStatus().getMessage();
  return "";
}

class CudaRuntime : public testing::Test {
protected:
  void SetUp() override {
    CudaOptions options;
    options.cacheFolder = "";
    auto made = CudaDevice::create(0, options);
    if (!made)
      GTEST_SKIP() << made.getStatus().getMessage();
    device = made.take();
    stream = device->createStream().take();
  }

  std::shared_ptr<CudaDevice> device;
  std::unique_ptr<Stream> stream;
};

TEST_F(CudaRuntime, MemoryIsZeroedAndKeepsWhatIsWritten) {
  std::printf("%s\n", device->describe().c_str());
  constexpr size_t size = 1000003;
  DeviceMemory a = device->allocate(size, "a test").take();
  DeviceMemory b = device->allocate(size, "a test").take();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.getData()) % 256, 0u);
  std::vector<uint8_t> out(size), back(size, 1);
  ASSERT_OK(stream->download(back.data(), a.getData(), size));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(back, std::vector<uint8_t>(size, 0));
  for (size_t i = 0; i < size; ++i)
    out[i] = uint8_t(i * 7 + (i >> 8));
  ASSERT_OK(stream->upload(a.getData(), out.data(), size));
  ASSERT_OK(stream->copy(b.getData(), a.getData(), size));
  ASSERT_OK(stream->fill(a.getData(), 9, size));
  ASSERT_OK(stream->download(back.data(), b.getData(), size));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(back, out);
}

TEST_F(CudaRuntime, ConstantsArriveWhole) {
  std::vector<uint64_t> large(size_t(32) << 20), small(3, 5);
  for (size_t i = 0; i < large.size(); ++i)
    large[i] = i * 0x9E3779B97F4A7C15;
  const auto largeBytes = std::as_bytes(std::span(large)),
             smallBytes = std::as_bytes(std::span(small));
  const Constant constants[] = {{"small", smallBytes, smallBytes.size()},
                                {"large", largeBytes, largeBytes.size()}};
  for (int round = 0; round < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    auto made = device->importConstants(constants);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    ASSERT_OK(made.getStatus());
    std::printf("loading 256 MiB: %.3f s, %.1f GB/s\n", seconds.count(),
                double(largeBytes.size()) / seconds.count() * 1e-9);
    std::vector<uint64_t> back(large.size());
    ASSERT_OK(
        stream->download(back.data(), (*made)[1].getData(), largeBytes.size()));
    ASSERT_OK(stream->synchronize());
    EXPECT_EQ(back, large);
  }
}

TEST_F(CudaRuntime, GeneratedConstantsHaveTheirDeviation) {
  constexpr size_t count = size_t(40) << 20;
  const Constant constant = {"w", {}, count * 2, DType::BF16, {true, 0.02, 3}};
  auto made = device->importConstants({&constant, 1});
  ASSERT_OK(made.getStatus());
  std::vector<uint16_t> values(count);
  ASSERT_OK(stream->download(values.data(), (*made)[0].getData(), count * 2));
  ASSERT_OK(stream->synchronize());
  double sum = 0, squares = 0;
  for (uint16_t bits : values) {
    const float value = std::bit_cast<float>(uint32_t(bits) << 16);
    sum += value;
    squares += double(value) * value;
  }
  EXPECT_NEAR(sum / count, 0, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / count), 0.02, 2e-4);
}

TEST_F(CudaRuntime, BandwidthIsThatOfAGpu) {
  auto bandwidth = device->measureReadBandwidth(size_t(2) << 30);
  ASSERT_OK(bandwidth.getStatus());
  std::printf("read bandwidth: %.1f GB/s; bf16 peak by specification: %.1f "
              "TFLOP/s\n",
              *bandwidth * 1e-9, device->getPeakFlops(DType::BF16) * 1e-12);
  EXPECT_GT(*bandwidth, 5e10);
  EXPECT_LT(*bandwidth, 2e13);
}

TEST_F(CudaRuntime, ShortageOfMemoryIsExplainedAndHarmless) {
  const uint64_t total = device->getMemoryUse().total;
  auto memory = device->allocate(total + (uint64_t(1) << 30), "a test");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.getStatus().getCode(), StatusCode::OutOfMemory);
  EXPECT_THAT(memory.getStatus().getMessage(),
              AllOf(HasSubstr("a test"), HasSubstr("are free")));
  EXPECT_OK(device->allocate(1 << 20, "a test").getStatus());
}

/// Sessions of the toy plan, from a cubin and from its source.
class CudaRuntimeSession : public CudaRuntime,
                           public testing::WithParamInterface<Code::Kind> {
protected:
  void SetUp() override {
    CudaRuntime::SetUp();
    if (!device)
      return;
    std::string reason = explainSkip(GetParam(), device->describe());
    if (!reason.empty())
      GTEST_SKIP() << reason;
    load(makePlan(GetParam()));
  }
  void load(Plan plan) {
    auto loaded =
        Program::load(toy::makeArtifact(std::move(plan),
                                        {toy::makeWeight(), toy::makeBias()}),
                      device);
    ASSERT_OK(loaded.getStatus());
    program = loaded.take();
  }
  std::unique_ptr<Session> makeSession() {
    auto made = Session::create(program, {{{"rows", 64}, {"tokens", 16}}});
    EXPECT_OK(made.getStatus());
    return made.take();
  }
  /// A step whose inputs are shifted by `shift`, against double.
  static void runAndCheck(Session &session, int64_t tokens, float shift) {
    Step step(tokens);
    for (float &x : step.x)
      x += shift;
    ASSERT_OK(step.run(session));
    for (int64_t t = 0; t < tokens; ++t) {
      const std::vector<double> expected =
          toy::expectedLinear(toy::expectedLinear(std::vector<double>(
              step.x.begin() + t * 8, step.x.begin() + t * 8 + 8)));
      for (int64_t i = 0; i < 8; ++i)
        ASSERT_NEAR(step.y[t * 8 + i], expected[i], 1e-3) << t << " " << i;
    }
  }

  /// Runs a plan whose last kernel faults, tells what two sessions say and ends
  /// the process.
  void runFault() {
    Plan plan = makePlan(GetParam());
    Kernel &sum = plan.kernels[2];
    sum.code[0].symbol = "toy_fault";
    sum.bufferCount = 1;
    sum.symbolCount = 0;
    Command &command = plan.entries[0].commands[4];
    command.buffers.resize(1);
    command.symbols.clear();
    load(std::move(plan));
    auto session = makeSession(), other = makeSession();
    Step step(2);
    Status first = step.run(*session), second = step.run(*other);
    std::fprintf(stderr, "first: %s\nsecond: %s\n", first.getMessage().c_str(),
                 second.getMessage().c_str());
    std::_Exit(0);
  }

  std::shared_ptr<Program> program;
};

TEST_P(CudaRuntimeSession, RunsAreRightIssuedRecordedAndReplayed) {
  auto session = makeSession();
  for (int round = 0; round < 10; ++round)
    for (int64_t tokens : {1, 16, 5})
      runAndCheck(*session, tokens, float(round));
  EXPECT_EQ(session->getRecordingCount(), 3u);
}

TEST_P(CudaRuntimeSession, StatesAreKeptBetweenRuns) {
  auto session = makeSession();
  double expected = 0;
  Step step(3);
  for (int round = 0; round < 6; ++round) {
    ASSERT_OK(step.run(*session));
    for (int64_t t = 0; t < 3; ++t)
      expected += double(step.x[t * 8 + 1]);
    EXPECT_NEAR(step.sums[1], expected, 1e-4);
  }
  ASSERT_OK(session->resetStates());
  ASSERT_OK(step.run(*session));
  EXPECT_NEAR(step.sums[1], expected / 6, 1e-5);
}

TEST_P(CudaRuntimeSession, HooksSeeTimesAndBuffers) {
  auto session = makeSession();
  std::vector<int64_t> times;
  float hidden = 0;
  session->addHook([&](const CommandEvent &event) {
    times.push_back(event.endTime - event.beginTime);
    return event.commandIndex == 0
               ? event.readBuffer(event.command.buffers[3],
                                  std::as_writable_bytes(std::span(&hidden, 1)))
               : Status::ok();
  });
  runAndCheck(*session, 4, 0);
  ASSERT_EQ(times.size(), 5u);
  for (int64_t time : times) {
    EXPECT_GT(time, 0);
    EXPECT_LT(time, 1000000000);
  }
  const Step step(4);
  const std::vector<double> x(step.x.begin(), step.x.begin() + 8);
  EXPECT_NEAR(hidden, toy::expectedLinear(x)[0], 1e-4);
}

TEST_P(CudaRuntimeSession, SessionsOfSeveralThreadsAreIndependent) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto session = makeSession();
      for (int round = 0; round < 50; ++round)
        runAndCheck(*session, 1 + (round + i) % 16, float(i));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(CudaRuntimeSession, ReplayingCostsLessThanIssuing) {
  auto session = makeSession();
  Step step(1);
  auto time = [&](int rounds) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i)
      EXPECT_OK(step.run(*session));
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - begin;
    return elapsed.count() / rounds;
  };
  time(10);
  std::printf("a step of 4 kernels, replayed: %.1f us\n", time(1000));
}

TEST_P(CudaRuntimeSession, FaultIsReportedAndStaysKnown) {
  // It makes the GPU unusable for the process, so it has one of its own.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runFault(), testing::ExitedWithCode(0),
              "first: .*CUDA_ERROR_ILLEGAL_ADDRESS.*\n?.*second: .*cannot be "
              "used any more");
}

INSTANTIATE_TEST_SUITE_P(Toy, CudaRuntimeSession,
                         testing::Values(Code::Kind::Cubin,
                                         Code::Kind::CudaSource),
                         [](const auto &info) {
                           return info.param == Code::Kind::Cubin ? "Cubin"
                                                                  : "Source";
                         });

} // namespace
