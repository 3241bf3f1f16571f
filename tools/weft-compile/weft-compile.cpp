//===- weft-compile.cpp - Compiles a model to an artifact -----------------===//

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "runtime/Format/Writer.h"
#include "runtime/Llm/Tokenizer/Tokenizer.h"
#include "runtime/Nvrtc/KernelCache.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/OutputPaths.h"
#include "tools/common/ProgressBar.h"
#include "tools/model/Messages.h"
#include "tools/model/ModelOptions.h"
#include "tools/model/WriteText.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <memory>

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

namespace {

constexpr const char *toolName = "weft-compile";

cl::OptionCategory category("Options of weft-compile");

tools::ModelOptions modelOptions(category);
cl::opt<std::string> output("o", cl::desc("Artifact to write (FILE.weft)"),
                            cl::value_desc("file"), cl::cat(category));
cl::opt<std::string>
    compileTo("compile-to",
              cl::desc("Stop after a phase (input, graph, shard, fuse, kernel, "
                       "plan) and write the IR"),
              cl::value_desc("phase"), cl::cat(category));
cl::opt<std::string> compileFrom(
    "compile-from",
    cl::desc("MODEL is the IR that --compile-to=PHASE wrote; go on after it"),
    cl::value_desc("phase"), cl::cat(category));
cl::opt<std::string> weightsFrom(
    "weights",
    cl::desc("Checkpoint folder or ONNX file for --compile-from; 'generated' "
             "with --synthesize: the plan holds no large weights, "
             "the runtime makes random ones when it is loaded"),
    cl::value_desc("folder"), cl::cat(category));
cl::opt<std::string>
    dumpPhases("dump-phases",
               cl::desc("Write N.PHASE.mlir after each phase into a folder"),
               cl::value_desc("folder"), cl::cat(category));
cl::opt<bool>
    externalWeights("external-weights",
                    cl::desc("Write the weights to a file beside the plan"),
                    cl::cat(category));
cl::opt<bool> stripIr("strip-ir",
                      cl::desc("Do not keep the IR of the phases in the plan"),
                      cl::cat(category));
cl::opt<std::string> cudaPath(
    "cuda-path",
    cl::desc("CUDA installation whose NVRTC compiles for --target=cuda:... "
             "(default: as the dynamic linker finds it, $CUDA_HOME, "
             "$CUDA_PATH, /usr/local/cuda)"),
    cl::value_desc("folder"), cl::cat(category));
cl::opt<std::string> kernelCache(
    "kernel-cache",
    cl::desc("Folder for compiled CUDA kernels; may be deleted at any time "
             "(default: $XDG_CACHE_HOME/weft/kernels, up to 2 GiB)"),
    cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> noKernelCache("no-kernel-cache",
                            cl::desc("Compile every CUDA kernel again"),
                            cl::cat(category));
cl::opt<bool> allowSpills(
    "allow-spills",
    cl::desc("Use a CUDA kernel that spills registers or loses performance "
             "according to ptxas if no schedule gives a better one"),
    cl::cat(category));
cl::opt<bool> lineInfo("line-info",
                       cl::desc("Line tables in CUDA kernels, for profilers"),
                       cl::cat(category));
cl::opt<std::string> dumpKernels(
    "dump-kernels",
    cl::desc("Write each CUDA kernel's source, PTX, cubin, report and a "
             "program that runs it alone into a folder"),
    cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> timing("timing",
                     cl::desc("Print the time of each phase and its passes"),
                     cl::cat(category));
cl::opt<bool> remarks("remarks",
                      cl::desc("Say which optimisations were applied, which "
                               "were missed, and why"),
                      cl::cat(category));
cl::opt<bool> listOperators(
    "list-onnx-operators",
    cl::desc("Print the operators of ONNX files that are covered, and exit"),
    cl::cat(category));
cl::opt<std::string>
    reportJson("import-report",
               cl::desc("Write what import found as JSON (- for stdout)"),
               cl::value_desc("file"), cl::cat(category));

constexpr const char *overview =
    "Compiles a transformer model to an artifact that weft-run runs.\n\n"
    "  weft-compile models/stories260k -o stories.weft\n"
    "  weft-compile --synthesize smollm2-135m --dtype bf16 -o smollm2.weft\n"
    "  weft-compile MODEL --compile-to=fuse -o fuse.mlir\n\n"
    "MODEL is a Hugging Face checkpoint folder (config.json, *.safetensors, "
    "tokenizer files)\nor an ONNX file (FILE.onnx).\n"
    "Exit codes: 0 done, 1 an error that is explained, 2 wrong options, "
    "70 a bug in Weft.\n";

int usage(const llvm::Twine &message) {
  return tools::reportUsage(toolName, message);
}

int diagnosed(const llvm::Twine &message) {
  return tools::reportDiagnosed(toolName, message);
}

/// What is wrong with IR that the user gave has been explained.
int compilationFailed(const PhaseRun &run) {
  return compileFrom.empty() ? tools::reportFailedCompilation(toolName, run)
                             : tools::exitDiagnosed;
}

/// Options that only CUDA targets have.
llvm::Error setCudaOptions(CompileOptions &options) {
  const std::pair<StringRef, bool> given[] = {
      {cudaPath.ArgStr, !cudaPath.empty()},
      {kernelCache.ArgStr, !kernelCache.empty()},
      {noKernelCache.ArgStr, noKernelCache},
      {allowSpills.ArgStr, allowSpills},
      {lineInfo.ArgStr, lineInfo},
      {dumpKernels.ArgStr, !dumpKernels.empty()}};
  if (!options.target.isCuda())
    for (auto [name, isGiven] : given)
      if (isGiven)
        return llvm::createStringError("--" + name +
                                       " is for --target=cuda:ARCH only");
  if (noKernelCache && !kernelCache.empty())
    return llvm::createStringError(
        "give either --kernel-cache or --no-kernel-cache");
  options.cuda.cudaPath = cudaPath;
  options.cuda.allowSpills = allowSpills;
  options.cuda.lineInfo = lineInfo;
  options.cuda.dumpFolder = dumpKernels;
  if (!noKernelCache)
    options.cuda.cacheFolder = kernelCache.empty()
                                   ? rt::KernelCache::getDefaultFolder()
                                   : kernelCache.getValue();
  return llvm::Error::success();
}

int writeIr(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printPhase(module, stream);
  return tools::finish(toolName, tools::writeText(output, text));
}

/// A tokenizer that the runtime cannot load is found now and not by whoever
/// gets the plan.
int checkTokenizer(const TokenizerFiles &tokenizerFiles, int64_t vocabulary) {
  std::vector<rt::Tokenizer::File> files;
  for (const auto &[name, text] : tokenizerFiles)
    files.push_back(
        {name, {reinterpret_cast<const uint8_t *>(text.data()), text.size()}});
  if (files.empty())
    return tools::exitOk;
  rt::Result<std::unique_ptr<rt::Tokenizer>> tokenizer =
      rt::Tokenizer::fromFiles(files);
  if (!tokenizer)
    return tools::finish(toolName, tokenizer.getStatus());
  const int64_t ids = (*tokenizer)->vocabularySize();
  if (ids > vocabulary)
    llvm::WithColor::warning(llvm::errs(), toolName)
        << "the tokenizer has ids up to " << ids - 1
        << ", the model those below " << vocabulary
        << ": texts with such tokens are refused\n";
  return tools::exitOk;
}

/// Where a failing pass leaves what it was given.
std::string getReproducerPath() { return output + ".reproducer.mlir"; }

/// Nothing that is written may replace what it is made of.
rt::Status checkOutputs() {
  std::vector<tools::NamedPath> inputs, outputs;
  for (StringRef folder :
       {StringRef(modelOptions.input), StringRef(weightsFrom),
        StringRef(modelOptions.synthesize)})
    for (std::string &file : listCheckpointFiles(folder))
      inputs.push_back({"the checkpoint's file", std::move(file)});
  for (StringRef model :
       {StringRef(modelOptions.input), StringRef(weightsFrom)})
    if (tools::ModelOptions::isOnnx(model))
      for (std::string &file : listOnnxFiles(model))
        inputs.push_back({"the model's file", std::move(file)});
  for (StringRef constant : modelOptions.constants)
    inputs.push_back({"--constant", constant.split('=').second.str()});
  // A model of one file, IR, or the config of --synthesize.
  inputs.push_back({"the input", modelOptions.input});
  inputs.push_back({"--weights", weightsFrom});
  inputs.push_back({"--synthesize", modelOptions.synthesize});
  outputs.push_back({"-o", output});
  outputs.push_back({"--import-report", reportJson});
  if (!output.empty() && output != "-") {
    outputs.push_back({"the reproducer of -o", getReproducerPath()});
    if (externalWeights)
      outputs.push_back({"the weights of -o", rt::getWeightsPath(output)});
  }
  return tools::checkOutputPaths(inputs, outputs);
}

int printOperators() {
  MLIRContext mlirContext;
  mlirContext.loadDialect<onnx::OnnxDialect>();
  for (const std::string &name : listOnnxOperators(mlirContext))
    llvm::outs() << name << "\n";
  return tools::exitOk;
}

/// The value of --weights for weights that the runtime makes.
constexpr llvm::StringLiteral generatedWeights = "generated";

int run() {
  if (const cl::Option *repeated = tools::findRepeated())
    return tools::reportRepeated(toolName, *repeated);
  if (const cl::opt<std::string> *empty = modelOptions.findEmpty(
          {&output, &compileTo, &compileFrom, &weightsFrom, &dumpPhases,
           &cudaPath, &kernelCache, &dumpKernels, &reportJson}))
    return tools::reportEmpty(toolName, *empty);
  if (listOperators)
    return printOperators();
  bool fromIr = !compileFrom.empty(), toIr = !compileTo.empty();
  if (modelOptions.input.empty() == modelOptions.synthesize.empty() && !fromIr)
    return usage("give either MODEL or --synthesize CONFIG");
  if (!toIr && output.empty())
    return usage("give the artifact to write with -o FILE.weft");
  if (!toIr && output == "-")
    return usage("an artifact does not go to standard output; give a file");
  const bool isSynthesized = !modelOptions.synthesize.empty();
  if (isSynthesized && !fromIr && !weightsFrom.empty() &&
      weightsFrom != generatedWeights)
    return usage("unknown --weights '" + weightsFrom +
                 "' with --synthesize; expected 'generated'");
  if (!weightsFrom.empty() && !fromIr && !isSynthesized)
    return usage("--weights goes with --compile-from; without it, MODEL is the "
                 "checkpoint");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &externalWeights, &stripIr, &dumpKernels})
    if (toIr && option->getNumOccurrences())
      return usage("--" + option->ArgStr +
                   " is for artifacts; --compile-to writes IR");
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

  llvm::Expected<CompileOptions> options = modelOptions.getCompileOptions();
  if (!options)
    return usage(llvm::toString(options.takeError()));
  if (llvm::Error error = setCudaOptions(*options))
    return usage(llvm::toString(std::move(error)));
  StringRef checkpoint =
      fromIr ? StringRef(weightsFrom) : StringRef(modelOptions.input);
  if (llvm::Error error = modelOptions.checkInput(checkpoint))
    return usage(llvm::toString(std::move(error)));
  if (rt::Status status = checkOutputs(); !status)
    return tools::finish(toolName, status);

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext mlirContext(registry);
  mlirContext.loadAllAvailableDialects();
  // A message is about the model; the whole module behind it would hide it.
  mlirContext.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  tools::MessageHandler messages(toolName, sources, &mlirContext);
  if (remarks && failed(tools::printRemarks(toolName, mlirContext)))
    return tools::exitInternal;

  std::optional<ImportedModel> model;
  std::optional<ImportedOnnx> onnx;
  OwningOpRef<ModuleOp> module;
  if (tools::ModelOptions::isOnnx(checkpoint)) {
    onnx =
        modelOptions.importOnnx(toolName, checkpoint, mlirContext, reportJson);
    if (!onnx)
      return tools::exitDiagnosed;
    // How many ids the model has is known when it has become a decoder.
    if (!toIr)
      if (int code = checkTokenizer(onnx->tokenizerFiles, INT32_MAX);
          code != tools::exitOk)
        return code;
  } else if (!checkpoint.empty() || !modelOptions.synthesize.empty()) {
    model = modelOptions.import(toolName, checkpoint, reportJson);
    if (!model)
      return tools::exitDiagnosed;
    if (!toIr)
      if (int code =
              checkTokenizer(model->tokenizerFiles, model->config.vocabSize);
          code != tools::exitOk)
        return code;
  }
  if (fromIr) {
    if (!toIr && !model && !onnx)
      return usage("--compile-from needs the checkpoint (--weights FOLDER or "
                   "--synthesize CONFIG) to write an artifact");
    llvm::sys::fs::file_status info;
    if (!llvm::sys::fs::status(modelOptions.input, info) &&
        info.type() == llvm::sys::fs::file_type::character_file)
      return diagnosed("'" + modelOptions.input +
                       "' is a device, expected a file with IR");
    std::string message;
    auto file = openInputFile(modelOptions.input, &message);
    if (!file)
      return diagnosed(message);
    sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
    module = parseSourceFile<ModuleOp>(sources, &mlirContext);
    if (!module)
      return tools::exitDiagnosed;
  } else if (onnx) {
    module = std::move(onnx->module);
  } else {
    module = modelOptions.build(mlirContext, *model, *options);
    if (!module)
      return tools::exitDiagnosed;
  }

  phases.dumpFolder = dumpPhases;
  phases.timing = timing;
  if (!dumpPhases.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(dumpPhases))
      return diagnosed("cannot create " + dumpPhases + ": " + error.message());
  if (!output.empty() && output != "-")
    phases.reproducer = getReproducerPath();
  llvm::sys::fs::remove(phases.reproducer); // Of an earlier run.
  if (toIr)
    return failed(runPhases(*module, *options, phases))
               ? compilationFailed(phases)
               : writeIr(*module);

  ArtifactOptions artifact;
  artifact.path = output;
  artifact.externalWeights = externalWeights;
  artifact.keepIr = !stripIr;
  if (isSynthesized && weightsFrom == generatedWeights) {
    artifact.generatedBytes = uint64_t(1) << 16;
    artifact.generatedSeed = modelOptions.seed;
  }
  if (model)
    artifact.tokenizerFiles = model->tokenizerFiles;
  else if (onnx)
    artifact.tokenizerFiles = onnx->tokenizerFiles;
  std::unique_ptr<tools::ProgressBar> progress;
  artifact.progress = [&](uint64_t total, uint64_t written) {
    if (written == 0)
      progress = std::make_unique<tools::ProgressBar>(
          "writing weights", total, tools::ProgressBar::Unit::Bytes);
    else
      progress->advance(written);
  };
  const WeightSource &weights = onnx ? *onnx->weights : *model->source;
  return failed(compileToArtifact(*module, weights, *options, phases, artifact))
             ? compilationFailed(phases)
             : tools::exitOk;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  tools::setVersionPrinter(toolName);
  tools::reportLostOutput(toolName);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return tools::exitUsage;
  return tools::runMain(toolName, run);
}
