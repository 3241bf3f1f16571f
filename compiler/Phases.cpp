//===- Phases.cpp - The phases of compilation -----------------------------===//

#include "compiler/Phases.h"

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"
#include "passes/Graph/Passes.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/Passes.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static void buildInput(OpPassManager &, const CompileOptions &) {}

/// The importer of checkpoints builds recomposed, specialised operations; in
/// what came in as operators of ONNX they are recognised, and the rest becomes
/// loops. What is left is to remove what is unused or equal.
static void buildGraph(OpPassManager &manager, const CompileOptions &options) {
  if (options.fuse) {
    manager.addPass(graph::createSimplifyOnnx());
    manager.addPass(graph::createRecomposeActivations());
    manager.addPass(graph::createRecomposeNorms());
    manager.addPass(graph::createRecomposeRope());
    manager.addPass(graph::createRecomposeAttention());
    graph::RecomposeDecoderOptions decoder;
    decoder.samples = options.samplesInPlan();
    // Loops are for CPUs.
    decoder.stepOnly = options.target.isCuda();
    manager.addPass(graph::createRecomposeDecoder(decoder));
  }
  manager.addPass(graph::createDecomposeOnnx());
  graph::LowerOnnxOptions lowering;
  lowering.loopsOnly = !options.fuse;
  manager.addPass(graph::createLowerOnnx(lowering));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

static void buildShard(OpPassManager &, const CompileOptions &) {}

/// Whether linear layers of a few rows become kernels that read each weight
/// once, whatever architecture of the target they run on.
static bool streamsWeights(const Target &target) {
  return target.isCuda() &&
         llvm::all_of(target.cudaArchs, [](const std::string &name) {
           const CudaArch *arch = findCudaArch(name);
           return arch && (arch->hasBulkCopy || arch->hasCpAsync);
         });
}

static void buildFuse(OpPassManager &manager, const CompileOptions &options) {
  // Merging changes the matrices, packing their layout; dispatches are formed
  // around both.
  bool isStreamed = options.fuse && streamsWeights(options.target);
  if (isStreamed)
    manager.addPass(fuse::createInterleaveRope());
  if (options.fuse)
    manager.addPass(fuse::createMergeParallelLinears());
  fuse::PackWeightsOptions packing;
  packing.coreMatrices = options.target.isCuda();
  manager.addPass(fuse::createPackWeights(packing));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  fuse::FormDispatchesOptions dispatches;
  dispatches.fuse = options.fuse;
  manager.addPass(fuse::createFormDispatches(dispatches));
  if (isStreamed) {
    manager.addPass(fuse::createFuseNorms());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(fuse::createFuseRope());
  }
  // Removes the reshapes that dispatches have taken over.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

static void buildKernel(OpPassManager &manager, const CompileOptions &options) {
  kernel::ChooseSchedulesOptions schedules;
  schedules.levels.assign(options.target.getLevels().begin(),
                          options.target.getLevels().end());
  manager.addPass(kernel::createChooseSchedules(schedules));
  manager.addPass(kernel::createAssignLayouts());
  kernel::ChooseStreamSchedulesOptions streams;
  streams.batchInvariant = options.batchInvariant;
  manager.addPass(kernel::createChooseStreamSchedules(streams));
  kernel::ChooseFlashSchedulesOptions flash;
  flash.batchInvariant = options.batchInvariant;
  manager.addPass(kernel::createChooseFlashSchedules(flash));
  manager.addPass(kernel::createBuildTilePrograms());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

static void buildPlan(OpPassManager &manager, const CompileOptions &) {
  manager.addPass(plan::createBuildPlan());
  manager.addPass(plan::createPlanMemory());
}

//===----------------------------------------------------------------------===//
// Contracts
//===----------------------------------------------------------------------===//

/// Calls `isLegal` for every operation in the bodies of entry points; reports
/// every operation for which it is false.
static LogicalResult verifyEntries(ModuleOp module, StringRef phase,
                                   function_ref<bool(Operation *)> isLegal) {
  bool legal = true;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getOps()) {
      if (isLegal(&op) || isa<func::ReturnOp>(op))
        continue;
      op.emitOpError() << "may not be left in an entry point after the "
                       << phase << " phase";
      legal = false;
    }
  return success(legal);
}

/// Reports every operation of the module or of an entry point that only a later
/// phase makes.
static LogicalResult verifyNotLater(ModuleOp module,
                                    function_ref<bool(Operation *)> isLater) {
  bool legal = true;
  auto check = [&](Operation &op) {
    if (!isLater(&op))
      return;
    op.emitOpError("is made by a later phase");
    legal = false;
  };
  for (Operation &op : *module.getBody()) {
    check(op);
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (Operation &inside : function.getOps())
        check(inside);
  }
  return success(legal);
}

/// Entry points of tensors whose dimensions all trace to named symbols.
static LogicalResult verifyEntryPoints(ModuleOp module) {
  bool legal = true;
  for (auto function : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type) {
        function.emitError() << "argument " << argument.getArgNumber()
                             << " is not a ranked tensor";
        legal = false;
        continue;
      }
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (getDimSize(argument, dim) == Polynomial::symbol("?")) {
          function.emitError()
              << "dimension " << dim << " of argument "
              << argument.getArgNumber() << " is dynamic but has no name in "
              << WeftDialect::getSymbolsAttrName();
          legal = false;
        }
    }
  }
  return success(legal);
}

