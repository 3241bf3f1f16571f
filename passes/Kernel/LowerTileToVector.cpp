//===- LowerTileToVector.cpp - Tile kernels to vector code ----------------===//

#include "passes/Kernel/LowerTileToVector.h"
#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace weft::kernel {
#define GEN_PASS_DEF_LOWERTILETOVECTOR
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Makes the module of one kernel at the builder's insertion point.
static LogicalResult lowerKernel(ImplicitLocOpBuilder &b, KernelOp kernel) {
  const CpuLevel *level = findCpuLevel(kernel.getLevel());
  if (!level && findCudaArch(kernel.getLevel()))
    return success();
  if (!level)
    return kernel.emitError("unknown CPU level '")
           << kernel.getLevel() << "'; expected one of " << listCpuLevels();
  for (BlockArgument buffer : kernel.getBuffers())
    if (isa<MemoryLayoutInterface>(
            cast<MemRefType>(buffer.getType()).getLayout()))
      return kernel.emitError("has a buffer of type ")
             << buffer.getType()
             << "; kernels of a CPU read strided memory only";
  StringRef program = kernel.getProgram().getSymName();
  b.setLoc(kernel.getLoc());
  std::string name = (program + "." + level->name).str();
  auto module = ModuleOp::create(b, StringRef(name));
  module->setAttr("tile.program", b.getStringAttr(program));
  module->setAttr("tile.level", b.getStringAttr(level->name));
  module->setAttr("tile.function", b.getStringAttr(program));

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto function = func::FuncOp::create(
      b, program, b.getFunctionType({pointer, pointer, i64, i64, pointer}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  TileEmitter emitter(b, kernel, *level);
  if (failed(emitter.emitKernel(entry->getArguments())))
    return failure();
  func::ReturnOp::create(b);
  return success();
}

namespace {
struct LowerTileToVector
    : public kernel::impl::LowerTileToVectorBase<LowerTileToVector> {
  void runOnOperation() override {
    if (failed(lowerKernels(getOperation(), lowerKernel)))
      signalPassFailure();
  }
};
} // namespace
