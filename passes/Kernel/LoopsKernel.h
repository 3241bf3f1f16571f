//===- LoopsKernel.h - Kernels of linalg.generic ----------------*- C++ -*-===//
//
// A dispatch whose body has a linalg.generic has one of these: the kernel class
// of everything that is no model operation. Memory as it sees it: every tensor
// is flat, its elements in row-major order.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_LOOPSKERNEL_H
#define WEFT_PASSES_KERNEL_LOOPSKERNEL_H

#include "passes/Kernel/KernelBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace weft::kernel {

using Shape = llvm::SmallVector<Polynomial>;

/// The operation that a dispatch computes by loops; null if it is of another
/// class.
mlir::linalg::GenericOp getLoops(DispatchOp dispatch);

/// The entry's symbols that sizes in the kernel depend on, which are the
/// program's symbols, in order.
llvm::SmallVector<std::string> getLoopSymbols(DispatchOp dispatch);

/// Extents of the grid with the elements that an item takes of each.
llvm::SmallVector<std::pair<Polynomial, int64_t>>
getLoopGrid(DispatchOp dispatch);

/// FLOPs, and the bytes of all inputs and results.
std::pair<Polynomial, Polynomial> getLoopCost(DispatchOp dispatch);

mlir::LogicalResult buildLoopsKernel(KernelBuilder &k);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_LOOPSKERNEL_H
