//===- weft-compile.cpp - Compiles a model to an artifact -----------------===//

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "compiler/Import/HuggingFace/Import.h"
#include "models/common/BuildModel.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/ProgressBar.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

#include <memory>

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options of weft-compile");

cl::opt<std::string> input(cl::Positional, cl::desc("MODEL"),
                           cl::cat(category));
cl::opt<std::string> output("o", cl::desc("Artifact to write (FILE.weft)"),
                            cl::value_desc("file"), cl::cat(category));
cl::opt<std::string>
    target("target",
           cl::desc("cpu: a baseline and this machine's level; cpu:LEVEL,...: "
                    "the levels named (x86-64-v2, x86-64-v3, x86-64-v4, "
                    "x86-64-v4-bf16)"),
           cl::init("cpu"), cl::value_desc("target"), cl::cat(category));
cl::opt<std::string> synthesize(
    "synthesize",
    cl::desc("Random weights instead of a checkpoint: a config.json, a folder "
             "with one, or smollm2-135m, llama-3.2-1b, llama-3.1-8b"),
    cl::value_desc("config"), cl::cat(category));
cl::opt<uint64_t> seed("seed", cl::desc("Seed of --synthesize"), cl::init(0),
                       cl::cat(category));
cl::opt<std::string>
    dtype("dtype",
          cl::desc("Element type of weights and activations: f32, f16, bf16 "
                   "(default: the checkpoint's)"),
          cl::value_desc("type"), cl::cat(category));
cl::opt<int64_t>
    context("context",
            cl::desc("Longest sequence (default: the model's limit)"),
            cl::init(0), cl::value_desc("tokens"), cl::cat(category));
cl::opt<std::string>
    compileTo("compile-to",
              cl::desc("Stop after a phase (input, graph, shard, fuse, kernel, "
                       "plan) and write the IR"),
              cl::value_desc("phase"), cl::cat(category));
cl::opt<std::string> compileFrom(
    "compile-from",
    cl::desc("MODEL is the IR that --compile-to=PHASE wrote; go on after it"),
    cl::value_desc("phase"), cl::cat(category));
cl::opt<std::string>
    weightsFrom("weights", cl::desc("Checkpoint folder for --compile-from"),
                cl::value_desc("folder"), cl::cat(category));
cl::opt<std::string>
    dumpPhases("dump-phases",
               cl::desc("Write N.PHASE.mlir after each phase into a folder"),
               cl::value_desc("folder"), cl::cat(category));
cl::opt<bool>
    noFuse("no-fuse",
           cl::desc("Every operation of the model is a kernel of its own"),
           cl::cat(category));
cl::opt<bool>
    externalWeights("external-weights",
                    cl::desc("Write the weights to a file beside the plan"),
                    cl::cat(category));
cl::opt<bool> stripIr("strip-ir",
                      cl::desc("Do not keep the IR of the phases in the plan"),
                      cl::cat(category));
cl::opt<bool> timing("timing", cl::desc("Print the time of each pass"),
                     cl::cat(category));
cl::opt<bool> remarks("remarks",
                      cl::desc("Say which optimisations were applied, which "
                               "were missed, and why"),
                      cl::cat(category));
cl::opt<std::string>
    reportJson("import-report",
               cl::desc("Write what import found as JSON (- for stdout)"),
               cl::value_desc("file"), cl::cat(category));
cl::opt<bool> followLinks("follow-links",
                          cl::desc("Open symbolic links in the checkpoint"),
                          cl::cat(category));
cl::list<std::string>
    ignoreKeys("ignore-config-key",
               cl::desc("A key of config.json to ignore (repeatable)"),
               cl::value_desc("key"), cl::cat(category));

constexpr const char *overview =
    "Compiles a transformer model to an artifact that weft-run runs.\n\n"
    "  weft-compile models/stories260k -o stories.weft\n"
    "  weft-compile --synthesize smollm2-135m --dtype bf16 -o smollm2.weft\n"
    "  weft-compile MODEL --compile-to=fuse -o fuse.mlir\n\n"
    "MODEL is a Hugging Face checkpoint folder (config.json, *.safetensors, "
    "tokenizer files).\n"
    "Exit codes: 0 done, 1 an error that is explained, 2 wrong options, "
    "70 a bug in Weft.\n";

int usage(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "weft-compile")
      << message << "\nRun 'weft-compile --help' for the options.\n";
  return tools::exitUsage;
}

int diagnosed(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "weft-compile") << message << "\n";
  return tools::exitDiagnosed;
}

std::optional<ElementType> parseType(StringRef name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (getName(type) == name)
      return type;
  return std::nullopt;
}

/// Imports the checkpoint or synthesizes one; reports go to standard error.
std::optional<ImportedModel> import(StringRef path) {
  ImportOptions options;
  options.config.contextLength = context;
  options.config.ignoredKeys.assign(ignoreKeys.begin(), ignoreKeys.end());
  options.followLinks = followLinks;
  ImportReport report;
  std::optional<ImportedModel> model =
      synthesize.empty() ? importCheckpoint(path, options, report)
                         : synthesizeModel(synthesize, seed, options, report);
  report.print(llvm::errs());
  if (reportJson.empty())
    return model;
  std::error_code error;
  llvm::raw_fd_ostream stream(reportJson, error);
  if (error) {
    diagnosed("cannot write " + reportJson + ": " + error.message());
    return std::nullopt;
  }
  stream << report.toJson() << "\n";
  return model;
}

