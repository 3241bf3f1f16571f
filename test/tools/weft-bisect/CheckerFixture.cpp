//===- CheckerFixture.cpp -------------------------------------------------===//

#include "test/tools/weft-bisect/CheckerFixture.h"

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "models/common/BuildModel.h"

#include <cstdio>

using namespace weft;
using namespace weft::bisect;

void CheckerFixture::makeChecker(const CheckerSettings &settings) {
  ImportReport report;
  model = importCheckpoint(settings.checkpoint, {}, report);
  ASSERT_TRUE(model);
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<mlir::MLIRContext>(registry);
  context->loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      buildModel(*context, model->config, model->weights, *model->source,
                 {.samples = settings.options.samplesInPlan(), .name = ""});
  ASSERT_TRUE(module);
  ArtifactOptions artifact;
  artifact.path = testing::TempDir() + "weft-check-commands.weft";
  PhaseRun run;
  run.afterPhase = [&](const Phase &phase, mlir::ModuleOp result) {
    if (phase.name == "fuse")
      fused = result.clone();
    if (phase.name == "plan" && settings.editPlan)
      settings.editPlan(result);
  };
  ASSERT_TRUE(succeeded(compileToArtifact(*module, *model->source,
                                          settings.options, run, artifact)));
  auto opened = rt::Artifact::open(artifact.path);
  ASSERT_TRUE(opened) << opened.getStatus().getMessage();
  std::remove(artifact.path.c_str());
  std::shared_ptr<rt::Device> device =
      settings.makeDevice((*opened)->getPlan());
  ASSERT_TRUE(device);
  auto program = rt::Program::load(opened.take(), device);
  ASSERT_TRUE(program) << program.getStatus().getMessage();
  auto meta = rt::ModelMeta::parse((*program)->getPlan().metaJson);
  ASSERT_TRUE(meta);
  auto made = makeSteps(*meta, settings.ids, settings.singles);
  ASSERT_TRUE(made);
  steps = made.take();
  rt::SessionOptions sizes;
  for (const rt::Symbol &symbol : (*program)->getPlan().symbols)
    sizes.symbols.push_back({symbol.name, steps[0].symbols.at(symbol.name)});
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

size_t CheckerFixture::findCommand(llvm::StringRef label) {
  for (size_t i = 0; i < checker->getRows().size(); ++i)
    if (checker->getRows()[i].label == label)
      return i;
  ADD_FAILURE() << "no command " << label.str();
  return 0;
}
