//===- WeftOps.cpp - Verifiers, folders and forms of model ops ------------===//

#include "dialects/Weft/WeftDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Index tensors default to tensor<?xi32> in the assembly format
//===----------------------------------------------------------------------===//

static Type getDefaultIndexType(MLIRContext *context, unsigned rank) {
  return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic),
                               IntegerType::get(context, 32));
}

/// `, type` when it is not the default.
static ParseResult parseIndexTensorTypes(OpAsmParser &parser, Type &type) {
  if (succeeded(parser.parseOptionalComma()))
    return parser.parseType(type);
  type = getDefaultIndexType(parser.getContext(), 1);
  return success();
}

static void printIndexTensorTypes(OpAsmPrinter &printer, Operation *,
                                  Type type) {
  if (type != getDefaultIndexType(type.getContext(), 1))
    printer << ", " << type;
}

/// A layout without its dialect, behind which a colon would be that of a type.
static ParseResult parsePackedLayout(OpAsmParser &parser,
                                     PackedLayoutInterface &layout) {
  StringRef name;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (name == CoreMatrixLayoutAttr::getMnemonic()) {
    layout = CoreMatrixLayoutAttr::get(parser.getContext());
    return success();
  }
  if (name != PanelLayoutAttr::getMnemonic())
    return parser.emitError(location)
           << "expected panels or core_matrices, found '" << name << "'";
  layout = cast_or_null<PanelLayoutAttr>(PanelLayoutAttr::parse(parser, {}));
  return success(layout != nullptr);
}

static void printPackedLayout(OpAsmPrinter &printer, Operation *,
                              PackedLayoutInterface layout) {
  if (auto panels = dyn_cast<PanelLayoutAttr>(layout)) {
    printer << PanelLayoutAttr::getMnemonic();
    panels.print(printer);
  } else {
    printer << CoreMatrixLayoutAttr::getMnemonic();
  }
}

/// `indices(types)` when one of them is not the default.
static ParseResult parseAttentionIndexTypes(
    OpAsmParser &parser,
    const std::optional<OpAsmParser::UnresolvedOperand> &contextLengths,
    const std::optional<OpAsmParser::UnresolvedOperand> &keyStarts,
    Type &positions, Type &ids, Type &starts, Type &lengths, Type &table,
    Type &keys) {
  SmallVector<Type *> rows = {&positions, &ids, &starts};
  if (contextLengths)
    rows.append({&lengths, &table});
  if (keyStarts)
    rows.push_back(&keys);
  if (failed(parser.parseOptionalKeyword("indices"))) {
    for (Type *row : rows)
      *row = getDefaultIndexType(parser.getContext(), row == &table ? 2 : 1);
    return success();
  }
  if (parser.parseLParen())
    return failure();
  for (Type *row : rows)
    if ((row != rows.front() && parser.parseComma()) || parser.parseType(*row))
      return failure();
  return parser.parseRParen();
}

static void printAttentionIndexTypes(OpAsmPrinter &printer, Operation *,
                                     Value contextLengths, Value keyStarts,
                                     Type positions, Type ids, Type starts,
                                     Type lengths, Type table, Type keys) {
  SmallVector<Type> rows = {positions, ids, starts};
  if (contextLengths)
    rows.append({lengths, table});
  if (keyStarts)
    rows.push_back(keys);
  bool isDefault = llvm::all_of(rows, [](Type type) {
    auto rank = cast<RankedTensorType>(type).getRank();
    return type == getDefaultIndexType(type.getContext(), rank);
  });
  if (!isDefault)
    printer << " indices(" << rows << ")";
}

#define GET_OP_CLASSES
#include "dialects/Weft/WeftOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verification helpers
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Checks that two sizes agree where both are static.
static LogicalResult checkSize(Operation *op, StringRef what, int64_t found,
                               int64_t expected) {
  if (ShapedType::isDynamic(found) || ShapedType::isDynamic(expected) ||
      found == expected)
    return success();
  return op->emitOpError() << what << " is " << found << ", expected "
                           << expected;
}

static LogicalResult checkRank(Operation *op, StringRef what, Value value,
                               int64_t rank) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    if (type.getRank() == rank)
      return success();
  return op->emitOpError() << what << " must have rank " << rank << ", found "
                           << value.getType();
}

/// Checks the number of rows: dimension 0 of both.
static LogicalResult checkRows(Operation *op, StringRef what, Value found,
                               Value expected) {
  return checkSize(op, ("number of " + what).str(), shapeOf(found)[0],
                   shapeOf(expected)[0]);
}

