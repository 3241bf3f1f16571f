//===- CudaSessionTest.cpp - Sessions on a driver without a GPU -----------===//

#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Exec/RecordingCache.h"
#include "test/runtime/Device/Cuda/FakeCuda.h"
#include "test/runtime/Exec/ToySession.h"

#include <algorithm>
#include <thread>

using namespace weft::rt;
using test::FakeCuda;
using test::FakeLaunch;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// The toy plan with code for the fake GPU.
Plan makeCudaPlan() {
  Plan plan = toy::makePlan();
  plan.target = "cuda:sm_90a";
  for (Kernel &kernel : plan.kernels) {
    Code &code = kernel.code[0];
    code.kind = Code::Kind::Cubin;
    code.target = "sm_90a";
    code.bytes = std::vector<uint8_t>{'F', 'A', 'K', 'E', 0};
    code.launch = {128, 0, 1, 0, true};
  }
  return plan;
}

class CudaSessionTest : public testing::Test {
protected:
  FakeCuda &fake = test::resetFakeCuda();
  std::shared_ptr<Program> program;

  static std::shared_ptr<Device> makeDevice() {
    CudaOptions options;
    options.driver = WEFT_FAKE_CUDA;
    options.cacheFolder = "";
    auto device = CudaDevice::create(0, options);
    EXPECT_OK(device.getStatus());
    return device.take();
  }
  void load(Plan plan = makeCudaPlan(),
            std::shared_ptr<Device> device = makeDevice()) {
    auto loaded =
        Program::load(toy::makeArtifact(std::move(plan),
                                        {toy::makeWeight(), toy::makeBias()}),
                      std::move(device));
    ASSERT_OK(loaded.getStatus());
    program = loaded.take();
  }
  std::unique_ptr<Session> makeSession(int64_t rows = 64) {
    auto made = Session::create(program, {{{"rows", rows}, {"tokens", 16}}});
    EXPECT_OK(made.getStatus());
    return made.take();
  }

  /// y of two linear layers for the row `t` of a step, in double.
  static std::vector<double> expectedRow(const Step &step, int64_t t) {
    std::vector<double> x(step.x.begin() + t * 8, step.x.begin() + t * 8 + 8);
    return toy::expectedLinear(toy::expectedLinear(x));
  }
  static void expectResults(const Step &step) {
    for (int64_t t = 0; t < int64_t(step.slots.size()); ++t) {
      const std::vector<double> expected = expectedRow(step, t);
      for (int64_t i = 0; i < 8; ++i)
        ASSERT_NEAR(step.y[t * 8 + i], expected[i], 1e-4) << t << " " << i;
    }
  }
  void runAndCheck(Session &session, int64_t tokens) {
    Step step(tokens);
    ASSERT_OK(step.run(session));
    expectResults(step);
  }
};

TEST_F(CudaSessionTest, RecordsTheSecondRunAndReplaysIt) {
  load();
  auto session = makeSession();
  runAndCheck(*session, 3);
  EXPECT_EQ(fake.captures, 0u);
  EXPECT_EQ(fake.launches.size(), 4u);
  runAndCheck(*session, 3);
  EXPECT_EQ(fake.captures, 1u);
  EXPECT_EQ(fake.graphLaunches, 1u);
  EXPECT_EQ(fake.launches.size(), 8u);
  for (int i = 0; i < 5; ++i)
    runAndCheck(*session, 3);
  EXPECT_EQ(fake.captures, 1u);
  EXPECT_EQ(fake.graphLaunches, 6u);
  EXPECT_EQ(fake.launches.size(), 8u);
  EXPECT_EQ(session->getRecordingCount(), 1u);
  // A copy stands between the first two kernels, and the first follows one.
  std::vector<bool> dependent;
  for (size_t i = 4; i < 8; ++i) {
    EXPECT_TRUE(fake.launches[i].isCaptured);
    dependent.push_back(fake.launches[i].isDependent);
  }
  EXPECT_EQ(dependent, (std::vector<bool>{false, false, true, true}));
}

TEST_F(CudaSessionTest, ReplaysSeeTheInputsOfTheirRun) {
  load();
  auto session = makeSession();
  for (int round = 0; round < 4; ++round) {
    Step step(2);
    for (float &x : step.x)
      x += float(round);
    ASSERT_OK(step.run(*session));
    expectResults(step);
  }
  // memory += x of each round; sums adds its rows: in double.
  Step last(2);
  double expected = 0;
  for (int round = 0; round < 4; ++round)
    for (int64_t t = 0; t < 2; ++t)
      expected += double(last.x[t * 8]) + round;
  for (float &x : last.x)
    x = 0;
  ASSERT_OK(last.run(*session));
  EXPECT_NEAR(last.sums[0], expected, 1e-4);
}

