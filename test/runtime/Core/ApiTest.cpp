//===- ApiTest.cpp - The C interface and its C++ wrapper ------------------===//

#include "runtime/include/weft/weft.hpp"
#include "test/runtime/Support/RunCommand.h"
#include "test/runtime/Support/ToyPlan.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace test = weft::test;
namespace toy = weft::rt::toy;

namespace {

#define EXPECT_FAILS(call, code, text)                                         \
  do {                                                                         \
    EXPECT_EQ(call, code);                                                     \
    EXPECT_THAT(weft_last_error(), HasSubstr(text));                           \
  } while (false)

class ApiTest : public testing::Test {
protected:
  ApiTest()
      : path(testing::TempDir() + "weft-api-" + std::to_string(getpid()) +
             ".weft") {
    weft::rt::Status status = toy::writeFile(path);
    EXPECT_TRUE(status.isOk()) << status.getMessage();
  }
  ~ApiTest() override { std::filesystem::remove(path); }

  std::string path;
};

/// Arguments of the toy's "step".
struct Arguments {
  explicit Arguments(int64_t tokens) : x(tokens * 8), slots(tokens) {
    y.assign(tokens * 8, -1.0f);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i) / 4.0f;
    inputs = {weft::makeTensor("x", x.data(), {tokens, 8}),
              weft::makeTensor("slots", slots.data(), {tokens})};
    outputs = {weft::makeTensor("y", y.data(), {tokens, 8}),
               weft::makeTensor("sums", sums.data(), {8})};
  }
  std::vector<float> x;
  std::vector<int32_t> slots;
  std::vector<float> y;
  std::array<float, 8> sums{};
  std::vector<weft_tensor> inputs, outputs;
};

TEST_F(ApiTest, VersionIsThatOfTheHeader) {
  EXPECT_STREQ(weft_version(), "0.1.0");
}

TEST_F(ApiTest, StatusCodesAreThoseOfTheRuntime) {
  using weft::rt::StatusCode;
  EXPECT_EQ(WEFT_OK, int(StatusCode::Ok));
  EXPECT_EQ(WEFT_INVALID_ARGUMENT, int(StatusCode::InvalidArgument));
  EXPECT_EQ(WEFT_NOT_FOUND, int(StatusCode::NotFound));
  EXPECT_EQ(WEFT_CORRUPT, int(StatusCode::Corrupt));
  EXPECT_EQ(WEFT_UNSUPPORTED, int(StatusCode::Unsupported));
  EXPECT_EQ(WEFT_OUT_OF_MEMORY, int(StatusCode::OutOfMemory));
  EXPECT_EQ(WEFT_IO, int(StatusCode::Io));
  EXPECT_EQ(WEFT_CANCELLED, int(StatusCode::Cancelled));
  EXPECT_EQ(WEFT_LIMIT_EXCEEDED, int(StatusCode::LimitExceeded));
  EXPECT_EQ(WEFT_INTERNAL, int(StatusCode::Internal));
  using weft::rt::DType;
  EXPECT_EQ(WEFT_F32, int(DType::F32));
  EXPECT_EQ(WEFT_BF16, int(DType::BF16));
  EXPECT_EQ(WEFT_I32, int(DType::I32));
  EXPECT_EQ(WEFT_BOOL, int(DType::Bool));
  EXPECT_EQ(WEFT_U16, int(DType::U16));
  EXPECT_EQ(WEFT_U64, int(DType::U64));
}

TEST_F(ApiTest, RunsAPlanFromAFile) {
  weft::Plan plan(path, 2);
  weft::Session session(plan, {{"rows", 16}});
  Arguments step(3);
  session.run("step", step.inputs, step.outputs);
  for (int64_t t = 0; t < 3; ++t) {
    std::vector<double> x(step.x.begin() + t * 8, step.x.begin() + t * 8 + 8);
    std::vector<double> y = toy::expectedLinear(toy::expectedLinear(x));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_NEAR(step.y[t * 8 + i], y[i], 1e-4);
  }
  // All three tokens went to slot 0.
  std::array<float, 8> row;
  session.readState("memory", 0, row.data(), sizeof(row));
  EXPECT_EQ(row[1], step.x[1] + step.x[9] + step.x[17]);
  session.reset();
  session.readState("memory", 0, row.data(), sizeof(row));
  EXPECT_EQ(row[1], 0.0f);
}

TEST_F(ApiTest, ASessionOutlivesItsPlan) {
  auto plan = std::make_unique<weft::Plan>(path, 1);
  weft::Session session(*plan, {{"rows", 16}});
  plan.reset();
  Arguments step(1);
  session.run("step", step.inputs, step.outputs);
  EXPECT_NEAR(step.sums[3], step.x[3], 1e-6);
}

