//===- LowerTileToCuda.cpp - Tile kernels to code of a thread -------------===//

#include "passes/Kernel/LowerTileToCuda.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/Passes.h"

namespace weft::kernel {
#define GEN_PASS_DEF_LOWERTILETOCUDA
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Makes the module of one kernel at the builder's insertion point.
static LogicalResult lowerKernel(ImplicitLocOpBuilder &b, KernelOp kernel) {
  const CudaArch *arch = findCudaArch(kernel.getLevel());
  if (!arch && findCpuLevel(kernel.getLevel()))
    return success();
  if (!arch)
    return kernel.emitError("unknown GPU architecture '")
           << kernel.getLevel() << "'; expected one of " << listCudaArchs();
  ProgramOp program = kernel.getProgram();
  b.setLoc(kernel.getLoc());
  // Kernels of alternative schedules have the same architecture.
  std::string name = (program.getSymName() + "." + arch->name).str();
  for (unsigned count = 1;
       SymbolTable::lookupSymbolIn(program->getParentOp(), name); ++count)
    name = (program.getSymName() + "." + arch->name + "_" + Twine(count)).str();
  auto module = ModuleOp::create(b, StringRef(name));
  module->setAttr("tile.program", program.getSymNameAttr());
  module->setAttr("tile.level", b.getStringAttr(arch->name));
  if (StringAttr description = program.getDescriptionAttr())
    module->setAttr("tile.description", description);
  if (ScheduleInterface schedule = kernel.getScheduleAttr())
    module->setAttr("tile.schedule", schedule);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return CudaTileEmitter(b, kernel, *arch).emitKernel(program.getSymName());
}

namespace {
struct LowerTileToCuda
    : public kernel::impl::LowerTileToCudaBase<LowerTileToCuda> {
  void runOnOperation() override {
    if (failed(lowerKernels(getOperation(), lowerKernel)))
      signalPassFailure();
  }
};
} // namespace
