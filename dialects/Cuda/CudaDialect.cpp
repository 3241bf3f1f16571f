//===- CudaDialect.cpp - The dialect of CUDA kernels ----------------------===//

#include "dialects/Cuda/CudaDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::cuda;

#include "dialects/Cuda/CudaDialect.cpp.inc"
#include "dialects/Cuda/CudaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Cuda/CudaAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Cuda/CudaTypes.cpp.inc"

void CudaDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Cuda/CudaOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Cuda/CudaAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Cuda/CudaTypes.cpp.inc"
      >();
}