static LogicalResult checkStatic(Operation *op, StringRef what, int64_t size) {
  if (!ShapedType::isDynamic(size))
    return success();
  return op->emitOpError() << what << " must be static";
}

static LogicalResult checkHasRows(Operation *op, Value input) {
  if (!shapeOf(input).empty())
    return success();
  return op->emitOpError() << "input must have at least one dimension, found "
                           << input.getType();
}

static LogicalResult checkPositive(Operation *op, StringRef what, double x) {
  if (x > 0)
    return success();
  return op->emitOpError() << what << " must be positive, found " << x;
}

/// Dimensions that a packed matrix has more than a plain one.
static int64_t getExtraRank(std::optional<PackedLayoutInterface> layout) {
  return layout ? static_cast<int64_t>(layout->getDims().size()) - 2 : 0;
}

//===----------------------------------------------------------------------===//
// WeightOp
//===----------------------------------------------------------------------===//

void WeightOp::build(OpBuilder &builder, OperationState &state, Type type,
                     StringRef name, bool transposed) {
  auto source = SourceAttr::get(builder.getContext(), name, transposed);
  build(builder, state, type, builder.getArrayAttr(source),
        PackedLayoutInterface(), DenseI64ArrayAttr());
}

ArrayRef<int64_t> WeightOp::getShapeBeforePacking() {
  if (auto shape = getLogicalShape())
    return *shape;
  return getType().getShape();
}

LogicalResult WeightOp::verify() {
  if (getSources().empty())
    return emitOpError("needs at least one source");
  if (getLayout().has_value() != getLogicalShape().has_value())
    return emitOpError("has a layout exactly when it has a logical shape");
  if (!getLayout())
    return success();
  if (getLogicalShape()->size() < 2)
    return emitOpError("a packed weight is a matrix or a stack of matrices");
  ArrayRef<int64_t> shape = *getLogicalShape();
  if (failed(getLayout()->verifyMatrix([&] { return emitOpError(); },
                                       shape[shape.size() - 2], shape.back(),
                                       getType().getElementType())))
    return failure();
  SmallVector<int64_t> packed = getLayout()->getPackedShape(shape);
  if (getType().getShape() != ArrayRef<int64_t>(packed))
    return emitOpError() << "packs to shape [" << packed << "], found "
                         << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Rows, norms, linear layers
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  if (failed(checkRank(*this, "table", getTable(),
                       2 + getExtraRank(getLayout()))) ||
      failed(checkRank(*this, "result", getResult(), 2)) ||
      failed(checkSize(*this, "number of result rows", shapeOf(getResult())[0],
                       shapeOf(getIds())[0])))
    return failure();
  if (!getLayout())
    return checkSize(*this, "row size", shapeOf(getResult())[1],
                     shapeOf(getTable())[1]);
  // How many rows of the last block exist is not known here; the ids are.
  ArrayRef<int64_t> table = shapeOf(getTable());
  int64_t rows = table[0] * getLayout()->getOutputBlock();
  int64_t columns = shapeOf(getResult())[1];
  if (failed(getLayout()->verifyMatrix(
          [&] { return emitOpError(); }, rows, columns,
          getElementTypeOrSelf(getTable().getType()))))
    return failure();
  SmallVector<int64_t> packed = getLayout()->getPackedShape({rows, columns});
  if (table != ArrayRef<int64_t>(packed))
    return emitOpError() << "table with rows of " << columns << " packs to ["
                         << packed << "], found " << getTable().getType();
  return success();
}

/// Checks a vector that scales or shifts the elements of a row.
static LogicalResult checkRowVector(Operation *op, StringRef what, Value vector,
                                    int64_t rowSize) {
  if (failed(checkRank(op, what, vector, 1)))
    return failure();
  return checkSize(op, (what + " size").str(), shapeOf(vector)[0], rowSize);
}

LogicalResult RmsNormOp::verify() {
  if (failed(checkHasRows(*this, getInput())) ||
      failed(checkPositive(*this, "epsilon", getEpsilon().convertToDouble())))
    return failure();
  return checkRowVector(*this, "weight", getWeight(),
                        shapeOf(getInput()).back());
}

