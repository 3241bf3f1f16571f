//===- SessionTest.cpp - Running entries of a plan made by hand -----------===//

#include "runtime/Exec/Session.h"
#include "runtime/Device/Null/NullDevice.h"
#include "test/runtime/Exec/ToySession.h"

#include <thread>

using namespace weft::rt;
using testing::AllOf;
using testing::HasSubstr;

namespace {

class SessionTest : public ToySession {};

TEST_F(SessionTest, ComputesWhatThePlanSays) {
  make(1, 64);
  Step step(3);
  ASSERT_OK(step.run(*session));
  for (int64_t t = 0; t < 3; ++t) {
    std::vector<double> x(step.x.begin() + t * 8, step.x.begin() + t * 8 + 8);
    std::vector<double> y = toy::expectedLinear(toy::expectedLinear(x));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_NEAR(step.y[t * 8 + i], y[i], 1e-5);
  }
}

TEST_F(SessionTest, StateStaysBetweenRunsAndIsResetOnRequest) {
  make(2, 64);
  std::vector<double> total(8, 0.0);
  for (int round = 0; round < 4; ++round) {
    Step step(2 + round);
    for (size_t i = 0; i < step.x.size(); ++i)
      total[i % 8] += step.x[i];
    ASSERT_OK(step.run(*session));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_NEAR(step.sums[i], total[i], 1e-4);
  }
  ASSERT_OK(session->resetStates());
  Step step(1);
  ASSERT_OK(step.run(*session));
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_NEAR(step.sums[i], step.x[i], 1e-6);
}

TEST_F(SessionTest, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<float> reference;
  for (unsigned threads : {1u, 2u, 7u}) {
    make(threads, 64);
    Step step(16);
    ASSERT_OK(step.run(*session));
    if (reference.empty())
      reference = step.y;
    EXPECT_EQ(step.y, reference) << threads << " threads";
  }
}

TEST_F(SessionTest, AllocatesStatesAndWorkspaceForTheLimitsOnly) {
  make(1, 100, 5);
  EXPECT_EQ(session->getStateBytes(), 100u * 8 * 4);
  // 2 x ceil(5 x 32 / 64) x 64 bytes.
  EXPECT_EQ(session->getWorkspaceBytes(), 384u);
  Step step(6);
  Status status = step.run(*session);
  EXPECT_EQ(status.getCode(), StatusCode::LimitExceeded);
  EXPECT_THAT(status.getMessage(),
              AllOf(HasSubstr("'tokens' of entry 'step' is 6"),
                    HasSubstr("at most 5"), HasSubstr("plan allows 16")));
}

TEST_F(SessionTest, LimitsAreChecked) {
  struct Case {
    std::vector<SymbolValue> symbols;
    StatusCode code;
    const char *text;
  };
  const Case cases[] = {
      {{}, StatusCode::InvalidArgument, "'rows' has no value"},
      {{{"rows", 0}}, StatusCode::LimitExceeded, "1 to 4096"},
      {{{"rows", 4097}}, StatusCode::LimitExceeded, "1 to 4096"},
      {{{"rows", -5}}, StatusCode::LimitExceeded, "cannot be -5"},
      {{{"rows", 8}, {"rows", 8}}, StatusCode::InvalidArgument, "given twice"},
      {{{"rows", 8}, {"tokens", 17}}, StatusCode::LimitExceeded, "1 to 16"},
      {{{"rowz", 8}}, StatusCode::NotFound, "it has tokens, rows"},
  };
  for (const Case &c : cases) {
    Result<std::unique_ptr<Session>> made =
        Session::create(loadProgram(1), {c.symbols});
    ASSERT_FALSE(made.isOk()) << c.text;
    EXPECT_EQ(made.getStatus().getCode(), c.code) << c.text;
    EXPECT_THAT(made.getStatus().getMessage(), HasSubstr(c.text));
  }
}

TEST_F(SessionTest, ASymbolWithoutMaximumNeedsALimit) {
  Plan plan = toy::makePlan();
  plan.symbols[0].max = INT64_MAX;
  std::shared_ptr<Program> program = loadProgram(1, plan);
  Result<std::unique_ptr<Session>> made =
      Session::create(program, {{{"rows", 8}}});
  ASSERT_FALSE(made.isOk());
  EXPECT_THAT(made.getStatus().getMessage(),
              HasSubstr("'tokens' has no maximum in the plan"));
  EXPECT_OK(
      Session::create(program, {{{"rows", 8}, {"tokens", 4}}}).getStatus());
  // One that overflows 64 bits.
  made = Session::create(program, {{{"rows", 8}, {"tokens", INT64_MAX / 2}}});
  ASSERT_FALSE(made.isOk());
  EXPECT_THAT(made.getStatus().getMessage(), HasSubstr("entry 'step'"));
  // One that no machine has memory for.
  made =
      Session::create(program, {{{"rows", 8}, {"tokens", int64_t(1) << 54}}});
  ASSERT_FALSE(made.isOk());
  EXPECT_EQ(made.getStatus().getCode(), StatusCode::OutOfMemory);
  EXPECT_THAT(made.getStatus().getMessage(), HasSubstr("workspace"));
}

TEST_F(SessionTest, WrongArgumentsAreExplainedAndChangeNothing) {
  make(1, 64);
  struct Case {
    const char *what;
    std::function<void(std::vector<Argument> &, std::vector<Argument> &)> edit;
    StatusCode code;
    const char *text;
  };
  static const int64_t shape38[] = {3, 8}, shape28[] = {2, 8},
                       shape37[] = {3, 7}, shape8[] = {8}, shape9[] = {9},
                       shape08[] = {0, 8}, negative[] = {-3, 8},
                       huge[] = {int64_t(1) << 62, 8};
  const Case cases[] = {
      {"missing input", [](auto &in, auto &) { in.pop_back(); },
       StatusCode::InvalidArgument,
       "input 'slots' of entry 'step' is missing; the entry takes: x, slots"},
      {"missing output", [](auto &, auto &out) { out.pop_back(); },
       StatusCode::InvalidArgument, "output 'sums' of entry 'step' is missing"},
      {"unknown input", [](auto &in, auto &) { in[0].name = "z"; },
       StatusCode::NotFound, "no input 'z'; it has: x, slots"},
      {"output among inputs", [](auto &in, auto &) { in[0].name = "y"; },
       StatusCode::NotFound, "no input 'y'"},
      {"twice", [](auto &in, auto &) { in.push_back(in[0]); },
       StatusCode::InvalidArgument, "input 'x' of entry 'step' is given twice"},
      {"dtype", [](auto &in, auto &) { in[0].tensor.dtype = DType::BF16; },
       StatusCode::InvalidArgument, "element type bf16; expected f32"},
      {"rank", [](auto &in, auto &) { in[0].tensor.shape = shape8; },
       StatusCode::InvalidArgument, "the shape [8]; expected [tokens, 8]"},
      {"fixed dimension",
       [](auto &in, auto &) { in[0].tensor.shape = shape37; },
       StatusCode::InvalidArgument, "[3, 7]; expected [tokens, 8]"},
      {"contradiction", [](auto &in, auto &) { in[0].tensor.shape = shape28; },
       StatusCode::InvalidArgument,
       "input 'slots' of entry 'step' has the shape [3]; expected [tokens], "
       "where tokens is 2 here"},
      {"output size", [](auto &, auto &out) { out[0].tensor.shape = shape28; },
       StatusCode::InvalidArgument, "output 'y' of entry 'step' has the shape"},
      {"sums size", [](auto &, auto &out) { out[1].tensor.shape = shape9; },
       StatusCode::InvalidArgument, "output 'sums'"},
      {"zero tokens", [](auto &in, auto &) { in[0].tensor.shape = shape08; },
       StatusCode::InvalidArgument, "is 0; expected at least 1"},
      {"negative", [](auto &in, auto &) { in[0].tensor.shape = negative; },
       StatusCode::InvalidArgument, "negative size: [-3, 8]"},
      {"huge", [](auto &in, auto &) { in[0].tensor.shape = huge; },
       StatusCode::LimitExceeded, "this session was made for at most 16"},
      {"null", [](auto &in, auto &) { in[0].tensor.data = nullptr; },
       StatusCode::InvalidArgument, "has no data"},
      {"unaligned",
       [](auto &in, auto &) {
         in[0].tensor.data = static_cast<char *>(in[0].tensor.data) + 2;
       },
       StatusCode::InvalidArgument, "not aligned to its element size of 4"},
      {"output in input",
       [](auto &in, auto &out) { out[0].tensor.data = in[0].tensor.data; },
       StatusCode::InvalidArgument, "output 'y' and 'x'"},
      {"output in output",
       [](auto &, auto &out) { out[1].tensor.data = out[0].tensor.data; },
       StatusCode::InvalidArgument, "output 'sums' and 'y'"},
  };
  for (const Case &c : cases) {
    Step step(3);
    auto ins = step.inputs();
    auto outs = step.outputs();
    std::vector<Argument> in(ins.begin(), ins.end());
    std::vector<Argument> out(outs.begin(), outs.end());
    c.edit(in, out);
    Status status = session->run("step", in, out);
    EXPECT_EQ(status.getCode(), c.code) << c.what << status.getMessage();
    EXPECT_THAT(status.getMessage(), HasSubstr(c.text)) << c.what;
  }
  EXPECT_EQ(session->run("steps", {}, {}).getCode(), StatusCode::NotFound);
  EXPECT_EQ(session->run(7u, {}, {}).getCode(), StatusCode::NotFound);
  // No refused run has touched the state.
  Step step(1);
  ASSERT_OK(step.run(*session));
  EXPECT_NEAR(step.sums[0], step.x[0], 1e-6);
  (void)shape38;
}

TEST_F(SessionTest, ExplicitSymbolValuesMustAgree) {
  make(1, 64);
  Step step(3);
  auto in = step.inputs();
  auto out = step.outputs();
  std::array<SymbolValue, 1> right = {{{"tokens", 3}}};
  EXPECT_OK(session->run("step", in, out, right));
  std::array<SymbolValue, 1> wrong = {{{"tokens", 4}}};
  EXPECT_THAT(session->run("step", in, out, wrong).getMessage(),
              HasSubstr("given as 4 but is 3 in the shapes"));
  std::array<SymbolValue, 1> session65 = {{{"rows", 65}}};
  EXPECT_THAT(session->run("step", in, out, session65).getMessage(),
              HasSubstr("given as 65 but is 64 in this session"));
  std::array<SymbolValue, 1> unknown = {{{"toks", 3}}};
  EXPECT_EQ(session->run("step", in, out, unknown).getCode(),
            StatusCode::NotFound);
}

TEST_F(SessionTest, ASymbolThatNoShapeShowsMustBePassed) {
  Plan plan = toy::makePlan();
  plan.symbols.push_back({"extra", 1, 10, false});
  plan.entries[0].symbols.push_back(2);
  make(1, 64, 16, plan);
  Step step(3);
  auto in = step.inputs();
  auto out = step.outputs();
  EXPECT_THAT(session->run("step", in, out).getMessage(),
              HasSubstr("'extra' of entry 'step' has no value"));
  std::array<SymbolValue, 1> value = {{{"extra", 4}}};
  EXPECT_OK(session->run("step", in, out, value));
}

TEST_F(SessionTest, HooksSeeEveryCommandAndItsBuffers) {
  make(1, 64);
  std::vector<std::string> labels;
  double hidden = 0, memoryRow0 = 0;
  uint32_t id = session->addHook([&](const CommandEvent &event) {
    labels.push_back(event.command.label);
    EXPECT_GE(event.endTime, event.beginTime);
    EXPECT_EQ(event.symbols[0], 3);
    if (event.commandIndex == 0) {
      EXPECT_EQ(event.flops, 3 * 128);
      EXPECT_EQ(event.bytes, 3 * 64 + 288);
      EXPECT_EQ(event.grid, 3);
      EXPECT_EQ(event.target, "x86-64-v2");
      uint32_t output = event.command.buffers[3];
      EXPECT_EQ(event.entry.buffers[output].name, "hidden");
      EXPECT_EQ(event.bufferBytes[output], 3 * 32);
      hidden = static_cast<const float *>(event.bufferData[output])[1];
    }
    if (event.command.label == "memory.append")
      memoryRow0 = static_cast<const float *>(
          event.bufferData[event.command.buffers[2]])[0];
    return Status::ok();
  });
  Step step(3);
  ASSERT_OK(step.run(*session));
  EXPECT_THAT(labels, testing::ElementsAre("layers.0.linear", "layers.0.keep",
                                           "layers.1.linear", "memory.append",
                                           "memory.sum"));
  EXPECT_NEAR(hidden, 2.0 * step.x[1] + 0.5 * step.x[0] + 1.0, 1e-5);
  EXPECT_NEAR(memoryRow0, step.x[0], 1e-6);
  session->removeHook(id);
  ASSERT_OK(step.run(*session));
  EXPECT_EQ(labels.size(), 5u);
}

TEST_F(SessionTest, AHookCanStopARun) {
  make(1, 64);
  session->addHook([](const CommandEvent &event) {
    return event.commandIndex == 1
               ? Status(StatusCode::Cancelled, "seen enough")
               : Status::ok();
  });
  Step step(2);
  Status status = step.run(*session);
  EXPECT_EQ(status.getCode(), StatusCode::Cancelled);
  EXPECT_EQ(status.getMessage(), "seen enough");
  EXPECT_EQ(step.y, std::vector<float>(16, -1.0f));
}

TEST_F(SessionTest, ACallDuringARunIsRefused) {
  make(1, 64);
  Step inner(1), outer(1);
  Status nested;
  session->addHook([&](const CommandEvent &) {
    nested = inner.run(*session);
    return Status::ok();
  });
  ASSERT_OK(outer.run(*session));
  EXPECT_EQ(nested.getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(nested.getMessage(), HasSubstr("running already"));
}

TEST_F(SessionTest, StatesCanBeLookedAt) {
  make(1, 10);
  Result<TensorView> state = session->getState("memory");
  ASSERT_TRUE(state.isOk());
  EXPECT_EQ(formatShape(state->shape), "[10, 8]");
  EXPECT_EQ(state->dtype, DType::F32);
  EXPECT_THAT(session->getState("memo").getStatus().getMessage(),
              HasSubstr("it has: memory"));
}

TEST_F(SessionTest, APlanThatLeavesItsMemoryIsStopped) {
  struct Case {
    std::function<void(Plan &)> edit;
    const char *text;
  };
  const Case cases[] = {
      {[](Plan &p) {
         p.entries[0].buffers[5].offset = Expr::constant(1 << 20);
       },
       "buffer 'hidden' of entry 'step' needs"},
      {[](Plan &p) { p.entries[0].workspaceBytes = Expr::constant(64); },
       "the plan contradicts itself"},
      {[](Plan &p) { p.entries[0].buffers[4].shape[1] = Expr::constant(9); },
       "buffer 'memory'"},
      {[](Plan &p) { p.entries[0].buffers[2].shape[1] = Expr::constant(9); },
       "buffer 'weight'"},
      {[](Plan &p) { p.entries[0].buffers[6].shape[1] = Expr::constant(7); },
       "copy 'layers.0.keep'"},
      {[](Plan &p) { p.entries[0].commands[0].grid = Expr::constant(-1); },
       "grid of 'layers.0.linear'"},
      {[](Plan &p) {
         p.entries[0].commands[0].grid = Expr::constant(maxGrid + 1);
       },
       "command 'layers.0.linear' of entry 'step'"},
  };
  for (const Case &c : cases) {
    Plan plan = toy::makePlan();
    c.edit(plan);
    make(1, 64, 16, plan);
    Step step(16);
    Status status = step.run(*session);
    EXPECT_FALSE(status.isOk()) << c.text;
    EXPECT_THAT(status.getMessage(), HasSubstr(c.text));
  }
}

TEST_F(SessionTest, RunsOnTheNullDeviceForPlanning) {
  auto device = std::make_shared<NullDevice>();
  std::shared_ptr<Program> program =
      Program::load(toy::makeArtifact(), device).take();
  std::unique_ptr<Session> planned =
      Session::create(program, {{{"rows", 4}}}).take();
  Step step(5);
  ASSERT_OK(step.run(*planned));
  EXPECT_EQ(device->getCounts().launches, 4u);
  EXPECT_EQ(device->getCounts().workItems, 5u + 5u + 8u + 8u);
  EXPECT_EQ(device->getCounts().copiedBytes, 5u * 32);
  EXPECT_EQ(step.y, std::vector<float>(40, -1.0f));
}

TEST_F(SessionTest, SessionsOfOneProgramAreIndependent) {
  std::shared_ptr<Program> program = loadProgram(2);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int worker = 0; worker < 3; ++worker)
    threads.emplace_back([&] {
      std::unique_ptr<Session> own =
          Session::create(program, {{{"rows", 16}}}).take();
      double total = 0;
      for (int round = 0; round < 100; ++round) {
        Step step(2);
        total += step.x[0] + step.x[8];
        if (!step.run(*own).isOk() || std::abs(step.sums[0] - total) > 1e-2)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