TEST_F(ApiTest, DescribesThePlan) {
  weft::Plan plan(path);
  EXPECT_THAT(plan.getMeta(), HasSubstr("\"toy\""));
  EXPECT_THAT(plan.getEntries(), ElementsAre("step"));
  std::vector<weft_tensor_info> inputs = plan.getTensors(WEFT_INPUT, "step");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_STREQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].dtype, WEFT_F32);
  EXPECT_EQ(inputs[0].rank, 2);
  EXPECT_EQ(inputs[0].shape[0], -1);
  EXPECT_EQ(inputs[0].shape[1], 8);
  EXPECT_STREQ(inputs[0].shape_text, "[tokens, 8]");
  EXPECT_EQ(inputs[1].dtype, WEFT_I32);
  inputs = plan.getTensors(WEFT_INPUT, "step", {{"tokens", 5}});
  EXPECT_EQ(inputs[0].shape[0], 5);
  EXPECT_EQ(plan.getTensors(WEFT_OUTPUT, "step").size(), 2u);
  std::vector<weft_tensor_info> states = plan.getTensors(WEFT_STATE);
  ASSERT_EQ(states.size(), 1u);
  EXPECT_STREQ(states[0].shape_text, "[rows, 8]");
  std::vector<weft_symbol_info> symbols = plan.getSymbols();
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_STREQ(symbols[1].name, "rows");
  EXPECT_EQ(symbols[1].min, 1);
  EXPECT_EQ(symbols[1].max, 4096);
  EXPECT_EQ(symbols[1].per_session, 1);
  EXPECT_THROW((void)plan.getTensors(WEFT_INPUT, "stop"), weft::Error);
}

TEST_F(ApiTest, TellsTheMemoryBeforeLoading) {
  weft::Plan plan(path, 3);
  weft_memory memory = plan.getMemory({{"rows", 100}, {"tokens", 5}});
  EXPECT_EQ(memory.weights, 288u);
  EXPECT_EQ(memory.state, 3200u);
  EXPECT_EQ(memory.workspace, 384u);
  EXPECT_EQ(memory.scratch, 3u * 64);
  EXPECT_EQ(memory.total - memory.lower_bound, 64u);
}

TEST_F(ApiTest, WritesATrace) {
  std::string trace = path + ".json";
  weft::Plan plan(path, 1);
  weft::Session session(plan, {{"rows", 16}});
  session.startTrace(trace);
  Arguments step(2);
  session.run("step", step.inputs, step.outputs);
  session.stopTrace();
  session.stopTrace(); // Without effect.
  session.run("step", step.inputs, step.outputs);
  std::ifstream in(trace);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(trace);
  size_t events = 0;
  for (size_t at = 0; (at = text.find("\"ph\":\"X\"", at)) != text.npos; ++at)
    ++events;
  EXPECT_EQ(events, 5u);
  EXPECT_FAILS(weft_session_trace(session.get(), "/no/such/folder/t.json"),
               WEFT_IO, "/no/such/folder");
}

