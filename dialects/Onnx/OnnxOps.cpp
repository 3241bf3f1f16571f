//===- OnnxOps.cpp - Operators as operations ------------------------------===//

#include "dialects/Onnx/InferTypes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::onnx;

//===----------------------------------------------------------------------===//
// Assembly: (%x, none, %y) {attributes} : (types, none) -> types
//===----------------------------------------------------------------------===//

static constexpr StringLiteral segmentsName = "operandSegmentSizes";
static constexpr StringLiteral absent = "none";

/// How many values each operand of the definition has.
template <typename Op> static SmallVector<unsigned> getOperandSizes(Op op) {
  SmallVector<unsigned> sizes;
  for (unsigned i = 0; i < Op::getInputKinds().size(); ++i)
    sizes.push_back(op.getODSOperandIndexAndLength(i).second);
  return sizes;
}

static void printOperator(OpAsmPrinter &printer, Operation *op,
                          ArrayRef<unsigned> sizes) {
  auto forEach = [&](function_ref<void(Value)> print) {
    unsigned next = 0;
    bool isFirst = true;
    for (unsigned size : sizes)
      for (unsigned i = 0; i < std::max(size, 1u); ++i) {
        if (!isFirst)
          printer << ", ";
        isFirst = false;
        print(size ? op->getOperand(next++) : Value());
      }
  };
  printer << "(";
  forEach([&](Value value) {
    if (value)
      printer << value;
    else
      printer << absent;
  });
  printer << ")";
  printer.printOptionalAttrDict(op->getAttrs(), {segmentsName});
  printer << " : (";
  forEach([&](Value value) {
    if (value)
      printer << value.getType();
    else
      printer << absent;
  });
  printer << ")";
  printer.printArrowTypeList(op->getResultTypes());
}

static ParseResult parseOperator(OpAsmParser &parser, OperationState &result,
                                 StringRef kinds) {
  using Operand = OpAsmParser::UnresolvedOperand;
  SmallVector<std::optional<Operand>> operands;
  auto parseOperand = [&]() -> ParseResult {
    operands.emplace_back();
    if (succeeded(parser.parseOptionalKeyword(absent)))
      return success();
    return parser.parseOperand(operands.back().emplace());
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseOperand) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon())
    return failure();
  size_t next = 0;
  auto parseOperandType = [&]() -> ParseResult {
    if (next == operands.size())
      return parser.emitError(parser.getCurrentLocation(),
                              "found more types than operands");
    const std::optional<Operand> &operand = operands[next++];
    if (!operand)
      return parser.parseKeyword(absent);
    Type type;
    return failure(parser.parseType(type) ||
                   parser.resolveOperand(*operand, type, result.operands));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseOperandType) ||
      parser.parseArrowTypeList(result.types))
    return failure();
  if (next != operands.size())
    return parser.emitError(loc, "found less types than operands");
  if (kinds != "*" && operands.size() != kinds.size())
    return parser.emitError(loc)
           << "found " << operands.size() << " operands, expected "
           << kinds.size() << ", absent ones written 'none'";
  if (llvm::count(kinds, '?') > 1) {
    SmallVector<int32_t> sizes;
    for (const std::optional<Operand> &operand : operands)
      sizes.push_back(operand.has_value());
    result.addAttribute(segmentsName,
                        parser.getBuilder().getDenseI32ArrayAttr(sizes));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void OnnxDialect::registerOperations() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"
