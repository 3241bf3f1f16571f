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

#include "dialects/Cuda/CudaDialect.h.inc"
#include "dialects/Cuda/CudaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Cuda/CudaAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Cuda/CudaTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Cuda/CudaOps.h.inc"

#endif // WEFT_DIALECTS_CUDA_CUDADIALECT_H