TEST_F(ApiTest, NullAndNonsenseAreRefused) {
  weft_plan *plan = nullptr;
  weft_session *session = nullptr;
  weft_tensor_info info;
  weft_memory memory;
  EXPECT_FAILS(weft_plan_open(nullptr, nullptr, &plan), WEFT_INVALID_ARGUMENT,
               "NULL");
  EXPECT_FAILS(weft_plan_open(path.c_str(), nullptr, nullptr),
               WEFT_INVALID_ARGUMENT, "NULL");
  EXPECT_FAILS(weft_plan_open("/no/such/plan.weft", nullptr, &plan),
               WEFT_NOT_FOUND, "/no/such/plan.weft");
  EXPECT_EQ(plan, nullptr);
  weft_plan_options options = {0, 0, nullptr};
  EXPECT_FAILS(weft_plan_open(path.c_str(), &options, &plan),
               WEFT_INVALID_ARGUMENT, "sizeof(weft_plan_options)");
  options = {sizeof(options), 0, "gpu"};
  EXPECT_FAILS(weft_plan_open(path.c_str(), &options, &plan), WEFT_NOT_FOUND,
               "'cpu', 'cuda', 'cuda:N'");
  options = {sizeof(options), 5000, nullptr};
  EXPECT_FAILS(weft_plan_open(path.c_str(), &options, &plan),
               WEFT_INVALID_ARGUMENT, "at most 1024");
  EXPECT_FAILS(weft_session_create(nullptr, nullptr, &session),
               WEFT_INVALID_ARGUMENT, "NULL");
  EXPECT_FAILS(weft_plan_memory(nullptr, nullptr, 0, &memory),
               WEFT_INVALID_ARGUMENT, "NULL");
  EXPECT_FAILS(
      weft_session_run(nullptr, "step", nullptr, 0, nullptr, 0, nullptr, 0),
      WEFT_INVALID_ARGUMENT, "session is NULL");
  EXPECT_FAILS(weft_session_reset(nullptr), WEFT_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(weft_plan_entry(nullptr, 0), nullptr);
  EXPECT_STREQ(weft_plan_meta(nullptr), "");
  weft_plan_close(nullptr);
  weft_session_destroy(nullptr);

  ASSERT_EQ(weft_plan_open(path.c_str(), nullptr, &plan), WEFT_OK);
  EXPECT_FAILS(
      weft_plan_tensor(plan, nullptr, WEFT_INPUT, 0, nullptr, 0, &info),
      WEFT_INVALID_ARGUMENT, "name of the entry is NULL");
  EXPECT_FAILS(
      weft_plan_tensor(plan, "step", weft_tensor_role(9), 0, nullptr, 0, &info),
      WEFT_INVALID_ARGUMENT, "the role 9");
  EXPECT_FAILS(
      weft_plan_tensor(plan, "step", WEFT_OUTPUT, 2, nullptr, 0, &info),
      WEFT_NOT_FOUND, "has 2 outputs; number 2");
  EXPECT_FAILS(weft_session_create(plan, nullptr, &session),
               WEFT_INVALID_ARGUMENT, "'rows' has no value");
  weft_session_options small = {sizeof(size_t), nullptr, 0};
  EXPECT_FAILS(weft_session_create(plan, &small, &session),
               WEFT_INVALID_ARGUMENT, "sizeof(weft_session_options)");
  weft_symbol unnamed = {nullptr, 1};
  weft_session_options bad = {sizeof(bad), &unnamed, 1};
  EXPECT_FAILS(weft_session_create(plan, &bad, &session), WEFT_INVALID_ARGUMENT,
               "name of symbol 0 is NULL");
  bad = {sizeof(bad), nullptr, 3};
  EXPECT_FAILS(weft_session_create(plan, &bad, &session), WEFT_INVALID_ARGUMENT,
               "3 symbols at NULL");
  bad = {sizeof(bad), &unnamed, SIZE_MAX};
  EXPECT_FAILS(weft_session_create(plan, &bad, &session), WEFT_INVALID_ARGUMENT,
               "too many");
  EXPECT_EQ(session, nullptr);
  weft_plan_close(plan);
}

TEST_F(ApiTest, BadArgumentsOfARunAreRefused) {
  weft::Plan plan(path, 1);
  weft::Session session(plan, {{"rows", 16}});
  Arguments step(1);
  auto run = [&] {
    return weft_session_run(session.get(), "step", step.inputs.data(),
                            step.inputs.size(), step.outputs.data(),
                            step.outputs.size(), nullptr, 0);
  };
  step.inputs[0].name = nullptr;
  EXPECT_FAILS(run(), WEFT_INVALID_ARGUMENT, "tensor 0 of the inputs is NULL");
  step.inputs[0].name = "x";
  step.inputs[0].rank = 9;
  EXPECT_FAILS(run(), WEFT_INVALID_ARGUMENT, "rank 9");
  step.inputs[0].rank = -1;
  EXPECT_FAILS(run(), WEFT_INVALID_ARGUMENT, "rank -1");
  step.inputs[0].rank = 2;
  step.inputs[0].dtype = weft_dtype(77);
  EXPECT_FAILS(run(), WEFT_INVALID_ARGUMENT, "element type ?; expected f32");
  step.inputs[0].dtype = WEFT_F32;
  EXPECT_EQ(run(), WEFT_OK);
  EXPECT_FAILS(weft_session_run(session.get(), nullptr, nullptr, 0, nullptr, 0,
                                nullptr, 0),
               WEFT_INVALID_ARGUMENT, "entry is NULL");
  EXPECT_FAILS(weft_session_run(session.get(), "step", nullptr, 2, nullptr, 0,
                                nullptr, 0),
               WEFT_INVALID_ARGUMENT, "2 inputs at NULL");

  float value;
  EXPECT_FAILS(
      weft_session_read_state(session.get(), "memory", 16 * 32 - 3, &value, 4),
      WEFT_INVALID_ARGUMENT, "has 512 bytes");
  EXPECT_FAILS(
      weft_session_read_state(session.get(), "memory", UINT64_MAX, &value, 4),
      WEFT_INVALID_ARGUMENT, "has 512 bytes");
  EXPECT_FAILS(weft_session_read_state(session.get(), "cache", 0, &value, 4),
               WEFT_NOT_FOUND, "it has: memory");
}

TEST_F(ApiTest, ErrorsBelongToTheirThread) {
  weft_plan *plan = nullptr;
  ASSERT_NE(weft_plan_open("/no/such/a.weft", nullptr, &plan), WEFT_OK);
  std::thread([] { EXPECT_STREQ(weft_last_error(), ""); }).join();
  EXPECT_THAT(weft_last_error(), HasSubstr("a.weft"));
}

TEST_F(ApiTest, OldCallersWithShorterOptionsStillWork) {
  weft_plan_options options = {offsetof(weft_plan_options, device), 1,
                               "not read"};
  weft_plan *plan = nullptr;
  EXPECT_EQ(weft_plan_open(path.c_str(), &options, &plan), WEFT_OK);
  weft_plan_close(plan);
}

TEST_F(ApiTest, WrapperThrowsWithCodeAndSentence) {
  try {
    weft::Plan plan("/no/such/b.weft");
    FAIL() << "expected an exception";
  } catch (const weft::Error &error) {
    EXPECT_EQ(error.getStatus(), WEFT_NOT_FOUND);
    EXPECT_THAT(error.what(), HasSubstr("b.weft"));
  }
  EXPECT_THROW(weft::makeTensor("t", static_cast<float *>(nullptr),
                                {1, 1, 1, 1, 1, 1, 1, 1, 1}),
               weft::Error);
}

TEST_F(ApiTest, ExampleInC99Runs) {
  std::string program = WEFT_EXAMPLE_RUN_ENTRY;
  auto run = [&](const std::string &arguments) {
    return test::runCommand(program + " " + arguments);
  };
  test::CommandResult result = run(path + " step tokens=1 rows=16");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  // On zeros: W b + b, with b[o] = o and W = 2 I + 0.5 in the first column.
  EXPECT_THAT(result.output, AllOf(HasSubstr("input  x [tokens, 8]"),
                                   HasSubstr("y: 0 3 6 9 12 15 18 21"),
                                   HasSubstr("sums: 0 0 0 0 0 0 0 0")));
  EXPECT_EQ(run("").exitCode, 2);
  EXPECT_EQ(run(path + " step tokens").exitCode, 2);
  EXPECT_EQ(run(path + " step").exitCode, 2);
  result = run("no.weft step");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("no.weft"));
}

