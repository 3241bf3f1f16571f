//===- PlanDialect.cpp - The command-level dialect ------------------------===//

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Tile/TileDialect.h"

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

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Reports a text that is not a polynomial; `what` says whose it is.
static LogicalResult verifyPolynomial(Operation *op, StringRef what,
                                      StringRef text) {
  if (Polynomial::parse(text))
    return success();
  return op->emitOpError() << what << " \"" << text << "\" is not a polynomial";
}

static LogicalResult verifyPolynomials(Operation *op, StringRef what,
                                       ArrayAttr texts) {
  for (StringRef text : texts.getAsValueRange<StringAttr>())
    if (failed(verifyPolynomial(op, what, text)))
      return failure();
  return success();
}

/// What memory can hold: numbers in a tensor of known rank.
static FailureOr<RankedTensorType> verifyTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return op->emitOpError("needs a ranked tensor of numbers, found ") << type;
  return tensor;
}

LogicalResult ParamOp::verify() {
  FailureOr<RankedTensorType> type = verifyTensor(*this, getType());
  if (failed(type))
    return failure();
  if (!type->hasStaticShape())
    return emitOpError("needs a static shape, found ") << *type;
  if (getSources().has_value() == getValue().has_value())
    return emitOpError("has either sources or a value");
  return success();
}

LogicalResult StateOp::verify() {
  FailureOr<RankedTensorType> type = verifyTensor(*this, getType());
  if (failed(type))
    return failure();
  if (static_cast<size_t>(type->getNumDynamicDims()) != getSymbols().size())
    return emitOpError() << "needs a symbol for each of "
                         << type->getNumDynamicDims()
                         << " dynamic dimensions, found "
                         << getSymbols().size();
  return success();
}

LogicalResult EntryOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, LaunchOp>(op))
      return emitOpError("holds buffers and launches only, found ")
             << op.getName();
  if (getWorkspace() &&
      failed(verifyPolynomial(*this, "workspace", *getWorkspace())))
    return failure();
  if (getLowerBound())
    return verifyPolynomials(*this, "lower bound", *getLowerBound());
  return success();
}

LogicalResult BufferOp::verify() {
  FailureOr<RankedTensorType> type = verifyTensor(*this, getType());
  if (failed(type))
    return failure();
  if (static_cast<size_t>(type->getRank()) != getSizes().size())
    return emitOpError() << "needs a size for each of " << type->getRank()
                         << " dimensions, found " << getSizes().size();
  if (failed(verifyPolynomials(*this, "size", getSizes())))
    return failure();
  bool refers =
      getKind() == BufferKind::State || getKind() == BufferKind::Param;
  if (refers != getRef().has_value())
    return emitOpError("refers to a symbol exactly when it is a state or a "
                       "param");
  if (!getOffset())
    return success();
  if (getKind() != BufferKind::Temp)
    return emitOpError("only temporaries have an offset");
  return verifyPolynomial(*this, "offset", *getOffset());
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getRef())
    return success();
  Operation *found = symbols.lookupNearestSymbolFrom(*this, getRefAttr());
  Type type;
  if (auto state = dyn_cast_or_null<StateOp>(found);
      state && getKind() == BufferKind::State)
    type = state.getType();
  else if (auto param = dyn_cast_or_null<ParamOp>(found);
           param && getKind() == BufferKind::Param)
    type = param.getType();
  else
    return emitOpError() << "refers to an unknown "
                         << stringifyBufferKind(getKind()) << " '" << *getRef()
                         << "'";
  if (type != getType())
    return emitOpError() << "has type " << getType() << ", but '" << *getRef()
                         << "' has type " << type;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto program =
      symbols.lookupNearestSymbolFrom<tile::ProgramOp>(*this, getProgramAttr());
  if (!program)
    return emitOpError() << "refers to an unknown program '" << getProgram()
                         << "'";
  if (getSymbols().size() != program.getSymbols().size())
    return emitOpError() << "needs " << program.getSymbols().size()
                         << " symbols, as its program has, found "
                         << getSymbols().size();
  if (failed(tile::verifyVariants(*this, program, getVariantsAttr(), symbols)))
    return failure();
  for (auto kernel : program.getBody().getOps<tile::KernelOp>())
    if (kernel.getBufferCount() != getBuffers().size())
      return emitOpError() << "needs " << kernel.getBufferCount()
                           << " buffers, as its program has, found "
                           << getBuffers().size();
  int64_t inputs = getInputsAttr().getInt();
  if (inputs < 0 || inputs > static_cast<int64_t>(getBuffers().size()))
    return emitOpError() << "reads " << inputs << " of " << getBuffers().size()
                         << " buffers";
  if (failed(verifyPolynomials(*this, "symbol", getSymbols())) ||
      (getFlops() && failed(verifyPolynomial(*this, "flops", *getFlops()))))
    return failure();
  return getBytes() ? verifyPolynomial(*this, "bytes", *getBytes()) : success();
}

Polynomial BufferOp::getByteSize() {
  auto type = cast<RankedTensorType>(getType());
  Polynomial bytes((type.getElementTypeBitWidth() + 7) / 8);
  for (Attribute size : getSizes())
    bytes = bytes * *Polynomial::parse(cast<StringAttr>(size).getValue());
  return bytes;
}
