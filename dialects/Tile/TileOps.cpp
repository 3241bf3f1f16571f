//===- TileOps.cpp - Verifiers and forms of kernel-level ops --------------===//

#include "dialects/Tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

static RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// ProgramOp, KernelOp, LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  TypeRange types;
  for (Operation &op : getBody().front()) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel)
      return emitOpError("holds kernels only, found ") << op.getName();
    TypeRange found = kernel.getBlock().getArgumentTypes();
    if (!types.empty() && types != found)
      return kernel.emitOpError("has other arguments than its siblings");
    types = found;
  }
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name, level;
  SmallVector<OpAsmParser::Argument> arguments, symbols, item;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseKeyword("level") ||
      parser.parseAttribute(level, getLevelAttrName(result.name),
                            result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseKeyword("symbols") ||
      parser.parseArgumentList(symbols, OpAsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("items")))
    result.addAttribute(getRangedAttrName(result.name),
                        parser.getBuilder().getUnitAttr());
  else if (parser.parseKeyword("item"))
    return failure();
  if (parser.parseArgumentList(item, OpAsmParser::Delimiter::Paren))
    return failure();
  for (auto *list : {&symbols, &item})
    for (OpAsmParser::Argument &argument : *list) {
      argument.type = parser.getBuilder().getIndexType();
      arguments.push_back(argument);
    }
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " level " << getLevelAttr() << " (";
  llvm::interleaveComma(getBuffers(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument);
  });
  printer << ") symbols (";
  llvm::interleaveComma(getSymbolArguments(), printer);
  printer << ") " << (getRanged() ? "items" : "item") << " (" << getItem();
  if (BlockArgument end = getItemEnd())
    printer << ", " << end;
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"sym_name", "level", "ranged"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

ProgramOp KernelOp::getProgram() {
  return cast<ProgramOp>((*this)->getParentOp());
}

unsigned KernelOp::getBufferCount() {
  return getItem().getArgNumber() - getProgram().getSymbols().size();
}

ArrayRef<BlockArgument> KernelOp::getBuffers() {
  return getBlock().getArguments().take_front(getBufferCount());
}

ArrayRef<BlockArgument> KernelOp::getSymbolArguments() {
  return getBlock().getArguments().slice(getBufferCount(),
                                         getProgram().getSymbols().size());
}

BlockArgument KernelOp::getItem() {
  return getBlock().getArguments().take_back(getRanged() ? 2 : 1).front();
}

BlockArgument KernelOp::getItemEnd() {
  return getRanged() ? getBlock().getArguments().back() : BlockArgument();
}

int64_t KernelOp::getScratchBytes() {
  int64_t bytes = 0;
  for (auto scratch : getBlock().getOps<ScratchOp>()) {
    MemRefType type = cast<MemRefType>(scratch.getType());
    int64_t size = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    bytes += llvm::alignTo(size, 64);
  }
  return bytes;
}

LogicalResult KernelOp::verify() {
  unsigned symbols = getProgram().getSymbols().size();
  if (getBlock().getNumArguments() < symbols + (getRanged() ? 2 : 1))
    return emitOpError("needs an argument per symbol of the program and one "
                       "for the work item or two for the range of items");
  for (BlockArgument buffer : getBuffers()) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type)
      return emitOpError("buffer arguments must be memrefs, found ")
             << buffer.getType();
    if (isa<MemoryLayoutInterface>(type.getLayout())) {
      if (type.isDynamicDim(0) && symbols == 0)
        return emitOpError("has a buffer of ")
               << type << ", whose rows the program needs a symbol for";
      continue;
    }
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        llvm::is_contained(strides, ShapedType::kDynamic) || offset != 0)
      return emitOpError("buffers must have static strides and offset 0, "
                         "found ")
             << type;
  }
  for (BlockArgument index :
       getBlock().getArguments().drop_front(getBufferCount()))
    if (!index.getType().isIndex())
      return emitOpError("symbols and the work item are of index type");
  return success();
}

