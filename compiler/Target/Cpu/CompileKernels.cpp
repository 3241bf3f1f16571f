//===- CompileKernels.cpp - Kernel modules to object code -----------------===//

#include "compiler/Target/Cpu/CompileKernels.h"
#include "compiler/Target/Cpu/EmitObject.h"
#include "compiler/Target/Cpu/LowerToLlvm.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/Passes.h"

#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace mlir;
using namespace weft;

static LogicalResult compileKernel(ModuleOp module, const CpuOptions &options,
                                   CompiledKernel &kernel) {
  const CpuLevel *level = findCpuLevel(kernel.level);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, kernel.program);
  if (!llvmModule)
    return module.emitError("cannot translate kernel '")
           << kernel.program << "' to LLVM IR";
  auto bytes = emitObject(*llvmModule, *level, options.emitAssembly);
  if (!bytes)
    return module.emitError("cannot emit kernel '")
           << kernel.program << "': " << llvm::toString(bytes.takeError());
  kernel.object = std::move(*bytes);
  if (options.emitAssembly)
    return success();
  auto undefined = findUndefinedSymbols(kernel.object);
  if (!undefined)
    return module.emitError("cannot read the object of kernel '")
           << kernel.program << "': " << llvm::toString(undefined.takeError());
  for (const std::string &name : *undefined)
    if (!llvm::is_contained({"memcpy", "memset", "memmove"}, name))
      return module.emitError("kernel '")
             << kernel.program << "' at level '" << kernel.level << "' calls '"
             << name
             << "', which the runtime does not provide; an operation of the "
                "kernel has no lowering at this level";
  return success();
}

FailureOr<std::vector<CompiledKernel>>
weft::compileKernels(ModuleOp module, const CpuOptions &options) {
  MLIRContext *context = module.getContext();
  initializeX86Target();
  prepareLlvmLowering(context);

  // A copy of the kernel modules, lowered together so that the pass manager
  // spreads them over the context's threads.
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  std::vector<CompiledKernel> kernels;
  SmallVector<ModuleOp> modules;
  OpBuilder builder(copy->getBodyRegion());
  for (auto nested : module.getOps<ModuleOp>()) {
    auto name = nested->getAttrOfType<StringAttr>("tile.level");
    if (!name)
      continue;
    auto program = nested->getAttrOfType<StringAttr>("tile.program");
    auto function = nested->getAttrOfType<StringAttr>("tile.function");
    const CpuLevel *level = findCpuLevel(name);
    if (!level || !program || !function)
      return nested.emitError("a kernel module needs 'tile.program', "
                              "'tile.function' and a known 'tile.level' (")
             << listCpuLevels() << ")";
    CompiledKernel &kernel = kernels.emplace_back();
    kernel.program = program.str();
    kernel.level = name.str();
    kernel.symbol = function.str();
    for (StringRef feature : level->required)
      kernel.features.push_back(feature.str());
    modules.push_back(cast<ModuleOp>(builder.clone(*nested)));
  }
  PassManager pipeline(context, ModuleOp::getOperationName());
  OpPassManager &nested = pipeline.nest<ModuleOp>();
  nested.addPass(kernel::createExpandKernelMath());
  nested.addPass(createLowerToLlvmPass());
  if (failed(pipeline.run(*copy)))
    return failure();
  if (failed(
          failableParallelForEachN(context, 0, modules.size(), [&](size_t i) {
            return compileKernel(modules[i], options, kernels[i]);
          })))
    return failure();
  return kernels;
}
