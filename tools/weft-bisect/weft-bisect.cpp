//===- weft-bisect.cpp - Finds the first place where a plan is wrong ------===//

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "runtime/Llm/LanguageModel.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/ProgressBar.h"
#include "tools/model/Messages.h"
#include "tools/model/ModelOptions.h"
#include "tools/model/WriteText.h"
#include "tools/weft-bisect/Report.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"

#include <random>
#include <sstream>

using namespace mlir;
using namespace weft;
using namespace weft::bisect;
namespace cl = llvm::cl;

namespace {

constexpr const char *toolName = "weft-bisect";

cl::OptionCategory category("Options of weft-bisect");

tools::ModelOptions modelOptions(category);
cl::opt<std::string>
    planPath("plan",
             cl::desc("The plan to check (default: MODEL is compiled); it must "
                      "have been compiled from MODEL with the same --dtype, "
                      "--context and --no-fuse; --target is the plan's"),
             cl::value_desc("file.weft"), cl::cat(category));
cl::opt<std::string> prompt("prompt", cl::desc("Text to run the model on"),
                            cl::value_desc("text"), cl::cat(category));
cl::opt<std::string> idsText("ids", cl::desc("Token ids to run on: \"1 2 3\""),
                             cl::value_desc("ids"), cl::cat(category));
cl::opt<int64_t>
    randomIds("random-ids",
              cl::desc("Without --prompt and --ids: run on this many random "
                       "ids, the same each time (default 16)"),
              cl::init(16), cl::value_desc("N"), cl::cat(category));
cl::opt<int64_t>
    singles("single-steps",
            cl::desc("The last N tokens are computed one at a time, as in "
                     "decoding (default 1)"),
            cl::init(1), cl::value_desc("N"), cl::cat(category));
cl::opt<double> tolerance(
    "tolerance",
    cl::desc("Largest error over largest element that is no difference "
             "(default: f32 1e-4, f16 1e-2, bf16 2e-2)"),
    cl::init(0), cl::value_desc("X"), cl::cat(category));
cl::opt<std::string>
    saveFolder("save",
               cl::desc("Write the tensors of the first difference here, as "
                        ".npy (bf16 as its raw bits, uint16)"),
               cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> saveAll("save-all",
                      cl::desc("With --save: the tensors of every command"),
                      cl::cat(category));
cl::opt<std::string>
    deviceName("device",
               cl::desc("cpu, cuda or cuda:N (default: what the plan was "
                        "compiled for)"),
               cl::value_desc("device"), cl::cat(category));
cl::opt<bool> json("json", cl::desc("Write the report as JSON"),
                   cl::cat(category));

constexpr const char *overview =
    "Finds the first place where a compiled plan is wrong.\n\n"
    "  weft-bisect models/stories260k\n"
    "  weft-bisect MODEL --plan model.weft --prompt \"Once upon a time\"\n"
    "  weft-bisect MODEL --no-fuse --target=cpu:x86-64-v2 --save wrong\n"
    "  weft-bisect MODEL --target=cuda:sm_90a --device cuda:1\n\n"
    "Runs MODEL by its definition (the decompositions of its operations, "
    "compiled without\n"
    "Weft's own passes) after each phase up to fuse, and the plan by the "
    "runtime: the first\n"
    "phase that changes the result is to blame. Every command of the plan is "
    "compared with\n"
    "the definition of what it should compute, on the very inputs it had: the "
    "first one that\n"
    "differs is the wrong one, whatever the ones behind it make of it.\n\n"
    "If graph or fuse differs, a pass changed the meaning. If the plan "
    "differs, a kernel is\n"
    "wrong or reads the wrong memory (the command is named). "
    "--no-fuse splits a\n"
    "wrong kernel into its operations; --target=cpu:x86-64-v2 asks whether "
    "another level is\n"
    "wrong too.\n\n"
    "Exit codes: 0 no difference, 1 a difference or an error that is "
    "explained, 2 wrong\n"
    "options, 70 a bug in Weft.\n";

int usage(const llvm::Twine &message) {
  return tools::reportUsage(toolName, message);
}

int fail(const rt::Status &status) { return tools::finish(toolName, status); }

rt::Result<std::vector<int32_t>> parseIds(StringRef text) {
  std::vector<int32_t> ids;
  SmallVector<StringRef> parts;
  text.split(parts, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (part.getAsInteger(10, ids.emplace_back()))
      return rt::Status::invalid("--ids has '" + part.str() +
                                 "'; expected numbers with spaces between");
  return ids;
}

rt::Result<std::vector<int32_t>> chooseIds(const rt::LanguageModel &model) {
  if (prompt.getNumOccurrences())
    return model.encodePrompt(prompt.getValue());
  if (idsText.getNumOccurrences())
    return parseIds(idsText);
  const rt::ModelMeta &meta = model.getMeta();
  std::vector<int32_t> ids(std::min<int64_t>(randomIds, meta.contextLength));
  std::mt19937 random; // Seeded with its standard value.
  for (int32_t &id : ids)
    id = int32_t(random() % uint64_t(meta.vocabularySize));
  return ids;
}

/// The plan's session, exactly as large as the steps need.
rt::Result<std::unique_ptr<rt::Session>>
createSession(std::shared_ptr<rt::Program> program, ArrayRef<Step> steps) {
  rt::SessionOptions sizes;
  for (const rt::Symbol &symbol : program->getPlan().symbols) {
    int64_t largest = std::max<int64_t>(symbol.min, 1);
    for (const Step &step : steps)
      if (auto it = step.symbols.find(symbol.name); it != step.symbols.end())
        largest = std::max(largest, it->second);
    sizes.symbols.push_back({symbol.name, largest});
  }
  return rt::Session::create(std::move(program), sizes);
}

/// Everything after the model has been compiled and the plan been opened.
rt::Result<Report> makeReport(const ImportedModel &model,
                              ArrayRef<PhaseModule> phases,
                              std::shared_ptr<rt::Program> program) {
  rt::Result<std::unique_ptr<rt::LanguageModel>> text =
      rt::LanguageModel::create(program);
  if (!text)
    return text.getStatus();
  rt::Result<std::vector<int32_t>> ids = chooseIds(**text);
  if (!ids)
    return ids.getStatus();
  const rt::ModelMeta &meta = (*text)->getMeta();
  rt::Result<std::vector<Step>> steps = makeSteps(meta, *ids, singles);
  if (!steps)
    return steps.getStatus();
  rt::Result<std::unique_ptr<rt::Session>> session =
      createSession(program, *steps);
  if (!session)
    return session.getStatus();

  Options options;
  if (tolerance.getNumOccurrences())
    options.tolerance = tolerance;
  options.saveFolder = saveFolder;
  options.saveAll = saveAll;
  ReferenceRunner runner(*phases.back().module.get().getContext());
  ExpertChoices choices;
  PhaseComparer comparer(runner, *model.source, options, choices);
  if (rt::Status s = comparer.setModules(phases, getEntryName(meta)); !s)
    return s;
  CommandChecker checker(comparer.getLastEntry(), **session, runner,
                         *model.source, options, choices);
  if (rt::Status s = checker.verify(); !s)
    return s;

  tools::ProgressBar progress(
      "comparing",
      (comparer.countOperations() + checker.getRows().size()) * steps->size());
  auto advance = [&] { progress.advance(); };
  if (rt::Status s = comparer.run(*steps, advance); !s)
    return s;
  rt::Result<std::vector<NamedTensor>> outputs = checker.run(*steps, advance);
  if (!outputs)
    return outputs.getStatus();
  if (rt::Status s =
          comparer.add("plan", comparer.getLastEntry(), outputs.take());
      !s)
    return s;

  Report report;
  report.model = model.name;
  report.plan = planPath;
  report.ids = ids.take();
  report.steps = steps->size();
  report.phases = comparer.takeRows();
  report.commands = checker.getRows();
  report.firstBad = checker.getFirstBad();
  report.firstChoice = choices.getFirst();
  return report;
}

rt::Result<std::shared_ptr<rt::Program>> loadPlan(const std::string &path) {
  rt::Result<std::unique_ptr<rt::Artifact>> artifact = rt::Artifact::open(path);
  if (!artifact)
    return artifact.getStatus();
  rt::Result<std::shared_ptr<rt::Device>> device = rt::createDevice(
      deviceName.empty() ? rt::getDeviceForTarget((*artifact)->getPlan().target)
                         : deviceName.getValue(),
      0);
  if (!device)
    return device.getStatus();
  return rt::Program::load(artifact.take(), device.take());
}

/// Compiles for what the plan was compiled for, unless --target says otherwise:
/// layouts of weights depend on it.
rt::Status takeTarget(const std::string &plan, CompileOptions &options) {
  rt::Result<std::unique_ptr<rt::Artifact>> artifact = rt::Artifact::open(plan);
  if (!artifact)
    return artifact.getStatus();
  llvm::Expected<Target> target = parseTarget((*artifact)->getPlan().target);
  if (target)
    options.target = std::move(*target);
  else // A list of architectures that the plan had no place for.
    return rt::Status::invalid("give --target: " +
                               llvm::toString(target.takeError()));
  return rt::Status::ok();
}

int run() {
  if (const cl::Option *repeated = tools::findRepeated())
    return tools::reportRepeated(toolName, *repeated);
  // An empty prompt is one, whose error is that of generation.
  if (const cl::opt<std::string> *empty =
          modelOptions.findEmpty({&planPath, &saveFolder, &deviceName}))
    return tools::reportEmpty(toolName, *empty);
  if (modelOptions.input.empty() == modelOptions.synthesize.empty())
    return usage("give either MODEL or --synthesize CONFIG");
  if (tools::ModelOptions::isOnnx(modelOptions.input))
    return usage("MODEL is an ONNX file; expected a checkpoint folder");
  if (llvm::Error error = modelOptions.checkInput(modelOptions.input))
    return usage(llvm::toString(std::move(error)));
  if (prompt.getNumOccurrences() && idsText.getNumOccurrences())
    return usage("give --prompt or --ids, not both");
  if (randomIds < 1 || singles < 0)
    return usage("--random-ids must be at least 1, --single-steps at least 0");
  if (!(tolerance >= 0))
    return usage("--tolerance must not be negative");
  if (saveAll && saveFolder.empty())
    return usage("--save-all needs --save FOLDER");
  if (rt::Status s = rt::checkDeviceName(
          deviceName.empty() ? "cpu" : deviceName.getValue());
      !s)
    return usage("--device: " + s.getMessage());
  llvm::Expected<CompileOptions> options = modelOptions.getCompileOptions();
  if (!options)
    return usage(llvm::toString(options.takeError()));
  if (!planPath.empty() && modelOptions.target.getNumOccurrences() == 0)
    if (rt::Status s = takeTarget(planPath, *options); !s)
      return fail(s);

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // A message is about the model; the whole module behind it would hide it.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  tools::MessageHandler messages(toolName, sources, &context);

  std::optional<ImportedModel> model =
      modelOptions.import(toolName, modelOptions.input);
  if (!model)
    return tools::exitDiagnosed;
  OwningOpRef<ModuleOp> module = modelOptions.build(context, *model, *options);
  if (!module)
    return tools::exitDiagnosed;

  std::vector<PhaseModule> phases;
  PhaseRun phaseRun;
  size_t fuse = *findPhase("fuse");
  phaseRun.afterPhase = [&](const Phase &phase, ModuleOp result) {
    if (phases.size() <= fuse)
      phases.push_back({phase.name.str(), result.clone()});
  };
  phaseRun.reproducer = std::string(toolName) + ".reproducer.mlir";
  llvm::sys::fs::remove(phaseRun.reproducer); // Of an earlier run.
  std::string path = planPath;
  llvm::FileRemover remover;
  bool isCompiled;
  if (path.empty()) {
    SmallString<128> temporary;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile(toolName, "weft", temporary))
      return tools::reportDiagnosed(toolName, "cannot make a temporary file: " +
                                                  error.message());
    remover.setFile(temporary);
    llvm::sys::RemoveFileOnSignal(temporary);
    path = temporary.str();
    ArtifactOptions artifact;
    artifact.path = path;
    artifact.keepIr = false;
    artifact.tokenizerFiles = model->tokenizerFiles;
    isCompiled = succeeded(compileToArtifact(*module, *model->source, *options,
                                             phaseRun, artifact));
  } else {
    phaseRun.last = fuse;
    isCompiled = succeeded(runPhases(*module, *options, phaseRun));
  }
  if (!isCompiled)
    return tools::reportFailedCompilation(toolName, phaseRun);
  rt::Result<std::shared_ptr<rt::Program>> program = loadPlan(path);
  if (!program)
    return fail(program.getStatus());
  rt::Result<Report> report = makeReport(*model, phases, program.take());
  if (!report)
    return fail(report.getStatus());
  std::string text;
  if (json) {
    llvm::raw_string_ostream stream(text);
    report->printJson(stream);
  } else {
    std::ostringstream stream;
    report->print(stream);
    text = stream.str();
  }
  if (rt::Status s = tools::writeText("-", text); !s)
    return fail(s);
  return report->isSame() ? tools::exitOk : tools::exitDiagnosed;
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
