//===- PlanDialect.cpp - The command-level dialect ------------------------===//

#include "dialects/Plan/PlanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Plan/PlanTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttrs.cpp.inc"
      >();
}

LogicalResult ParamOp::verify() {
  if (getSources().has_value() == getValue().has_value())
    return emitOpError("has either sources or a value");
  return success();
}

LogicalResult BufferOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || static_cast<size_t>(type.getRank()) != getSizes().size())
    return emitOpError("needs a ranked tensor type and one size per dimension");
  for (Attribute size : getSizes())
    if (!Polynomial::parse(cast<StringAttr>(size).getValue()))
      return emitOpError() << size << " is not a polynomial";
  bool refers =
      getKind() == BufferKind::State || getKind() == BufferKind::Param;
  if (refers != getRef().has_value())
    return emitOpError("refers to a symbol exactly when it is a state or a "
                       "param");
  if (getOffset() && getKind() != BufferKind::Temp)
    return emitOpError("only temporaries have an offset");
  return success();
}

Polynomial BufferOp::getByteSize() {
  auto type = cast<RankedTensorType>(getType());
  Polynomial bytes((type.getElementTypeBitWidth() + 7) / 8);
  for (Attribute size : getSizes())
    bytes = bytes * *Polynomial::parse(cast<StringAttr>(size).getValue());
  return bytes;
}
