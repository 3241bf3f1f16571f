//===- CudaDialect.h - The dialect of CUDA kernels --------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_CUDA_CUDADIALECT_H
#define WEFT_DIALECTS_CUDA_CUDADIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "dialects/Cuda/CudaDialect.h.inc"
#include "dialects/Cuda/CudaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Cuda/CudaAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Cuda/CudaTypes.h.inc"

namespace weft::cuda {

/// The number of an architecture: 90 of "sm_90a"; none if it is no such name.
std::optional<int64_t> getArchNumber(llvm::StringRef arch);

/// Fails if the kernel around `op` is for an architecture before sm_`least`.
llvm::LogicalResult verifyArch(mlir::Operation *op, int64_t least);

/// Trait of operations that architectures before sm_`Least` do not have.
template <int64_t Least> struct NeedsArch {
  template <typename ConcreteOp>
  class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
  public:
    static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
      return verifyArch(op, Least);
    }
  };
};

} // namespace weft::cuda

#define GET_OP_CLASSES
#include "dialects/Cuda/CudaOps.h.inc"

#endif // WEFT_DIALECTS_CUDA_CUDADIALECT_H
