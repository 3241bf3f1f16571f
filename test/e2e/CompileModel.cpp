//===- CompileModel.cpp - Plans for tests, compiled in this process -------===//

#include "test/e2e/CompileModel.h"

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "compiler/Import/HuggingFace/Import.h"
#include "models/common/BuildModel.h"
#include "passes/Kernel/CpuLevel.h"

#include "mlir/IR/Diagnostics.h"

#include <stdexcept>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

std::vector<std::string> weft::e2e::supportedLevels() {
  std::vector<std::string> names;
  for (const CpuLevel &level : getCpuLevels())
    if (isSupportedByHost(level))
      names.push_back(level.name.str());
  return names;
}

static std::optional<ElementType> findType(const std::string &name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (getName(type) == name)
      return type;
  return std::nullopt;
}

void weft::e2e::compileModel(const fs::path &checkpoint,
                             const fs::path &artifact,
                             const CompileSettings &settings) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  auto fail = [&] {
    throw std::runtime_error("compiling " + checkpoint.string() + ": " +
                             messages);
  };

  ImportOptions import;
  import.config.contextLength = settings.context;
  ImportReport report;
  std::optional<ImportedModel> model =
      importCheckpoint(checkpoint.string(), import, report);
  if (!model) {
    report.print(stream);
    fail();
  }

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        stream << diagnostic.getLocation() << ": " << diagnostic.str() << "\n";
        return mlir::success();
      });
  CompileOptions options;
  options.target.cpuLevels = settings.levels;
  options.target.cudaArchs = settings.cudaArchs;
  options.cuda.sourceOnly = true;
  if (settings.levels.empty() && settings.cudaArchs.empty())
    options.target.cpuLevels.push_back(getHostCpuLevel().name.str());
  options.fuse = settings.fuse;
  options.batchInvariant = settings.batchInvariant;
  options.sample = settings.sample;

  BuildOptions build;
  build.name = model->name;
  build.samples = options.samplesInPlan();
  build.activationType = build.cacheType = build.weightType =
      findType(settings.dtype);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      buildModel(context, model->config, model->weights, *model->source, build);
  if (!module)
    fail();

  ArtifactOptions output;
  output.path = artifact.string();
  output.keepIr = settings.keepIr;
  output.tokenizerFiles = model->tokenizerFiles;
  if (mlir::failed(compileToArtifact(*module, *model->source, options,
                                     PhaseRun(), output)))
    fail();
}

PlanStore::PlanStore(const std::string &name) : scratch(name) {
  fs::create_directories(scratch.path);
}

const std::string &
PlanStore::get(const std::string &name,
               const std::function<void(const fs::path &)> &make) {
  auto found = plans.find(name);
  if (found == plans.end()) {
    fs::path file = scratch.path / (name + ".weft");
    make(file);
    found = plans.emplace(name, file.string()).first;
  }
  return found->second;
}

const std::string &PlanStore::compile(const std::string &name,
                                      const fs::path &checkpoint,
                                      const CompileSettings &settings) {
  return get(name, [&](const fs::path &file) {
    compileModel(checkpoint, file, settings);
  });
}

const std::string &PlanStore::compile(const std::string &name,
                                      const reference::RandomOptions &options,
                                      const CompileSettings &settings) {
  return get(name, [&](const fs::path &file) {
    reference::writeRandomCheckpoint(getCheckpoint(name), options);
    compileModel(getCheckpoint(name), file, settings);
  });
}