LogicalResult LayerNormOp::verify() {
  if (failed(checkHasRows(*this, getInput())) ||
      failed(checkPositive(*this, "epsilon", getEpsilon().convertToDouble())) ||
      failed(checkRowVector(*this, "weight", getWeight(),
                            shapeOf(getInput()).back())))
    return failure();
  if (!getBias())
    return success();
  return checkRowVector(*this, "bias", getBias(), shapeOf(getInput()).back());
}

int64_t LinearOp::getInputSize() { return shapeOf(getInput()).back(); }
int64_t LinearOp::getOutputSize() { return shapeOf(getResult()).back(); }

/// Checks a weight `[N, K]` (behind `leading` more dimensions) or its packed
/// form against the sizes of the multiplication.
static LogicalResult checkMatrix(Operation *op, Value weight,
                                 std::optional<PackedLayoutInterface> layout,
                                 int64_t leading, int64_t outputs,
                                 int64_t inputs) {
  if (failed(
          checkRank(op, "weight", weight, leading + 2 + getExtraRank(layout))))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(weight).drop_front(leading);
  if (ShapedType::isDynamic(inputs) || ShapedType::isDynamic(outputs))
    return op->emitOpError("input and output sizes must be static");
  if (!layout) {
    if (failed(checkSize(op, "weight's output size", shape[0], outputs)))
      return failure();
    return checkSize(op, "weight's input size", shape[1], inputs);
  }
  if (failed(layout->verifyMatrix([&] { return op->emitOpError(); }, outputs,
                                  inputs,
                                  getElementTypeOrSelf(weight.getType()))))
    return failure();
  SmallVector<int64_t> packed = layout->getPackedShape({outputs, inputs});
  if (shape != ArrayRef<int64_t>(packed))
    return op->emitOpError()
           << "weight of " << outputs << " x " << inputs << " packs to ["
           << packed << "], found " << weight.getType();
  return success();
}

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  if (failed(checkHasRows(*this, getInput())))
    return failure();
  if (input.size() != result.size())
    return emitOpError("input and result must have the same rank");
  for (size_t i = 0; i + 1 < input.size(); ++i)
    if (failed(checkSize(*this, "result dimension " + std::to_string(i),
                         result[i], input[i])))
      return failure();
  if (failed(checkMatrix(*this, getWeight(), getLayout(), 0, getOutputSize(),
                         getInputSize())))
    return failure();
  if (!getBias())
    return success();
  return checkRowVector(*this, "bias", getBias(), getOutputSize());
}

//===----------------------------------------------------------------------===//
// Positions and attention
//===----------------------------------------------------------------------===//

LogicalResult RopeTableOp::verify() {
  ArrayRef<int64_t> tables = shapeOf(getFrequencies());
  if (failed(
          checkSize(*this, "number of scales", getScale().size(), tables[0])))
    return failure();
  if (getScale().size() > 1 && !getChoice())
    return emitOpError("with several tables needs a choice");
  if (getChoice() &&
      failed(checkRows(*this, "choices", getChoice(), getPositions())))
    return failure();
  if (failed(checkRows(*this, "result rows", getCosine(), getPositions())))
    return failure();
  return checkSize(*this, "number of frequencies", shapeOf(getCosine())[1],
                   tables[1]);
}

LogicalResult RopeOp::verify() {
  int64_t pairs = shapeOf(getCosine())[1], size = shapeOf(getInput())[2];
  if (failed(checkStatic(*this, "number of pairs", pairs)) ||
      failed(checkStatic(*this, "head size", size)) ||
      failed(checkRows(*this, "table rows", getCosine(), getInput())))
    return failure();
  if (2 * pairs > size)
    return emitOpError() << "rotates " << 2 * pairs << " elements of heads of "
                         << size;
  return success();
}

LogicalResult CacheAppendOp::verify() {
  ArrayRef<int64_t> cache = shapeOf(getCache()), input = shapeOf(getInput());
  if (failed(checkRows(*this, "slots", getSlots(), getInput())) ||
      failed(checkSize(*this, "number of heads", input[1], cache[1])))
    return failure();
  return checkSize(*this, "head size", input[2],
                   cache[getKind() == CacheKind::Key ? 2 : 3]);
}

int64_t AttentionOp::getQueryHeads() { return shapeOf(getQuery())[1]; }
int64_t AttentionOp::getKeyHeads() { return shapeOf(getKey())[1]; }
int64_t AttentionOp::getHeadSize() { return shapeOf(getQuery())[2]; }
int64_t AttentionOp::getBlockSize() { return shapeOf(getKey())[3]; }