TEST_F(CudaSessionTest, OneCopyCarriesAllInputs) {
  load();
  auto session = makeSession();
  fake.uploads = fake.downloads = 0;
  runAndCheck(*session, 16);
  EXPECT_EQ(fake.uploads, 1u);
  EXPECT_EQ(fake.downloads, 1u);
}

// Small outputs share a copy anyway; large ones that are ignored stay on the
// device.
TEST_F(CudaSessionTest, IgnoredOutputsAreNotWritten) {
  Plan plan = makeCudaPlan();
  for (Symbol &symbol : plan.symbols)
    symbol.max = std::max<int64_t>(symbol.max, 1 << 16);
  load(std::move(plan));
  auto made = Session::create(program, {{{"rows", 64}, {"tokens", 1 << 16}}});
  ASSERT_OK(made.getStatus());
  for (bool ignored : {true, false}) {
    Step step(4);
    auto outputs = step.outputs(); // All -1.
    for (Argument &output : outputs)
      output.isIgnored = ignored;
    fake.downloads = 0;
    ASSERT_OK((*made)->run("step", step.inputs(), outputs));
    EXPECT_EQ(fake.downloads, ignored ? 1u : 2u); // Sums, and y.
    EXPECT_EQ(step.sums[0] == -1, ignored);
    if (ignored)
      EXPECT_EQ(step.y[0], -1);
    else
      expectResults(step);
  }
}

TEST_F(CudaSessionTest, EachSetOfSizesHasItsRecording) {
  load();
  auto session = makeSession();
  for (int round = 0; round < 3; ++round)
    for (int64_t tokens = 1; tokens <= 16; ++tokens)
      runAndCheck(*session, tokens);
  EXPECT_EQ(fake.captures, 16u);
  EXPECT_EQ(session->getRecordingCount(), 16u);
  EXPECT_EQ(fake.liveGraphs, 16u);
  session.reset();
  EXPECT_EQ(fake.liveGraphs, 0u);
}

/// The first launch's kernel in versions for two architectures and numbers of
/// rows, told apart by their threads.
Plan makeVariantPlan() {
  Plan plan = makeCudaPlan();
  Command &command = plan.entries[0].commands[0];
  auto addKernel = [&](const char *target, Code::Kind kind, uint32_t threads) {
    Kernel kernel = plan.kernels[command.kernel];
    kernel.name += "_" + std::to_string(threads);
    kernel.code.resize(1);
    kernel.code[0].kind = kind;
    kernel.code[0].target = target;
    kernel.code[0].launch.threads = threads;
    plan.kernels.push_back(kernel);
    return uint32_t(plan.kernels.size() - 1);
  };
  for (Kernel &kernel : plan.kernels) // Elsewhere there is code for both.
    kernel.code.push_back(kernel.code[0]);
  for (Kernel &kernel : plan.kernels)
    kernel.code[1].target = "sm_80";
  const Expr grid = command.grid;
  const Code::Kind cubin = Code::Kind::Cubin;
  command.variants = {{2, addKernel("sm_90a", cubin, 32), grid},
                      {Variant::anyRows, addKernel("sm_90a", cubin, 64), grid},
                      {3, addKernel("sm_86", Code::Kind::CudaSource, 96), grid},
                      {4, addKernel("sm_80", cubin, 160), grid}};
  command.kernel = addKernel("sm_80", cubin, 192);
  return plan;
}

TEST_F(CudaSessionTest, LaunchesTakeTheVariantOfTheGpuAndTheRows) {
  struct Case {
    int major, minor;
    int64_t tokens;
    unsigned threads;
  };
  for (auto [major, minor, tokens, threads] :
       {Case{9, 0, 1, 32}, Case{9, 0, 2, 32}, Case{9, 0, 3, 64},
        Case{9, 0, 16, 64}, Case{8, 0, 1, 160}, Case{8, 0, 4, 160},
        Case{8, 0, 5, 192}, Case{8, 6, 3, 160}}) {
    SCOPED_TRACE(std::to_string(major) + "." + std::to_string(minor) + ", " +
                 std::to_string(tokens) + " tokens");
    fake.major = major;
    fake.minor = minor;
    fake.launches.clear();
    load(makeVariantPlan());
    // The plan's other kernels, and two of the five versions.
    EXPECT_EQ(fake.modules, program->getPlan().kernels.size() - 3);
    auto session = makeSession();
    runAndCheck(*session, tokens);
    ASSERT_FALSE(fake.launches.empty());
    EXPECT_EQ(fake.launches[0].threads, threads);
    session.reset();
    program.reset();
  }
}

