//===- CheckCommandsTest.cpp - Faults between commands --------------------===//
//
// Memory that changes between the command that wrote it and the one that reads
// it (a hook of the test does that), and a plan that reads the wrong tensor.
//
//===----------------------------------------------------------------------===//

#include "tools/weft-bisect/CheckCommands.h"

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "compiler/Import/HuggingFace/Import.h"
#include "dialects/Plan/PlanDialect.h"
#include "models/common/BuildModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

using namespace weft;
using namespace weft::bisect;
using testing::HasSubstr;

namespace {

class CheckCommandsTest : public testing::Test {
protected:
  /// Compiles the bundled model; `editPlan` may change the plan before it is
  /// written.
  void makeChecker(std::function<void(mlir::ModuleOp)> editPlan = {}) {
    ImportReport report;
    model = importCheckpoint(WEFT_SOURCE_DIR "/models/stories260k", {}, report);
    ASSERT_TRUE(model);
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry);
    context->loadAllAvailableDialects();
    mlir::OwningOpRef<mlir::ModuleOp> module =
        buildModel(*context, model->config, model->weights, *model->source, {});
    ASSERT_TRUE(module);
    CompileOptions options;
    options.target = *parseTarget("cpu:x86-64-v2");
    ArtifactOptions artifact;
    artifact.path = testing::TempDir() + "weft-check-commands.weft";
    PhaseRun run;
    run.afterPhase = [&](const Phase &phase, mlir::ModuleOp result) {
      if (phase.name == "fuse")
        fused = result.clone();
      if (phase.name == "plan" && editPlan)
        editPlan(result);
    };
    ASSERT_TRUE(succeeded(
        compileToArtifact(*module, *model->source, options, run, artifact)));
    auto opened = rt::Artifact::open(artifact.path);
    ASSERT_TRUE(opened) << opened.getStatus().getMessage();
    std::remove(artifact.path.c_str());
    auto device = rt::createDevice("cpu", 1);
    ASSERT_TRUE(device);
    auto program = rt::Program::load(opened.take(), device.take());
    ASSERT_TRUE(program);
    auto meta = rt::ModelMeta::parse((*program)->getPlan().metaJson);
    ASSERT_TRUE(meta);
    const int32_t ids[] = {1, 403, 407};
    auto made = makeSteps(*meta, ids, 0);
    ASSERT_TRUE(made);
    steps = made.take();
    rt::SessionOptions sizes;
    for (const auto &symbol : steps[0].symbols)
      sizes.symbols.push_back({symbol.getKey(), symbol.getValue()});
    auto created = rt::Session::create(program.take(), sizes);
    ASSERT_TRUE(created) << created.getStatus().getMessage();
    session = created.take();
    runner = std::make_unique<ReferenceRunner>(*context);
    checker = std::make_unique<CommandChecker>(
        fused->lookupSymbol<mlir::func::FuncOp>("step"), *session, *runner,
        *model->source, Options(), choices);
    rt::Status verified = checker->verify();
    ASSERT_TRUE(verified) << verified.getMessage();
  }

  size_t findCommand(llvm::StringRef label) {
    for (size_t i = 0; i < checker->getRows().size(); ++i)
      if (checker->getRows()[i].label == label)
        return i;
    ADD_FAILURE() << "no command " << label.str();
    return 0;
  }

  std::optional<ImportedModel> model;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> fused;
  std::vector<Step> steps;
  std::unique_ptr<rt::Session> session;
  std::unique_ptr<ReferenceRunner> runner;
  ExpertChoices choices;
  std::unique_ptr<CommandChecker> checker;
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