/// Sizes and number of heads of query, key and value.
static LogicalResult verifyHeads(AttentionOp op) {
  ArrayRef<int64_t> key = shapeOf(op.getKey()), value = shapeOf(op.getValue());
  int64_t headSize = op.getHeadSize();
  if (failed(checkStatic(op, "number of query heads", op.getQueryHeads())) ||
      failed(checkStatic(op, "number of key heads", op.getKeyHeads())) ||
      failed(checkStatic(op, "head size", headSize)))
    return failure();
  if (op.getKeyHeads() <= 0 || op.getQueryHeads() % op.getKeyHeads() != 0)
    return op.emitOpError()
           << "query heads (" << op.getQueryHeads()
           << ") must be a multiple of key heads (" << op.getKeyHeads() << ")";
  if (failed(checkSize(op, "number of value heads", value[1], key[1])) ||
      failed(checkSize(op, "key head size", key[2], headSize)) ||
      failed(checkSize(op, "value head size", value.back(), headSize)))
    return failure();
  return success();
}

/// Sizes of the tensors that say which token belongs to which sequence.
static LogicalResult verifySequences(AttentionOp op) {
  if (failed(checkRows(op, "positions", op.getPositions(), op.getQuery())) ||
      failed(checkRows(op, "sequence ids", op.getSequenceIds(), op.getQuery())))
    return failure();
  if (!op.isPaged()) {
    if (op.getKeyStarts() &&
        failed(checkRows(op, "key starts", op.getKeyStarts(),
                         op.getSequenceStarts())))
      return failure();
    return checkRows(op, "value rows", op.getValue(), op.getKey());
  }
  if (op.getKeyStarts())
    return op.emitOpError(
        "has key starts beside a block table, which says where "
        "keys are");
  int64_t sequences = shapeOf(op.getContextLengths())[0];
  if (!ShapedType::isDynamic(sequences) &&
      failed(checkSize(op, "number of sequence starts",
                       shapeOf(op.getSequenceStarts())[0], sequences + 1)))
    return failure();
  if (failed(checkRows(op, "block table rows", op.getBlockTable(),
                       op.getContextLengths())) ||
      failed(checkStatic(op, "block size", op.getBlockSize())))
    return failure();
  return checkSize(op, "value block size", shapeOf(op.getValue())[2],
                   op.getBlockSize());
}

/// A number for each token, head and position of a key.
static LogicalResult verifyBias(AttentionOp op) {
  if (!op.getBias())
    return success();
  if (op.isPaged())
    return op.emitOpError(
        "has a bias beside a block table, expected ragged keys");
  int64_t heads = shapeOf(op.getBias())[1];
  if (heads != 1 && heads != op.getQueryHeads())
    return op.emitOpError() << "has a bias of " << heads
                            << " heads, expected 1 or " << op.getQueryHeads();
  return checkRows(op, "rows of the bias", op.getBias(), op.getQuery());
}

LogicalResult AttentionOp::verify() {
  if (isPaged() != static_cast<bool>(getContextLengths()))
    return emitOpError("needs context lengths exactly when there is a block "
                       "table");
  int64_t rank = isPaged() ? 4 : 3;
  if (failed(checkRank(*this, "key", getKey(), rank)) ||
      failed(checkRank(*this, "value", getValue(), rank)) ||
      failed(verifyHeads(*this)) || failed(verifySequences(*this)) ||
      failed(verifyBias(*this)))
    return failure();
  if (getWindow() && *getWindow() <= 0)
    return emitOpError() << "window must be positive, found " << *getWindow();
  if (getSoftcap() &&
      failed(checkPositive(*this, "softcap", getSoftcap()->convertToDouble())))
    return failure();
  if (getResult().getType() != getQuery().getType())
    return emitOpError("result must have the type of the query");
  return success();
}

//===----------------------------------------------------------------------===//
// Activations and experts
//===----------------------------------------------------------------------===//

LogicalResult ActivationOp::verify() { return success(); }
LogicalResult GatedActivationOp::verify() { return success(); }

LogicalResult SoftcapOp::verify() {
  return checkPositive(*this, "cap", getCap().convertToDouble());
}

LogicalResult RouteOp::verify() {
  int64_t experts = shapeOf(getLogits())[1];
  auto topK = static_cast<int64_t>(getTopK());
  if (failed(checkStatic(*this, "number of experts", experts)))
    return failure();
  if (topK <= 0 || topK > experts)
    return emitOpError() << "chooses " << topK << " of " << experts
                         << " experts";
  if (failed(checkRows(*this, "rows of experts", getExperts(), getLogits())) ||
      failed(checkRows(*this, "rows of weights", getWeights(), getLogits())) ||
      failed(checkSize(*this, "columns of experts", shapeOf(getExperts())[1],
                       topK)))
    return failure();
  return checkSize(*this, "columns of weights", shapeOf(getWeights())[1], topK);
}

