//===- WeftDialect.cpp - The model-level dialect --------------------------===//

#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

#include "dialects/Weft/WeftAttrInterfaces.cpp.inc"
#include "dialects/Weft/WeftDialect.cpp.inc"
#include "dialects/Weft/WeftEnums.cpp.inc"
#include "dialects/Weft/WeftInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Weft/WeftAttrs.cpp.inc"

void WeftDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Weft/WeftOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Weft/WeftAttrs.cpp.inc"
      >();
}

LogicalResult
QuantizationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         StringRef scales, StringAttr, int64_t bits,
                         int64_t block, int64_t columns) {
  if (scales.empty())
    return emitError() << "quantized rows need the tensor name of scales";
  if (bits != 2 && bits != 4 && bits != 8)
    return emitError() << "found elements of " << bits
                       << " bits, expected 2, 4 or 8";
  if (block < 1 || columns < 1)
    return emitError() << "found " << columns << " columns in blocks of "
                       << block << ", expected positive numbers";
  return success();
}

LogicalResult SourceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, int64_t start, int64_t block,
                                 int64_t stride, int64_t count, bool transposed,
                                 int64_t pairs, QuantizationAttr quantization) {
  if (name.empty())
    return emitError() << "a source needs a tensor name";
  if (count < 0 || start < 0)
    return emitError() << "source '" << name
                       << "': start and count must not be negative";
  if (count > 0 && (block <= 0 || (count > 1 && stride < block)))
    return emitError() << "source '" << name << "': blocks of " << block
                       << " rows every " << stride
                       << " rows are empty or overlap";
  if (pairs < 0 || (pairs > 0 && (count == 0 || 2 * pairs > block)))
    return emitError() << "source '" << name << "': " << pairs
                       << " pairs do not fit into blocks of " << block
                       << " rows";
  if (transposed && quantization)
    return emitError() << "source '" << name
                       << "': quantized rows are not read transposed";
  return success();
}
