//===- OnnxDialect.cpp - What came in from ONNX files ---------------------===//

#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

#include "dialects/Onnx/OnnxDialect.cpp.inc"
#include "dialects/Onnx/OnnxInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.cpp.inc"

void OnnxDialect::initialize() {
  registerOperations();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Onnx/OnnxAttrs.cpp.inc"
      >();
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  size_t dynamic = llvm::count_if(shape, ShapedType::isDynamic);
  if (dynamic != getSizes().size())
    return emitError() << "found " << getSizes().size()
                       << " names of sizes, expected one for each of "
                       << dynamic << " dynamic sizes";
  for (StringAttr size : getSizes())
    if (!Polynomial::parse(size.getValue()))
      return emitError() << "found the size " << size
                         << ", expected a sum of products of symbols";
  return success();
}