TEST_F(CudaSessionTest, LaunchWithoutCodeForTheGpuIsExplained) {
  fake.major = 7;
  fake.minor = 5;
  auto loaded =
      Program::load(toy::makeArtifact(makeVariantPlan(),
                                      {toy::makeWeight(), toy::makeBias()}),
                    makeDevice());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(loaded.getStatus().getMessage(),
              AllOf(HasSubstr("has no code for Fake GPU (sm_75)"),
                    HasSubstr("--target=cuda:sm_75")));
}

TEST_F(CudaSessionTest, OldRecordingsGo) {
  RecordingCache cache;
  const auto count = int64_t(RecordingCache::capacity);
  for (int64_t i = 0; i < count; ++i)
    EXPECT_EQ(cache.use({{i, 7}}).runs, 1u);
  EXPECT_EQ(cache.use({{0, 7}}).runs, 2u);
  EXPECT_EQ(cache.use({{count, 7}}).runs, 1u); // Drops the oldest, 1.
  EXPECT_EQ(cache.use({{0, 7}}).runs, 3u);
  EXPECT_EQ(cache.use({{1, 7}}).runs, 1u);
  EXPECT_EQ(cache.getCount(), 0u);
}

TEST_F(CudaSessionTest, HooksReadBuffersStepByStep) {
  load();
  auto session = makeSession();
  runAndCheck(*session, 2);
  runAndCheck(*session, 2);
  std::vector<std::string> labels;
  float hidden = 0;
  uint32_t hook = session->addHook([&](const CommandEvent &event) {
    labels.push_back(event.command.label);
    EXPECT_GT(event.endTime, event.beginTime);
    if (event.commandIndex != 0)
      return Status::ok();
    return event.readBuffer(event.command.buffers[3],
                            std::as_writable_bytes(std::span(&hidden, 1)));
  });
  Step step(2);
  ASSERT_OK(step.run(*session));
  expectResults(step);
  EXPECT_EQ(labels.size(), 5u);
  EXPECT_EQ(labels[0], "layers.0.linear");
  const std::vector<double> x(step.x.begin(), step.x.begin() + 8);
  EXPECT_NEAR(hidden, toy::expectedLinear(x)[0], 1e-5);
  session->removeHook(hook);
  const size_t replays = fake.graphLaunches;
  runAndCheck(*session, 2);
  EXPECT_EQ(fake.graphLaunches, replays + 1);
}

TEST_F(CudaSessionTest, HooksOfTimesLetTheDeviceWorkAhead) {
  load();
  auto session = makeSession();
  std::vector<int64_t> nanoseconds;
  session->addHook(
      [&](const CommandEvent &event) {
        nanoseconds.push_back(event.endTime - event.beginTime);
        return Status::ok();
      },
      HookKind::Times);
  runAndCheck(*session, 2);
  ASSERT_EQ(nanoseconds.size(), 5u);
  for (int64_t time : nanoseconds) // The fake's clock.
    EXPECT_NEAR(double(time), 1000, 5);
}

TEST_F(CudaSessionTest, SessionsOfSeveralThreadsAreIndependent) {
  load();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto session = makeSession(16 + i);
      for (int round = 0; round < 20; ++round)
        runAndCheck(*session, 1 + (round + i) % 5);
    });
  for (std::thread &thread : threads)
    thread.join();
  program.reset();
  EXPECT_EQ(fake.usedBytes, 0u);
  EXPECT_EQ(fake.liveGraphs, 0u);
  EXPECT_EQ(fake.liveStreams, 0u);
  EXPECT_EQ(fake.modules, 0u);
}

