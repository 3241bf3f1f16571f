//===- weft-opt.cpp - Runs passes on IR files -----------------------------===//

#include "compiler/Dialects.h"
#include "compiler/Phases.h"
#include "tools/common/ExitCodes.h"
#include "tools/model/ModelOptions.h"
#include "tools/model/WriteText.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

static constexpr const char *toolName = "weft-opt";

static constexpr const char *overview =
    "Runs passes and phases of the compiler on an IR file.\n\n"
    "  weft-opt model.mlir --weft-phase-fuse -o fuse.mlir\n"
    "  weft-opt model.mlir --weft-merge-parallel-linears\n"
    "  weft-opt --list-passes\n\n"
    "Exit codes: 0 done, 1 an error that is explained, 2 wrong options, "
    "70 a bug in Weft.\n";

/// Hides what LLVM's libraries have registered by now, hundreds of options of
/// code generators and optimisers; --help, --version and --color stay. Those of
/// MLIR and of Weft are registered later.
static void hideOptionsOfLlvm() {
  auto isCommon = [](const cl::OptionCategory *category) {
    return category->getName() == "Generic Options" ||
           category->getName() == "Color Options";
  };
  for (auto &entry : cl::getRegisteredOptions()) {
    cl::Option *option = entry.second;
    if (option->getOptionHiddenFlag() == cl::NotHidden &&
        llvm::none_of(option->Categories, isCommon))
      option->setHiddenFlag(cl::Hidden);
  }
}

static int run(int argc, char **argv) {
  hideOptionsOfLlvm();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  registerPhasePipelines();
  // Not MLIR's own main function: it ends the process with code 1 where the
  // command line is wrong.
  cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                             cl::init("-"));
  cl::opt<std::string> output("o",
                              cl::desc("File to write (default: standard "
                                       "output)"),
                              cl::value_desc("file"), cl::init("-"));
  std::string dialects = registerCLIOptions(overview, registry);
  if (!cl::ParseCommandLineOptions(argc, argv, dialects, &llvm::errs()))
    return tools::exitUsage;
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldListPasses()) {
    printRegisteredPasses();
    return tools::exitOk;
  }
  {
    // What the pipeline says is part of the command line.
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    PassManager passes(&context);
    if (failed(config.setupPassPipeline(passes)))
      return tools::exitUsage;
  }
  std::string message, text;
  auto file = openInputFile(input, &message);
  if (!file)
    return tools::reportDiagnosed(toolName, message);
  llvm::raw_string_ostream stream(text);
  if (failed(MlirOptMain(stream, std::move(file), registry, config)))
    return tools::exitDiagnosed;
  return tools::finish(toolName, tools::writeText(output, text));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  tools::setVersionPrinter(toolName);
  tools::reportLostOutput(toolName);
  return tools::runMain(toolName, [&] { return run(argc, argv); });
}
