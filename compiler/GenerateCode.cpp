//===- GenerateCode.cpp - From tile programs to machine code --------------===//

#include "compiler/GenerateCode.h"

#include "compiler/Target/Cpu/CompileKernels.h"
#include "compiler/Target/Cuda/DumpKernels.h"
#include "compiler/Target/Cuda/EmitSource.h"
#include "passes/Kernel/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

llvm::Expected<CodeGenerator>
CodeGenerator::create(const CompileOptions &options) {
  CodeGenerator generator(options);
  if (!options.target.isCuda() || options.cuda.sourceOnly)
    return generator;
  auto nvrtc = rt::Nvrtc::load(options.cuda.cudaPath);
  if (!nvrtc)
    return llvm::createStringError(nvrtc.getStatus().getMessage());
  generator.nvrtc = nvrtc.take();
  return generator;
}

FailureOr<std::vector<ProgramCode>> CodeGenerator::run(ModuleOp module) {
  return options.target.isCuda() ? runCuda(module) : runCpu(module);
}

FailureOr<std::vector<ProgramCode>> CodeGenerator::runCpu(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(kernel::createLowerTileToVector());
  if (failed(manager.run(*copy)))
    return failure();
  FailureOr<std::vector<CompiledKernel>> kernels = compileKernels(*copy);
  if (failed(kernels))
    return failure();
  std::vector<ProgramCode> code;
  for (CompiledKernel &kernel : *kernels) {
    ProgramCode &made = code.emplace_back();
    made.program = std::move(kernel.program);
    made.code.kind = rt::Code::Kind::Elf;
    made.code.target = std::move(kernel.level);
    made.code.features = std::move(kernel.features);
    made.code.symbol = std::move(kernel.symbol);
    made.code.bytes = std::move(kernel.object);
  }
  return code;
}

/// The programs as CUDA C++, for every architecture.
static FailureOr<std::vector<CudaKernel>> writeCudaKernels(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(kernel::createPipelineFolds());
  manager.addPass(kernel::createVerifyChannels());
  manager.addPass(kernel::createLowerTileToCuda());
  OpPassManager &kernels = manager.nest<ModuleOp>();
  kernels.addPass(kernel::createExpandKernelMath());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  if (failed(manager.run(*copy)))
    return failure();
  return emitCudaKernels(*copy);
}

FailureOr<std::vector<ProgramCode>> CodeGenerator::runCuda(ModuleOp module) {
  FailureOr<std::vector<CudaKernel>> kernels = writeCudaKernels(module);
  if (failed(kernels))
    return failure();
  std::vector<std::string> flags;
  for (llvm::StringRef flag : cudaCompileFlags())
    flags.push_back(flag.str());
  std::vector<ProgramCode> code;
  if (options.cuda.sourceOnly) {
    for (const CudaKernel &kernel : *kernels) {
      const CudaCandidate &candidate = kernel.candidates.front();
      code.push_back({kernel.program, makeSourceCode(kernel, candidate, flags),
                      candidate.schedule});
    }
    return code;
  }
  CudaCompileOptions compileOptions;
  compileOptions.nvrtc = nvrtc;
  compileOptions.cacheFolder = options.cuda.cacheFolder;
  compileOptions.allowSpills = options.cuda.allowSpills;
  compileOptions.nvrtcOptions.lineInfo = options.cuda.lineInfo;
  compileOptions.nvrtcOptions.extra = std::move(flags);
  compileOptions.nvrtcOptions.keepPtx = !options.cuda.dumpFolder.empty();
  auto compiled = compileCudaKernels(*kernels, compileOptions);
  if (!compiled)
    return emitError(module.getLoc(), llvm::toString(compiled.takeError()));
  cudaKernels = std::move(*compiled);
  for (const CompiledCudaKernel &kernel : cudaKernels) {
    for (const std::string &note : kernel.notes)
      remark::missed(
          module.getLoc(),
          remark::RemarkOpts::name("compile-cuda-kernels").category("kernel"))
          << "kernel '" + kernel.program + "' for " + kernel.arch + ": " + note;
    code.push_back({kernel.program, kernel.cubin, kernel.schedule});
    code.push_back({kernel.program, kernel.source});
  }
  return code;
}

LogicalResult CodeGenerator::dump(ModuleOp module, const rt::Plan &plan) const {
  if (options.cuda.dumpFolder.empty() || !nvrtc)
    return success();
  if (llvm::Error error = dumpKernels(plan, cudaKernels, nvrtc->getVersion(),
                                      options.cuda.dumpFolder))
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  return success();
}
