//===- ModelOptions.cpp - Options that say which model to compile ---------===//

#include "tools/model/ModelOptions.h"

#include "models/common/BuildModel.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/Version.h"
#include "tools/model/WriteText.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

using namespace weft;
using namespace weft::tools;
namespace cl = llvm::cl;

int tools::reportUsage(llvm::StringRef tool, const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), tool)
      << message << "\nRun '" << tool << " --help' for the options.\n";
  return exitUsage;
}

void tools::setVersionPrinter(const std::string &tool) {
  cl::SetVersionPrinter([tool](llvm::raw_ostream &stream) {
    stream << describeVersion(tool) << "\n";
  });
}

int tools::reportDiagnosed(llvm::StringRef tool, const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), tool) << message << "\n";
  return exitDiagnosed;
}

int tools::reportFailedCompilation(llvm::StringRef tool, const PhaseRun &run) {
  if (!llvm::sys::fs::exists(run.reproducer))
    return exitDiagnosed;
  llvm::WithColor::error(llvm::errs(), tool)
      << "internal error: a pass failed on a model that import accepted; "
         "please report it with the file "
      << run.reproducer << "\n";
  return exitInternal;
}

ModelOptions::ModelOptions(cl::OptionCategory &category)
    : input(cl::Positional, cl::desc("MODEL"), cl::cat(category)),
      target("target",
             cl::desc("cpu: a baseline and this machine's level; "
                      "cpu:LEVEL,...: the levels named (x86-64-v2, x86-64-v3, "
                      "x86-64-v4, x86-64-v4-bf16); cuda:ARCH,...: NVIDIA GPUs "
                      "(sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, sm_120a)"),
             cl::init("cpu"), cl::value_desc("target"), cl::cat(category)),
      synthesize("synthesize",
                 cl::desc("Random weights instead of a checkpoint: a "
                          "config.json, a folder with one, or smollm2-135m, "
                          "llama-3.2-1b, llama-3.1-8b"),
                 cl::value_desc("config"), cl::cat(category)),
      seed("seed", cl::desc("Seed of --synthesize"), cl::init(0),
           cl::cat(category)),
      dtype("dtype",
            cl::desc("Element type of weights and activations: f32, f16, bf16 "
                     "(default: the checkpoint's)"),
            cl::value_desc("type"), cl::cat(category)),
      context("context",
              cl::desc("Longest sequence (default: the model's limit)"),
              cl::init(0), cl::value_desc("tokens"), cl::cat(category)),
      noFuse("no-fuse",
             cl::desc("Every operation of the model is a kernel of its own"),
             cl::cat(category)),
      batchInvariant("batch-invariant",
                     cl::desc("On a GPU, the same bits for a token whatever "
                              "else its step computes (slower for few "
                              "sequences)"),
                     cl::cat(category)),
      sampling("sampling",
               cl::desc("Where ids are chosen by their logits: plan (the step "
                        "of a decoder gives ids too) or host (the runtime "
                        "reads the logits; default: plan for GPUs, host for "
                        "CPUs)"),
               cl::value_desc("place"), cl::cat(category)),
      followLinks("follow-links",
                  cl::desc("Open symbolic links in the checkpoint"),
                  cl::cat(category)),
      ignoreKeys("ignore-config-key",
                 cl::desc("A key of config.json to ignore (repeatable)"),
                 cl::value_desc("key"), cl::cat(category)) {}

static std::optional<ElementType> parseType(llvm::StringRef name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (getName(type) == name)
      return type;
  return std::nullopt;
}

llvm::Expected<CompileOptions> ModelOptions::getCompileOptions() const {
  if (dtype.getNumOccurrences() && !parseType(dtype))
    return llvm::createStringError("unknown --dtype '" + dtype +
                                   "'; expected f32, f16 or bf16");
  if (context.getNumOccurrences() && context < 1)
    return llvm::createStringError("--context is " + std::to_string(context) +
                                   "; expected at least 1");
  if (seed.getNumOccurrences() && synthesize.empty())
    return llvm::createStringError("--seed is for --synthesize only");
  CompileOptions options;
  llvm::Expected<Target> parsed = parseTarget(target);
  if (!parsed)
    return parsed.takeError();
  options.target = std::move(*parsed);
  options.fuse = !noFuse;
  options.batchInvariant = batchInvariant;
  if (sampling.getNumOccurrences()) {
    if (sampling != "plan" && sampling != "host")
      return llvm::createStringError("unknown --sampling '" + sampling +
                                     "'; expected plan or host");
    options.sample = sampling == "plan";
  }
  return options;
}

std::optional<ImportedModel>
ModelOptions::import(llvm::StringRef tool, llvm::StringRef path,
                     llvm::StringRef reportFile) const {
  ImportOptions options;
  options.config.contextLength = context;
  options.config.ignoredKeys.assign(ignoreKeys.begin(), ignoreKeys.end());
  options.followLinks = followLinks;
  ImportReport report;
  std::optional<ImportedModel> model =
      synthesize.empty() ? importCheckpoint(path, options, report)
                         : synthesizeModel(synthesize, seed, options, report);
  report.print(llvm::errs(), tool.str() + ": ");
  if (reportFile.empty())
    return model;
  std::string text;
  llvm::raw_string_ostream(text) << report.toJson() << "\n";
  if (rt::Status status = writeText(reportFile, text); !status) {
    reportDiagnosed(tool, status.getMessage());
    return std::nullopt;
  }
  return model;
}

mlir::OwningOpRef<mlir::ModuleOp>
ModelOptions::build(mlir::MLIRContext &mlirContext, const ImportedModel &model,
                    const CompileOptions &compile) const {
  BuildOptions options;
  options.name = model.name;
  options.samples = compile.samplesInPlan();
  if (!dtype.empty())
    options.activationType = options.cacheType = options.weightType =
        parseType(dtype);
  return buildModel(mlirContext, model.config, model.weights, *model.source,
                    options);
}
