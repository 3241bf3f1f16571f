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

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> emitError,
                              Type element, Space) {
  if (element.isF32() || element.isF16() || element.isBF16() ||
      element.isF64() || element.isSignlessInteger(8) ||
      element.isSignlessInteger(32) || element.isSignlessInteger(64))
    return success();
  return emitError() << "points to " << element
                     << "; expected f32, f16, bf16, f64, i8, i32 or i64";
}

LogicalResult CudaDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != "cuda.unroll")
    return op->emitOpError("has the unknown attribute ")
           << attribute.getName() << "; the dialect has cuda.unroll only";
  auto factor = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!isa<scf::ForOp>(op) ||
      !(isa<UnitAttr>(attribute.getValue()) ||
        (factor && factor.getValue().isStrictlyPositive())))
    return op->emitOpError("has a cuda.unroll that is not a unit attribute or "
                           "a positive integer on scf.for");
  return success();
}

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