static LogicalResult verifyModel(ModuleOp module) {
  if (failed(verifyNotLater(module, [](Operation *op) {
        return isa<DispatchOp>(op) ||
               isa_and_nonnull<tile::TileDialect, plan::PlanDialect>(
                   op->getDialect());
      })))
    return failure();
  return verifyEntryPoints(module);
}

static LogicalResult verifyFuse(ModuleOp module) {
  if (failed(verifyNotLater(
          module,
          [](Operation *op) {
            return isa_and_nonnull<tile::TileDialect, plan::PlanDialect>(
                op->getDialect());
          })) ||
      failed(verifyEntryPoints(module)))
    return failure();
  return verifyEntries(module, "fuse", [](Operation *op) {
    return isa<WeightOp, DispatchOp>(op) ||
           op->hasTrait<OpTrait::ConstantLike>();
  });
}

static LogicalResult verifyKernel(ModuleOp module) {
  if (failed(verifyNotLater(module,
                            [](Operation *op) {
                              return isa_and_nonnull<plan::PlanDialect>(
                                  op->getDialect());
                            })) ||
      failed(verifyEntryPoints(module)))
    return failure();
  return verifyEntries(module, "kernel", [](Operation *op) {
    return isa<WeightOp, tile::LaunchOp>(op) ||
           op->hasTrait<OpTrait::ConstantLike>();
  });
}