// On one GPU, by one device and by two, each with its sessions.
TEST_F(CudaSessionTest, SeveralPlansRunInOneProcess) {
  std::vector<std::shared_ptr<Program>> programs;
  std::shared_ptr<Device> device = makeDevice();
  for (Plan plan : {makeCudaPlan(), makeVariantPlan()}) {
    load(std::move(plan), device);
    programs.push_back(program);
  }
  device.reset();
  load(makeVariantPlan());
  programs.push_back(program);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 6; ++i) {
    program = programs[i % 3];
    sessions.push_back(makeSession(16 + i));
  }
  program.reset();
  for (int round = 0; round < 4; ++round)
    for (auto &session : sessions)
      runAndCheck(*session, 1 + round);
  // What is left goes on when a plan goes.
  sessions.erase(sessions.begin() + 3);
  sessions.erase(sessions.begin());
  programs[0].reset();
  for (auto &session : sessions)
    runAndCheck(*session, 2);
  sessions.clear();
  programs.clear();
  EXPECT_EQ(fake.usedBytes, 0u);
  EXPECT_EQ(fake.modules, 0u);
  EXPECT_EQ(fake.liveStreams, 0u);
}

TEST_F(CudaSessionTest, FailedLaunchNamesKernelAndCommand) {
  load();
  auto session = makeSession();
  fake.failures["cuLaunchKernelEx"] = cuda::Code::NoBinaryForGpu;
  Step step(2);
  EXPECT_THAT(step.run(*session).getMessage(),
              AllOf(HasSubstr("command '"), HasSubstr("of entry 'step'"),
                    HasSubstr("kernel '"), HasSubstr("CUDA error 209")));
  fake.failures.clear();
  runAndCheck(*session, 2);
}

TEST_F(CudaSessionTest, StatesCanBeReadAndReset) {
  load();
  auto session = makeSession();
  runAndCheck(*session, 1);
  std::vector<float> row(8);
  auto bytes = std::as_writable_bytes(std::span(row));
  ASSERT_OK(session->readState("memory", 0, bytes));
  EXPECT_EQ(row, Step(1).x);
  ASSERT_OK(session->resetStates());
  ASSERT_OK(session->readState("memory", 0, bytes));
  EXPECT_EQ(row, std::vector<float>(8, 0.0f));
  EXPECT_THAT(session->readState("memory", 64 * 32 - 31, bytes).getMessage(),
              HasSubstr("has 2048 bytes; 32 from byte 2017"));
  EXPECT_THAT(session->readState("memo", 0, bytes).getMessage(),
              HasSubstr("no state 'memo'"));
}

TEST_F(CudaSessionTest, ShortageSaysWhatWouldFit) {
  load();
  // A row has 32 bytes.
  fake.memoryBytes = fake.usedBytes + 100 * 32 + 1024;
  auto made = Session::create(program, {{{"rows", 4096}, {"tokens", 16}}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.getStatus().getCode(), StatusCode::OutOfMemory);
  // 1024 bytes are the workspace of 16 tokens.
  EXPECT_THAT(made.getStatus().getMessage(),
              AllOf(HasSubstr("(131072 bytes) for state memory"),
                    HasSubstr("4.12 KiB of "), HasSubstr(" are free"),
                    HasSubstr("rows=100 instead of 4096 would fit")));
}

TEST_F(CudaSessionTest, FaultNamesTheEntryAndStaysKnown) {
  Plan plan = makeCudaPlan();
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
  Status status = step.run(*session);
  EXPECT_EQ(status.getCode(), StatusCode::Internal);
  EXPECT_THAT(status.getMessage(),
              AllOf(HasSubstr("entry 'step'"),
                    HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
  EXPECT_THAT(step.run(*other).getMessage(),
              HasSubstr("cannot be used any more"));
}

TEST_F(CudaSessionTest, FaultStepByStepNamesTheCommand) {
  Plan plan = makeCudaPlan();
  Kernel &sum = plan.kernels[2];
  sum.code[0].symbol = "toy_fault";
  sum.bufferCount = 1;
  sum.symbolCount = 0;
  Command &command = plan.entries[0].commands[4];
  command.buffers.resize(1);
  command.symbols.clear();
  load(std::move(plan));
  auto session = makeSession();
  session->addHook([](const CommandEvent &) { return Status::ok(); });
  Step step(2);
  EXPECT_THAT(step.run(*session).getMessage(),
              AllOf(HasSubstr("command 'memory.sum' of entry 'step'"),
                    HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
}

TEST_F(CudaSessionTest, FailureWhileRecordingIsReportedAndNotFatal) {
  load();
  auto session = makeSession();
  runAndCheck(*session, 2);
  fake.failures["cuGraphInstantiateWithFlags"] = cuda::Code::OutOfMemory;
  Step step(2);
  EXPECT_EQ(step.run(*session).getCode(), StatusCode::OutOfMemory);
  runAndCheck(*session, 2);
  EXPECT_EQ(fake.graphLaunches, 1u);
}

} // namespace