LogicalResult GroupedLinearOp::verify() {
  auto rank = static_cast<int64_t>(shapeOf(getInput()).size());
  if (rank != 2 && rank != 3)
    return emitOpError() << "input must have rank 2 or 3, found "
                         << getInput().getType();
  int64_t topK = shapeOf(getExperts())[1];
  if (failed(checkRows(*this, "rows of experts", getExperts(), getInput())) ||
      failed(checkRows(*this, "result rows", getResult(), getInput())))
    return failure();
  if (rank == 3 && failed(checkSize(*this, "second dimension of the input",
                                    shapeOf(getInput())[1], topK)))
    return failure();
  if (failed(checkSize(*this, "second dimension of the result",
                       shapeOf(getResult())[1], topK)))
    return failure();
  return checkMatrix(*this, getWeight(), getLayout(), 1,
                     shapeOf(getResult()).back(), shapeOf(getInput()).back());
}

LogicalResult CombineOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  if (failed(checkRows(*this, "rows of weights", getWeights(), getInput())) ||
      failed(checkRows(*this, "result rows", getResult(), getInput())) ||
      failed(checkSize(*this, "columns of weights", shapeOf(getWeights())[1],
                       input[1])))
    return failure();
  return checkSize(*this, "result's row size", result[1], input[2]);
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

LogicalResult AdjustLogitsOp::verify() {
  if (failed(checkStatic(*this, "number of ids", shapeOf(getLogits())[1])) ||
      failed(checkRows(*this, "values", getValues(), getPlaces())) ||
      failed(checkSize(*this, "columns of places", shapeOf(getPlaces())[1], 2)))
    return failure();
  return checkSize(*this, "columns of values", shapeOf(getValues())[1], 2);
}

LogicalResult SampleOp::verify() {
  if (failed(checkStatic(*this, "number of ids", shapeOf(getLogits())[1])) ||
      failed(checkRows(*this, "rows of counts", getCounts(), getLogits())) ||
      failed(checkRows(*this, "rows of options", getOptions(), getLogits())) ||
      failed(checkRows(*this, "result rows", getIds(), getLogits())) ||
      failed(checkSize(*this, "columns of counts", shapeOf(getCounts())[1], 2)))
    return failure();
  return checkSize(*this, "columns of options", shapeOf(getOptions())[1], 4);
}

//===----------------------------------------------------------------------===//
// DispatchOp
//===----------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  if (!Polynomial::parse(getSize()))
    return emitOpError("needs a sum of products of symbols, found '")
           << getSize() << "'";
  return success();
}

ParseResult DispatchOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr label;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  auto parseOperand = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) ||
                   parser.parseColonType(arguments.back().type));
  };
  if (parser.parseAttribute(label, "label", result.attributes) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseOperand) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseArrow() ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren,
          [&] { return parser.parseType(types.emplace_back()); }) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  for (auto [operand, argument] : llvm::zip_equal(operands, arguments))
    if (parser.resolveOperand(operand, argument.type, result.operands))
      return failure();
  result.addTypes(types);
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void DispatchOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getLabelAttr() << " (";
  llvm::interleaveComma(llvm::zip_equal(getBlock().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, operand] = pair;
                          printer << argument << " = " << operand << " : "
                                  << operand.getType();
                        });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"label"});
  printer << " -> (";
  llvm::interleaveComma(getResultTypes(), printer);
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult DispatchOp::verify() {
  if (getBlock().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments must have the operands' types");
  auto yield = cast<YieldOp>(getBlock().getTerminator());
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("must yield values of its result types");
  return success();
}

std::optional<unsigned> DispatchOp::getTiedInput(unsigned index) {
  Value value = cast<YieldOp>(getBlock().getTerminator()).getValues()[index];
  if (auto adjust = value.getDefiningOp<AdjustLogitsOp>()) {
    value = adjust.getLogits();
  } else {
    if (!value.getDefiningOp<CacheAppendOp>())
      return std::nullopt;
    while (auto append = value.getDefiningOp<CacheAppendOp>())
      value = append.getCache();
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return std::nullopt;
}