/// A plan whose entry copies a vector of each element type.
weft::rt::Plan makeCopies() {
  namespace rt = weft::rt;
  rt::Plan plan = toy::makePlan();
  rt::Entry entry;
  entry.name = "copies";
  entry.symbols = {0};
  for (int type = WEFT_F32; type <= WEFT_U64; ++type) {
    rt::Command copy;
    copy.kind = rt::CommandKind::Copy;
    copy.label = "copy";
    for (rt::BufferKind kind :
         {rt::BufferKind::Input, rt::BufferKind::Output}) {
      rt::Buffer buffer;
      buffer.name =
          (kind == rt::BufferKind::Input ? "x" : "y") + std::to_string(type);
      buffer.kind = kind;
      buffer.dtype = rt::DType(type);
      buffer.shape = {rt::Expr::symbol(0)};
      copy.buffers.push_back(uint32_t(entry.buffers.size()));
      entry.buffers.push_back(std::move(buffer));
    }
    entry.commands.push_back(std::move(copy));
  }
  plan.entries.push_back(std::move(entry));
  return plan;
}

TEST_F(ApiTest, ExampleInC99KnowsEveryElementType) {
  weft::rt::Status status = toy::writeFile(path, makeCopies());
  ASSERT_TRUE(status.isOk()) << status.getMessage();
  test::CommandResult result =
      test::runCommand(std::string(WEFT_EXAMPLE_RUN_ENTRY) + " " + path +
                       " copies tokens=3 rows=1");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("input  x13 [tokens]"), HasSubstr("y1: 0 0 0\n"),
                    HasSubstr("y8: 0 0 0\n")));
}

TEST_F(ApiTest, LibraryIsSmallWithoutLlvmAndShowsOnlyTheInterface) {
  std::string library = WEFT_LIBRARY, stripped = path + ".so";
  test::CommandResult needed = test::runCommand("ldd " + library);
  EXPECT_EQ(needed.exitCode, 0) << needed.output;
  EXPECT_THAT(needed.output, testing::Not(HasSubstr("LLVM")));
  EXPECT_THAT(needed.output, testing::Not(HasSubstr("not found")));
  test::CommandResult others = test::runCommand(
      "nm -D --defined-only " + library + " | grep -v ' weft_'");
  EXPECT_EQ(others.output, "");
#ifndef WEFT_SANITIZED
  test::CommandResult strip =
      test::runCommand("strip -o " + stripped + " " + library);
  ASSERT_EQ(strip.exitCode, 0) << strip.output;
  EXPECT_LT(std::filesystem::file_size(stripped), 5u << 20);
  std::filesystem::remove(stripped);
#endif
}

} // namespace