static LogicalResult verifyPlan(ModuleOp module) {
  bool legal = true;
  for (Operation &op : *module.getBody()) {
    if (isa<plan::ParamOp, plan::StateOp, plan::EntryOp, tile::ProgramOp>(op))
      continue;
    op.emitOpError("may not be left after the plan phase");
    legal = false;
  }
  for (auto entry : module.getOps<plan::EntryOp>()) {
    if (!entry.getWorkspace()) {
      entry.emitOpError("has no planned workspace");
      legal = false;
    }
    for (auto buffer : entry.getBody().front().getOps<plan::BufferOp>())
      if (buffer.getKind() == plan::BufferKind::Temp && !buffer.getOffset()) {
        buffer.emitOpError("has no place in the workspace");
        legal = false;
      }
  }
  return success(legal);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Phase> weft::getPhases() {
  static const Phase phases[] = {
      {"input", "the model as it was imported", buildInput, verifyModel},
      {"graph", "simplifies model operations", buildGraph, verifyModel},
      {"shard", "distributes the model over devices", buildShard, verifyModel},
      {"fuse", "groups operations into kernels to be", buildFuse, verifyFuse},
      {"kernel", "chooses schedules and writes tile programs", buildKernel,
       verifyKernel},
      {"plan", "makes command lists and places buffers", buildPlan, verifyPlan},
  };
  return phases;
}

std::optional<size_t> weft::findPhase(llvm::StringRef name) {
  for (auto [index, phase] : llvm::enumerate(getPhases()))
    if (phase.name == name)
      return index;
  return std::nullopt;
}

static LogicalResult dump(ModuleOp module, const std::string &folder,
                          size_t index, const Phase &phase) {
  std::string path =
      folder + "/" + std::to_string(index) + "." + phase.name.str() + ".mlir";
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return module.emitError() << "cannot write " << path << ": " << message;
  printPhase(module, file->os());
  file->keep();
  return success();
}

void weft::printPhase(ModuleOp module, llvm::raw_ostream &stream) {
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  stream << "\n";
}

/// The names of the phases whose contract the module meets: "input, graph".
static std::string listFittingPhases(ModuleOp module) {
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  std::string names;
  for (const Phase &phase : getPhases())
    if (succeeded(phase.verify(module)))
      names += (names.empty() ? "" : ", ") + phase.name.str();
  return names;
}

/// Verifies the contract of a phase whose result a module is said to be. IR of
/// another phase breaks it everywhere, which is one mistake.
static LogicalResult verifyStart(ModuleOp module, const Phase &phase) {
  std::string first;
  {
    ScopedDiagnosticHandler handler(module.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      if (first.empty())
                                        first = diagnostic.str();
                                      return success();
                                    });
    if (succeeded(phase.verify(module)))
      return success();
  }
  const std::string fitting = listFittingPhases(module);
  if (fitting.empty())
    return phase.verify(module);
  return emitError(UnknownLoc::get(module.getContext()))
         << "this is not IR that the phase " << phase.name << " leaves ("
         << first << "); it is like that of: " << fitting;
}

LogicalResult weft::runPhases(ModuleOp module, const CompileOptions &options,
                              const PhaseRun &run) {
  if (run.first > 0 && failed(verifyStart(module, getPhases()[run.first - 1])))
    return failure();
  DefaultTimingManager timing;
  timing.setEnabled(run.timing);
  TimingScope total = timing.getRootScope();
  for (auto [index, phase] : llvm::enumerate(getPhases())) {
    if (index < run.first || index > run.last)
      continue;
    TimingScope scope = total.nest(phase.name);
    PassManager manager(module.getContext());
    if (!run.reproducer.empty())
      manager.enableCrashReproducerGeneration(run.reproducer);
    if (run.timing)
      manager.enableTiming(scope);
    phase.build(manager, options);
    if (failed(manager.run(module)) || failed(phase.verify(module)))
      return failure();
    if (!run.dumpFolder.empty() &&
        failed(dump(module, run.dumpFolder, index, phase)))
      return failure();
    if (run.afterPhase)
      run.afterPhase(phase, module);
  }
  return success();
}

void weft::registerPhasePipelines() {
  struct Options : public PassPipelineOptions<Options> {
    ListOption<std::string> levels{
        *this, "levels", llvm::cl::desc("CPU levels, baseline first")};
    Option<bool> fuse{*this, "fuse",
                      llvm::cl::desc("Put several operations into a kernel"),
                      llvm::cl::init(true)};

    CompileOptions get() const {
      CompileOptions options;
      std::vector<std::string> &chosen = options.target.cpuLevels;
      chosen.assign(levels.begin(), levels.end());
      if (chosen.empty())
        chosen.push_back(getCpuLevels().front().name.str());
      options.fuse = fuse;
      return options;
    }
  };
  for (const Phase &phase : getPhases()) {
    std::string name = ("weft-phase-" + phase.name).str();
    PassPipelineRegistration<Options>(
        name, phase.summary,
        [build = phase.build](OpPassManager &manager, const Options &options) {
          build(manager, options.get());
        });
  }
  PassPipelineRegistration<Options>(
      "weft-phases", "all phases of compilation",
      [](OpPassManager &manager, const Options &options) {
        for (const Phase &phase : getPhases())
          phase.build(manager, options.get());
      });
}
