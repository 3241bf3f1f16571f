//===- Passes.td - Passes of the kernel phase --------------*- tablegen -*-===//

#ifndef WEFT_PASSES_KERNEL_PASSES_TD
#define WEFT_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTileToVector : Pass<"weft-lower-tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "write each tile kernel as vector code of its CPU level";
  let description = [{
    For each `tile.kernel` a `builtin.module` named `<program>.<level>` appears
    behind the program, with the attributes `tile.program`, `tile.level` and
    `tile.function` and one function of the kernel ABI (docs/architecture.md)
    that loops over a range of work items. Tiles become rows of vectors of one
    register's width, memory becomes pointers and loads, `tile.mma` becomes
    register tiles with a loop over k. The programs stay.

    Stands after schedules are chosen. What a kernel may not hold is a located
    error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandKernelMath : Pass<"weft-expand-kernel-math", "::mlir::ModuleOp"> {
  let summary = "write functions of the math dialect as arithmetic";
  let description = [{
    Runs on the modules that `weft-lower-tile-to-vector` makes (those with
    `tile.level`), so that no call to a mathematical library is left: exp, log,
    tanh, erf, sin and cos become polynomials, others expressions of these,
    `math.rsqrt` a division by the square root. On levels without FMA,
    `math.fma` becomes a multiplication and an addition.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // WEFT_PASSES_KERNEL_PASSES_TD