/// What import let through must compile, so a pass that fails on it is a bug;
/// the pass manager has then left a reproducer. IR that the user gave, and what
/// goes wrong while the artifact is written, have been explained.
int compilationFailed(const PhaseRun &run) {
  if (!compileFrom.empty() || !llvm::sys::fs::exists(run.reproducer))
    return tools::exitDiagnosed;
  llvm::WithColor::error(llvm::errs(), "weft-compile")
      << "internal error: a pass failed on a model that import accepted; "
         "please report it with the file "
      << run.reproducer << "\n";
  return tools::exitInternal;
}

int writeIr(ModuleOp module) {
  std::string message;
  auto file =
      openOutputFile(output.empty() ? "-" : output.getValue(), &message);
  if (!file)
    return diagnosed(message);
  printPhase(module, file->os());
  file->os().flush();
  if (file->os().has_error()) {
    file->os().clear_error();
    return diagnosed("cannot write " + output);
  }
  file->keep();
  return tools::exitOk;
}

int run() {
  bool fromIr = !compileFrom.empty(), toIr = !compileTo.empty();
  if (input.empty() == synthesize.empty() && !fromIr)
    return usage("give either MODEL or --synthesize CONFIG");
  if (!toIr && output.empty())
    return usage("give the artifact to write with -o FILE.weft");
  PhaseRun phases;
  phases.last = getPhases().size() - 1;
  for (auto [name, isFrom] :
       {std::pair(&compileFrom, true), {&compileTo, false}}) {
    if (name->empty())
      continue;
    std::optional<size_t> index = findPhase(*name);
    if (!index)
      return usage("unknown phase '" + *name +
                   "'; expected input, graph, shard, fuse, kernel or plan");
    (isFrom ? phases.first : phases.last) = isFrom ? *index + 1 : *index;
  }
  if (phases.first > phases.last + 1)
    return usage("--compile-to is before --compile-from");
  if (!dtype.empty() && !parseType(dtype))
    return usage("unknown --dtype '" + dtype + "'; expected f32, f16 or bf16");

  CompileOptions options;
  llvm::Expected<std::vector<std::string>> levels = parseTarget(target);
  if (!levels)
    return usage(llvm::toString(levels.takeError()));
  options.cpuLevels = std::move(*levels);
  options.fuse = !noFuse;

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext mlirContext(registry);
  mlirContext.loadAllAvailableDialects();
  // A message is about the model; the whole module behind it would hide it.
  mlirContext.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &mlirContext);
  if (remarks) {
    remark::RemarkCategories categories;
    categories.passed = categories.missed = categories.analysis =
        categories.failed = ".*";
    if (failed(remark::enableOptimizationRemarks(
            mlirContext, nullptr,
            std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
            /*printAsEmitRemarks=*/true)))
      return tools::exitInternal;
  }

  std::optional<ImportedModel> model;
  OwningOpRef<ModuleOp> module;
  StringRef checkpoint = fromIr ? StringRef(weightsFrom) : StringRef(input);
  if (!checkpoint.empty() || !synthesize.empty()) {
    model = import(checkpoint);
    if (!model)
      return tools::exitDiagnosed;
  }
  if (fromIr) {
    if (!toIr && !model)
      return usage("--compile-from needs the checkpoint (--weights FOLDER or "
                   "--synthesize CONFIG) to write an artifact");
    std::string message;
    auto file = openInputFile(input, &message);
    if (!file)
      return diagnosed(message);
    sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
    module = parseSourceFile<ModuleOp>(sources, &mlirContext);
    if (!module)
      return tools::exitDiagnosed;
  } else {
    BuildOptions build;
    build.name = model->name;
    if (!dtype.empty())
      build.activationType = build.cacheType = build.weightType =
          parseType(dtype);
    module = buildModel(mlirContext, model->config, model->weights,
                        *model->source, build);
    if (!module)
      return tools::exitDiagnosed;
  }

  phases.dumpFolder = dumpPhases;
  phases.timing = timing;
  if (!dumpPhases.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(dumpPhases))
      return diagnosed("cannot create " + dumpPhases + ": " + error.message());
  if (!output.empty() && output != "-")
    phases.reproducer = output + ".reproducer.mlir";
  llvm::sys::fs::remove(phases.reproducer); // Of an earlier run.
  if (toIr)
    return failed(runPhases(*module, options, phases))
               ? compilationFailed(phases)
               : writeIr(*module);

  ArtifactOptions artifact;
  artifact.path = output;
  artifact.externalWeights = externalWeights;
  artifact.keepIr = !stripIr;
  artifact.tokenizerFiles = model->tokenizerFiles;
  std::unique_ptr<tools::ProgressBar> progress;
  artifact.progress = [&](uint64_t total, uint64_t written) {
    if (written == 0)
      progress = std::make_unique<tools::ProgressBar>(
          "writing weights", total, tools::ProgressBar::Unit::Bytes);
    else
      progress->advance(written);
  };
  return failed(compileToArtifact(*module, *model->source, options, phases,
                                  artifact))
             ? compilationFailed(phases)
             : tools::exitOk;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return tools::exitUsage;
  return tools::runMain("weft-compile", run);
}
