//===- ModelOptions.cpp - Options that say which model to compile ---------===//

#include "tools/model/ModelOptions.h"

#include "models/common/BuildModel.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/Npy.h"
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

int tools::reportEmpty(llvm::StringRef tool, const cl::Option &option) {
  return reportUsage(tool,
                     llvm::StringRef(option.ArgStr.size() > 1 ? "--" : "-") +
                         option.ArgStr + " is empty");
}

const cl::Option *tools::findRepeated() {
  const cl::Option *repeated = nullptr;
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrencesFlag() == cl::Optional &&
        option->getNumOccurrences() > 1 &&
        (!repeated || option->ArgStr < repeated->ArgStr))
      repeated = option;
  return repeated;
}

int tools::reportRepeated(llvm::StringRef tool, const cl::Option &option) {
  return reportUsage(tool,
                     llvm::StringRef(option.ArgStr.size() > 1 ? "--" : "-") +
                         option.ArgStr + " is given " +
                         llvm::Twine(option.getNumOccurrences()) +
                         " times; expected one");
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
                 cl::value_desc("key"), cl::cat(category)),
      constants("constant",
                cl::desc("Values of an input of an ONNX file, which then is "
                         "none of the plan (repeatable)"),
                cl::value_desc("name=file.npy"), cl::cat(category)) {}

static std::optional<ElementType> parseType(llvm::StringRef name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (getName(type) == name)
      return type;
  return std::nullopt;
}

const cl::opt<std::string> *ModelOptions::findEmpty(
    llvm::ArrayRef<const cl::opt<std::string> *> others) const {
  auto isEmpty = [](const cl::opt<std::string> *option) {
    return option->getNumOccurrences() && option->empty();
  };
  auto other = llvm::find_if(others, isEmpty);
  if (other != others.end())
    return *other;
  const cl::opt<std::string> *own[] = {&target, &synthesize, &sampling};
  auto found = llvm::find_if(own, isEmpty);
  return found == std::end(own) ? nullptr : *found;
}

llvm::Error ModelOptions::checkInput(llvm::StringRef path) const {
  // A list has an operator & of its own.
  const cl::Option *ofFolders[] = {&dtype, &context,
                                   std::addressof(ignoreKeys)};
  if (!isOnnx(path))
    return constants.empty()
               ? llvm::Error::success()
               : llvm::createStringError("--constant is for ONNX files only");
  for (const cl::Option *option : ofFolders)
    if (option->getNumOccurrences())
      return llvm::createStringError(
          "--" + option->ArgStr +
          " is for checkpoint folders; an ONNX file says this itself");
  return llvm::Error::success();
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

/// Prints what an import found and writes it to the file `path` unless that is
/// empty; false if it cannot be written.
static bool writeReport(const ImportReport &report, llvm::StringRef tool,
                        llvm::StringRef path) {
  report.print(llvm::errs(), tool.str() + ": ");
  if (path.empty())
    return true;
  std::string text;
  llvm::raw_string_ostream(text) << report.toJson() << "\n";
  rt::Status status = writeText(path, text);
  if (!status)
    reportDiagnosed(tool, status.getMessage());
  return bool(status);
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
  if (!writeReport(report, tool, reportFile))
    return std::nullopt;
  return model;
}

bool ModelOptions::isOnnx(llvm::StringRef path) {
  return path.ends_with(".onnx");
}

/// The type of an array in a file of an ONNX model.
static OnnxType toOnnxType(rt::DType type) {
  switch (type) {
  case rt::DType::F32:
    return OnnxType::Float;
  case rt::DType::F16:
    return OnnxType::Float16;
  case rt::DType::BF16:
    return OnnxType::BFloat16;
  case rt::DType::F64:
    return OnnxType::Double;
  case rt::DType::I8:
    return OnnxType::Int8;
  case rt::DType::U8:
    return OnnxType::UInt8;
  case rt::DType::I16:
    return OnnxType::Int16;
  case rt::DType::I32:
    return OnnxType::Int32;
  case rt::DType::I64:
    return OnnxType::Int64;
  case rt::DType::Bool:
    return OnnxType::Bool;
  case rt::DType::U16:
    return OnnxType::UInt16;
  case rt::DType::U32:
    return OnnxType::UInt32;
  case rt::DType::U64:
    return OnnxType::UInt64;
  }
  return OnnxType::Undefined;
}

/// Reads the arrays of --constant.
static void readConstants(const cl::list<std::string> &given,
                          OnnxImportOptions &options, ImportReport &report) {
  for (const std::string &text : given) {
    auto [name, path] = llvm::StringRef(text).split('=');
    rt::Result<NpyArray> array = readNpy(path.str());
    if (name.empty() || path.empty() || !array) {
      report.unreadable("--constant " + text,
                        llvm::createStringError(
                            path.empty() ? "there is no '='"
                                         : array.getStatus().getMessage()),
                        "NAME=FILE.npy");
      continue;
    }
    OnnxConstantInput &constant = options.constants[name];
    constant.type = toOnnxType(array->dtype);
    constant.shape.assign(array->shape.begin(), array->shape.end());
    auto *bytes = reinterpret_cast<const uint8_t *>(array->data.data());
    constant.bytes.assign(bytes, bytes + array->data.size());
  }
}

std::optional<ImportedOnnx>
ModelOptions::importOnnx(llvm::StringRef tool, llvm::StringRef path,
                         mlir::MLIRContext &mlirContext,
                         llvm::StringRef reportFile) const {
  ImportReport report;
  OnnxImportOptions options;
  options.followLinks = followLinks;
  readConstants(constants, options, report);
  std::optional<ImportedOnnx> imported;
  if (!report.hasErrors())
    imported = weft::importOnnx(path, options, mlirContext, report);
  if (!writeReport(report, tool, reportFile))
    return std::nullopt;
  return imported;
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
