//===- CheckCommandsTest.cpp - Faults between commands --------------------===//
//
// Memory that changes between the command that wrote it and the one that reads
// it (a hook of the test does that), and a plan that reads the wrong tensor.
//
//===----------------------------------------------------------------------===//

#include "test/tools/weft-bisect/CheckerFixture.h"

#include "dialects/Plan/PlanDialect.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::bisect;
using testing::HasSubstr;

namespace {

class CheckCommandsTest : public CheckerFixture {
protected:
  /// Of the bundled model on the CPU.
  void makeChecker(std::function<void(mlir::ModuleOp)> editPlan = {}) {
    CheckerSettings settings;
    settings.checkpoint = WEFT_SOURCE_DIR "/models/stories260k";
    settings.options.target = *parseTarget("cpu:x86-64-v2");
    settings.ids = {1, 403, 407};
    settings.makeDevice = [](const rt::Plan &) {
      return rt::createDevice("cpu", 1).take();
    };
    settings.editPlan = std::move(editPlan);
    CheckerFixture::makeChecker(settings);
  }
};

TEST_F(CheckCommandsTest, NothingDiffersInAGoodPlan) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  auto outputs = checker->run(steps);
  ASSERT_TRUE(outputs) << outputs.getStatus().getMessage();
  EXPECT_FALSE(checker->getFirstBad());
  EXPECT_EQ(outputs->front().name, "logits");
  EXPECT_EQ(outputs->back().name, "cache.4.value");
  // Five layers that are equal but for their weights are compiled once.
  EXPECT_LT(runner->getCompiledCount(), checker->getRows().size() / 2);
}

TEST_F(CheckCommandsTest, OverwrittenInputIsNamed) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  size_t reader = findCommand("layers.0.output");
  session->addHook([&](const rt::CommandEvent &event) {
    if (event.commandIndex + 1 != reader)
      return rt::Status::ok();
    // The residual that the embedding wrote.
    uint32_t buffer = event.entry.commands[reader].buffers[2];
    EXPECT_EQ(event.entry.buffers[buffer].name, "embedding");
    static_cast<float *>(event.bufferData[buffer])[5] += 1;
    return rt::Status::ok();
  });
  auto outputs = checker->run(steps);
  ASSERT_TRUE(outputs) << outputs.getStatus().getMessage();
  ASSERT_TRUE(checker->getFirstBad());
  const FirstBad &bad = *checker->getFirstBad();
  EXPECT_EQ(bad.command, reader);
  EXPECT_THAT(bad.row.note, HasSubstr("'embedding' was overwritten after "
                                      "command 1 had written it"));
  EXPECT_FALSE(bad.row.difference.isBad())
      << "the command computes right what it was given";
}

TEST_F(CheckCommandsTest, WrongResultDoesNotSpread) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  size_t wrong = findCommand("layers.1.gate");
  session->addHook([&](const rt::CommandEvent &event) {
    if (event.commandIndex == wrong)
      static_cast<float *>(event.bufferData[event.command.buffers.back()])[3] =
          1000;
    return rt::Status::ok();
  });
  ASSERT_TRUE(checker->run(steps));
  for (size_t i = 0; i < checker->getRows().size(); ++i)
    EXPECT_EQ(checker->getRows()[i].isBad(), i == wrong) << i;
  ASSERT_TRUE(checker->getFirstBad());
  EXPECT_EQ(checker->getFirstBad()->row.difference.found, 1000);
}

TEST_F(CheckCommandsTest, WrongBufferIsNamed) {
  // The norm before the gate reads the residual stream as it was before
  // attention.
  ASSERT_NO_FATAL_FAILURE(makeChecker([](mlir::ModuleOp module) {
    plan::LaunchOp output, norm;
    module.walk([&](plan::LaunchOp launch) {
      if (launch.getLabel() == "layers.0.output")
        output = launch;
      if (launch.getLabel() == "layers.0.mlp_norm")
        norm = launch;
    });
    ASSERT_TRUE(output && norm);
    norm.getBuffersMutable()[0].set(output.getBuffers()[2]);
  }));
  ASSERT_TRUE(checker->run(steps));
  ASSERT_TRUE(checker->getFirstBad());
  const FirstBad &bad = *checker->getFirstBad();
  EXPECT_EQ(bad.row.label, "layers.0.mlp_norm");
  EXPECT_EQ(bad.row.note,
            "reads 'embedding' where the model has 'layers.0.output'");
  EXPECT_FALSE(bad.row.difference.isBad());
}

} // namespace
