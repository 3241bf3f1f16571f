//===- ToySession.h - Sessions and arguments of the toy plan --------------===//

#ifndef WEFT_TEST_RUNTIME_EXEC_TOYSESSION_H
#define WEFT_TEST_RUNTIME_EXEC_TOYSESSION_H

#include "runtime/Exec/Session.h"
#include "test/runtime/Support/ToyPlan.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#define EXPECT_OK(expression)                                                  \
  do {                                                                         \
    ::weft::rt::Status okStatus = (expression);                                \
    EXPECT_TRUE(okStatus.isOk()) << okStatus.getMessage();                     \
  } while (false)
#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    ::weft::rt::Status okStatus = (expression);                                \
    ASSERT_TRUE(okStatus.isOk()) << okStatus.getMessage();                     \
  } while (false)

namespace weft::rt {

/// Tensors of one run of the toy's "step", filled with values that differ in
/// every element. Outputs start as -1.
struct Step {
  explicit Step(int64_t tokens)
      : x(tokens * 8), slots(tokens), y(tokens * 8, -1.0f), sums(8, -1.0f),
        rowShape{tokens, 8}, slotShape{tokens}, sumShape{8} {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = 0.125f * float(i) - 1.0f;
    for (int64_t t = 0; t < tokens; ++t)
      slots[t] = int32_t(t % 4);
  }

  std::array<Argument, 2> inputs() {
    return {{{"x", {x.data(), DType::F32, rowShape}},
             {"slots", {slots.data(), DType::I32, slotShape}}}};
  }
  std::array<Argument, 2> outputs() {
    return {{{"y", {y.data(), DType::F32, rowShape}},
             {"sums", {sums.data(), DType::F32, sumShape}}}};
  }
  Status run(Session &session) {
    return session.run("step", inputs(), outputs());
  }

  std::vector<float> x;
  std::vector<int32_t> slots;
  std::vector<float> y, sums;
  std::array<int64_t, 2> rowShape;
  std::array<int64_t, 1> slotShape, sumShape;
};

class ToySession : public testing::Test {
protected:
  static std::shared_ptr<Program> loadProgram(unsigned threads,
                                              Plan plan = toy::makePlan()) {
    std::shared_ptr<Device> device = createDevice("cpu", threads).take();
    Result<std::shared_ptr<Program>> program =
        Program::load(toy::makeArtifact(std::move(plan),
                                        {toy::makeWeight(), toy::makeBias()}),
                      device);
    EXPECT_OK(program.getStatus());
    return program.take();
  }

  void make(unsigned threads, int64_t rows, int64_t tokens = 16,
            Plan plan = toy::makePlan()) {
    Result<std::unique_ptr<Session>> made =
        Session::create(loadProgram(threads, std::move(plan)),
                        {{{"rows", rows}, {"tokens", tokens}}});
    ASSERT_OK(made.getStatus());
    session = made.take();
  }

  std::unique_ptr<Session> session;
};

} // namespace weft::rt

#endif // WEFT_TEST_RUNTIME_EXEC_TOYSESSION_H