/// Checks what a block of a kernel reads before a tile.wait_dependency; whether
/// it comes to its end without one.
static FailureOr<bool> verifyEarlyReads(KernelOp kernel, Block &block) {
  auto isIn = [](std::optional<ArrayRef<int64_t>> list, Value buffer) {
    return list && llvm::is_contained(
                       *list, cast<BlockArgument>(buffer).getArgNumber());
  };
  for (Operation &op : block) {
    if (isa<WaitDependencyOp>(op))
      return false;
    for (Value operand : op.getOperands())
      if (llvm::is_contained(kernel.getBuffers(), operand) &&
          !isIn(kernel.getConstants(), operand) &&
          !isIn(kernel.getStepInputs(), operand))
        return op.emitOpError("reads before tile.wait_dependency what earlier "
                              "kernels may write; expected constants and "
                              "step_inputs of the kernel");
    bool isWaitedFor = op.getNumRegions() != 0;
    for (Region &region : op.getRegions()) {
      if (region.empty()) {
        isWaitedFor = false;
        continue;
      }
      FailureOr<bool> isEarly = verifyEarlyReads(kernel, region.front());
      if (failed(isEarly))
        return failure();
      isWaitedFor &= !*isEarly;
    }
    if (isWaitedFor)
      return false;
  }
  return true;
}

LogicalResult KernelOp::verifyRegions() {
  WalkResult found = getBody().walk([](WaitDependencyOp wait) {
    return wait->getParentOfType<RoleOp>() ? WalkResult::advance()
                                           : WalkResult::interrupt();
  });
  // The roles of a kernel are checked by weft-verify-channels.
  if (!found.wasInterrupted())
    return success();
  return LogicalResult(verifyEarlyReads(*this, getBlock()));
}

