//===- TilePipelineOps.cpp - Verifiers and forms of channels and roles ----===//

#include "dialects/Tile/TileDialect.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft::tile;

LogicalResult ChannelOp::verify() {
  if (getSlots() < 1)
    return emitOpError("needs at least one slot, found ") << getSlots();
  for (MemRefType part : getType().getParts())
    if (!part.hasStaticShape())
      return emitOpError("needs parts of static shape, found ") << part;
  return success();
}

/// The first arguments of a body on a slot are the channel's parts.
static LogicalResult verifyParts(Operation *op, ChannelType channel,
                                 Block &block) {
  ArrayRef<MemRefType> parts = channel.getParts();
  bool legal = block.getNumArguments() >= parts.size();
  for (auto [part, argument] : llvm::zip(parts, block.getArguments()))
    legal &= part == argument.getType();
  if (!legal)
    return op->emitOpError("needs an argument for each part of ") << channel;
  return success();
}

void WaitDependencyOp::build(OpBuilder &, OperationState &) {}

//===----------------------------------------------------------------------===//
// ProduceOp
//===----------------------------------------------------------------------===//

/// `%channel[%piece] (%part : type, ...)`; the operands of a body on a slot.
static ParseResult parseSlot(OpAsmParser &parser, OperationState &result,
                             SmallVectorImpl<OpAsmParser::Argument> &parts) {
  OpAsmParser::UnresolvedOperand channel, piece;
  Builder &builder = parser.getBuilder();
  if (parser.parseOperand(channel) || parser.parseLSquare() ||
      parser.parseOperand(piece) || parser.parseRSquare() ||
      parser.parseArgumentList(parts, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  SmallVector<MemRefType> types;
  for (OpAsmParser::Argument &part : parts) {
    auto type = dyn_cast<MemRefType>(part.type);
    if (!type)
      return parser.emitError(part.ssaName.location,
                              "the parts of a slot are memrefs");
    types.push_back(type);
  }
  Type channelType = ChannelType::get(builder.getContext(), types);
  return failure(
      parser.resolveOperand(channel, channelType, result.operands) ||
      parser.resolveOperand(piece, builder.getIndexType(), result.operands));
}

static void printSlot(OpAsmPrinter &printer, Value channel, Value piece,
                      Block::BlockArgListType parts) {
  printer << ' ' << channel << '[' << piece << "] (";
  llvm::interleaveComma(parts, printer, [&](BlockArgument part) {
    printer.printRegionArgument(part);
  });
  printer << ')';
}

ParseResult ProduceOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ProducePart> part = symbolizeProducePart(keyword);
  if (!part)
    return parser.emitError(location, "expected all, early or late");
  result.addAttribute("part", ProducePartAttr::get(parser.getContext(), *part));
  SmallVector<OpAsmParser::Argument> parts;
  return failure(parseSlot(parser, result, parts) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), parts));
}

void ProduceOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyProducePart(getPart());
  printSlot(printer, getChannel(), getPiece(), getBody().getArguments());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"part"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ProduceOp::verify() {
  return verifyParts(*this, getChannel().getType(), getBody().front());
}

//===----------------------------------------------------------------------===//
// ConsumeOp
//===----------------------------------------------------------------------===//

Block::BlockArgListType ConsumeOp::getParts() {
  return getBlock().getArguments().take_front(
      getChannel().getType().getParts().size());
}

Block::BlockArgListType ConsumeOp::getState() {
  return getBlock().getArguments().drop_front(
      getChannel().getType().getParts().size());
}

ParseResult ConsumeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseSlot(parser, result, arguments) || parser.parseKeyword("init") ||
      parser.parseLParen())
    return failure();
  auto parseState = [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    OpAsmParser::UnresolvedOperand init;
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(init) || parser.parseColonType(argument.type) ||
        parser.resolveOperand(init, argument.type, result.operands))
      return failure();
    arguments.push_back(argument);
    result.addTypes(argument.type);
    return success();
  };
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseCommaSeparatedList(parseState) || parser.parseRParen()))
    return failure();
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void ConsumeOp::print(OpAsmPrinter &printer) {
  printSlot(printer, getChannel(), getPiece(), getParts());
  printer << " init (";
  llvm::interleaveComma(
      llvm::zip_equal(getState(), getInit()), printer, [&](auto pair) {
        auto [argument, init] = pair;
        printer << argument << " = " << init << " : " << init.getType();
      });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ConsumeOp::verify() {
  if (failed(verifyParts(*this, getChannel().getType(), getBlock())))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBlock().back());
  if (!yield || yield.getOperandTypes() != getResultTypes() ||
      TypeRange(ValueRange(getState())) != TypeRange(getResultTypes()))
    return emitOpError("needs a state and a tile.yield of its results' types");
  return success();
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  if (getViews().empty())
    return emitOpError("needs at least one view");
  for (Value view : getViews())
    if (!view.getDefiningOp<ScratchOp>())
      return emitOpError("gathers tile.scratch only, found a view of type ")
             << view.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ShareOp
//===----------------------------------------------------------------------===//

LogicalResult ShareOp::verify() {
  if (getInputs().empty() || getInputs().size() != getOutputs().size())
    return emitOpError("needs as many results as sums, at least one; found ")
           << getOutputs().size() << " and " << getInputs().size();
  for (auto [sum, part] : llvm::zip_equal(getInputs(), getOutputs())) {
    auto input = cast<RankedTensorType>(sum.getType());
    auto result = cast<RankedTensorType>(part.getType());
    if (input.getRank() != 2 || result.getRank() != 2 ||
        input.getDimSize(0) != result.getDimSize(0) ||
        (input.getDimSize(1) != 1 &&
         input.getDimSize(1) % result.getDimSize(1) != 0))
      return emitOpError("gives equal parts of the columns, found ")
             << input << " to " << result;
  }
  return success();
}