LogicalResult weft::tile::verifyVariants(Operation *launch, ProgramOp program,
                                         ArrayAttr variants,
                                         SymbolTableCollection &symbols) {
  int64_t before = 0;
  for (Attribute attribute :
       variants ? variants.getValue() : ArrayRef<Attribute>()) {
    auto variant = dyn_cast<VariantAttr>(attribute);
    if (!variant)
      return launch->emitOpError("has a variant that is not a #tile.variant, "
                                 "but ")
             << attribute;
    auto other = symbols.lookupNearestSymbolFrom<ProgramOp>(
        launch, variant.getProgram());
    if (!other || other.getSymbols() != program.getSymbols())
      return launch->emitOpError("has the variant ")
             << variant.getProgram()
             << ", which is not a program with the launch's symbols";
    // Behind one for any number those of another architecture begin.
    if (variant.getRows() != 0 && variant.getRows() <= before)
      return launch->emitOpError(
          "needs variants for ascending numbers of rows");
    before = variant.getRows();
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto program =
      symbols.lookupNearestSymbolFrom<ProgramOp>(*this, getProgramAttr());
  if (!program)
    return emitOpError() << "refers to an unknown program '" << getProgram()
                         << "'";
  if (getSymbols().size() != program.getSymbols().size())
    return emitOpError() << "needs " << program.getSymbols().size()
                         << " symbols, as its program has, found "
                         << getSymbols().size();
  if (failed(verifyVariants(*this, program, getVariantsAttr(), symbols)))
    return failure();
  if (getTied().size() != getNumResults() ||
      getSizes().size() != getNumResults())
    return emitOpError("needs one entry of 'tied' and 'sizes' per result");
  for (auto [index, input] : llvm::enumerate(getTied()))
    if (input >= static_cast<int64_t>(getInputs().size()) ||
        (input >= 0 &&
         getInputs()[input].getType() != getResult(index).getType()))
      return emitOpError() << "result " << index
                           << " is tied to an input of another type";
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult ScratchOp::verify() {
  auto type = cast<MemRefType>(getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return emitOpError("must be a static row-major view, found ") << type;
  if (!isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("must stand at the top level of a kernel");
  return success();
}

/// Tile dimensions default to the last dimensions of the view.
static SmallVector<int64_t> defaultDims(std::optional<ArrayRef<int64_t>> dims,
                                        int64_t viewRank, int64_t tileRank) {
  if (dims)
    return SmallVector<int64_t>(*dims);
  return llvm::to_vector(llvm::seq<int64_t>(viewRank - tileRank, viewRank));
}

static LogicalResult verifyAccess(Operation *op, MemRefType view,
                                  RankedTensorType tile, size_t indices,
                                  ArrayRef<int64_t> dims) {
  if (indices != static_cast<size_t>(view.getRank()))
    return op->emitOpError()
           << "needs " << view.getRank() << " indices, found " << indices;
  if (view.getElementType() != tile.getElementType())
    return op->emitOpError() << "view and tile have different element types";
  if (dims.size() != static_cast<size_t>(tile.getRank()))
    return op->emitOpError() << "needs one view dimension per tile dimension";
  // No dimension of a packed view is the innermost one in memory.
  bool inAnyOrder = isa<MemoryLayoutInterface>(view.getLayout());
  int64_t previous = -1;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    if (inAnyOrder && llvm::is_contained(dims.take_front(position), dim))
      return op->emitOpError()
             << "tile dimensions must walk different dimensions of the view";
    if (dim < 0 || dim >= view.getRank() || (dim <= previous && !inAnyOrder))
      return op->emitOpError() << "tile dimensions must walk increasing "
                                  "dimensions of the view";
    previous = dim;
  }
  return success();
}

SmallVector<int64_t> LoadOp::getTileDims() {
  return defaultDims(getDims(), cast<MemRefType>(getView().getType()).getRank(),
                     tileType(getResult()).getRank());
}

LogicalResult LoadOp::verify() {
  if (tileType(getResult()).getRank() >
      cast<MemRefType>(getView().getType()).getRank())
    return emitOpError("tile has more dimensions than the view");
  return verifyAccess(*this, cast<MemRefType>(getView().getType()),
                      tileType(getResult()), getIndices().size(),
                      getTileDims());
}

SmallVector<int64_t> StoreOp::getTileDims() {
  return defaultDims(getDims(), cast<MemRefType>(getView().getType()).getRank(),
                     tileType(getTile()).getRank());
}

LogicalResult StoreOp::verify() {
  if (tileType(getTile()).getRank() >
      cast<MemRefType>(getView().getType()).getRank())
    return emitOpError("tile has more dimensions than the view");
  return verifyAccess(*this, cast<MemRefType>(getView().getType()),
                      tileType(getTile()), getIndices().size(), getTileDims());
}

//===----------------------------------------------------------------------===//
// FoldOp
//===----------------------------------------------------------------------===//

void FoldOp::build(
    OpBuilder &builder, OperationState &state, Value lower, Value upper,
    Value step, Merge merge, ValueRange init,
    function_ref<SmallVector<Value>(OpBuilder &, Location, Value, ValueRange)>
        body) {
  state.addOperands({lower, upper, step});
  state.addOperands(init);
  state.addAttribute(getMergeAttrName(state.name),
                     MergeAttr::get(builder.getContext(), merge));
  state.addTypes(init.getTypes());
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region);
  block->addArgument(builder.getIndexType(), state.location);
  for (Value value : init)
    block->addArgument(value.getType(), state.location);
  SmallVector<Value> next =
      body(builder, state.location, block->getArgument(0),
           ValueRange(block->getArguments().drop_front()));
  YieldOp::create(builder, state.location, next);
}

ParseResult FoldOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument index;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds(3), init;
  SmallVector<OpAsmParser::Argument> arguments(1);
  StringRef mergeName;
  SMLoc mergeLocation;
  auto parseState = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(init.emplace_back()) ||
                   parser.parseColonType(arguments.back().type));
  };
  if (parser.parseArgument(index) || parser.parseEqual() ||
      parser.parseOperand(bounds[0]) || parser.parseKeyword("to") ||
      parser.parseOperand(bounds[1]) || parser.parseKeyword("step") ||
      parser.parseOperand(bounds[2]) || parser.parseKeyword("merge") ||
      parser.getCurrentLocation(&mergeLocation) ||
      parser.parseKeyword(&mergeName) || parser.parseKeyword("init") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseState))
    return failure();
  std::optional<Merge> merge = symbolizeMerge(mergeName);
  if (!merge)
    return parser.emitError(mergeLocation)
           << "expected add, max, softmax, add_max or argmax, found '"
           << mergeName << "'";
  result.addAttribute(getMergeAttrName(result.name),
                      MergeAttr::get(parser.getContext(), *merge));
  index.type = parser.getBuilder().getIndexType();
  arguments.front() = index;
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  for (OpAsmParser::UnresolvedOperand &bound : bounds)
    if (parser.resolveOperand(bound, index.type, result.operands))
      return failure();
  for (auto [operand, argument] :
       llvm::zip_equal(init, ArrayRef(arguments).drop_front())) {
    if (parser.resolveOperand(operand, argument.type, result.operands))
      return failure();
    result.addTypes(argument.type);
  }
  return success();
}

void FoldOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " = " << getLower() << " to " << getUpper()
          << " step " << getStep() << " merge " << stringifyMerge(getMerge())
          << " init (";
  llvm::interleaveComma(
      llvm::zip_equal(getState(), getInit()), printer, [&](auto pair) {
        auto [argument, operand] = pair;
        printer << argument << " = " << operand << " : " << operand.getType();
      });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"merge"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult FoldOp::verify() {
  if (getBlock().getNumArguments() != getInit().size() + 1)
    return emitOpError("body needs an index and one argument per state value");
  if (TypeRange(ValueRange(getState())) != getInit().getTypes())
    return emitOpError("body arguments must have the types of the state");
  auto yield = cast<YieldOp>(getBlock().getTerminator());
  if (yield.getValues().getTypes() != getInit().getTypes())
    return emitOpError("must yield values of the types of the state");
  if (getMerge() == Merge::Softmax && getInit().size() < 2)
    return emitOpError("a softmax state needs a maximum and a sum");
  if (getMerge() == Merge::AddMax && getInit().size() % 2 != 0)
    return emitOpError("an add_max state has as many sums as maxima");
  if (getMerge() == Merge::ArgMax && getInit().size() != 2)
    return emitOpError("an argmax state is a value and a number");
  return success();
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  RankedTensorType lhs = tileType(getLhs()), rhs = tileType(getRhs()),
                   accumulator = tileType(getAccumulator());
  if (lhs.getRank() != 2 || accumulator.getRank() != 2 ||
      (rhs.getRank() != 2 && rhs.getRank() != 3))
    return emitOpError("multiplies [M, K] by [K, N] or [K/g, N, g]");
  int64_t group = rhs.getRank() == 3 ? rhs.getDimSize(2) : 1;
  if (rhs.getDimSize(0) * group < lhs.getDimSize(1) ||
      (rhs.getDimSize(0) - 1) * group >= lhs.getDimSize(1))
    return emitOpError() << "inner sizes differ: " << lhs << " and " << rhs;
  if (accumulator.getDimSize(0) != lhs.getDimSize(0) ||
      accumulator.getDimSize(1) != rhs.getDimSize(1))
    return emitOpError() << "accumulator must be " << lhs.getDimSize(0) << " x "
                         << rhs.getDimSize(1) << ", found " << accumulator;
  if (getInstruction() == MmaInstruction::DotBf16 &&
      (!lhs.getElementType().isBF16() || !rhs.getElementType().isBF16() ||
       group != 2 || lhs.getDimSize(1) % 2 != 0))
    return emitOpError("dot_bf16 needs bf16 operands, pairs and an even inner "
                       "size");
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (input.getRank() != 2 || result.getRank() != 2 ||
      result.getDimSize(0) != input.getDimSize(0) ||
      result.getDimSize(1) != 1 ||
      result.getElementType() != input.getElementType())
    return emitOpError("reduces [R, C] to [R, 1] of the same element type");
  return success();
}

LogicalResult ExtractOp::verify() {
  RankedTensorType input = tileType(getInput());
  if (input.getNumElements() != 1 ||
      input.getElementType() != getResult().getType())
    return emitOpError("takes the number of a tile with one element of its "
                       "type, found ")
           << input << " and " << getResult().getType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (input.getRank() != result.getRank() ||
      input.getElementType() != result.getElementType())
    return emitOpError("keeps rank and element type");
  for (auto [from, to] : llvm::zip_equal(input.getShape(), result.getShape()))
    if (from != 1 && from != to)
      return emitOpError() << "cannot repeat " << input << " to " << result;
  return success();
}

LogicalResult SplatOp::verify() {
  if (getInput().getType() != tileType(getResult()).getElementType())
    return emitOpError("element types differ");
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t dim = getDim();
  if (dim < 0 || dim >= tileType(getResult()).getRank())
    return emitOpError() << "has no dimension " << dim;
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (input.getRank() != 2 || result.getRank() != 2 ||
      input.getDimSize(0) != result.getDimSize(0) ||
      input.getElementType() != result.getElementType())
    return emitOpError("takes columns of a tile [R, C]");
  int64_t offset = getOffset(), stride = getStride();
  int64_t last = offset + (result.getDimSize(1) - 1) * stride;
  if (offset < 0 || stride <= 0 || last >= input.getDimSize(1))
    return emitOpError() << "reads columns up to " << last << " of "
                         << input.getDimSize(1);
  return success();
}

LogicalResult JoinOp::verify() {
  RankedTensorType lhs = tileType(getLhs()), rhs = tileType(getRhs()),
                   result = tileType(getResult());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || result.getRank() != 2 ||
      lhs.getDimSize(0) != rhs.getDimSize(0) ||
      result.getDimSize(0) != lhs.getDimSize(0) ||
      result.getDimSize(1) != lhs.getDimSize(1) + rhs.getDimSize(1))
    return emitOpError("joins [R, A] and [R, B] to [R, A + B]");
  if (getInterleaved() && lhs.getDimSize(1) != rhs.getDimSize(1))
    return emitOpError("interleaves tiles of equal size");
  return success();
}
