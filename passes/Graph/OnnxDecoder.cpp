//===- OnnxDecoder.cpp - What the parts of a decoder's graph are ----------===//

#include "passes/Graph/OnnxDecoder.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// Names that exporters give to these inputs.
static constexpr StringLiteral maskName = "attention_mask",
                               positionsName = "position_ids";

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

static bool isAttention(Operation *op) {
  return isa_and_nonnull<onnx::AttentionOp,
                         onnx::MicrosoftGroupQueryAttentionOp>(op);
}

/// Keys and values of the past; null: none.
static std::pair<Value, Value> getPast(Operation *op) {
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    return {attention.getPastKey(), attention.getPastValue()};
  if (auto attention = dyn_cast<onnx::MicrosoftGroupQueryAttentionOp>(op))
    return {attention.getPastKey(), attention.getPastValue()};
  return {};
}

bool OnnxDecoder::findOutputs() {
  for (Value result :
       function.getBody().front().getTerminator()->getOperands()) {
    // Both kinds of attention have the present there.
    Operation *op = result.getDefiningOp();
    if (isAttention(op) &&
        (result == op->getResult(1) || result == op->getResult(2)))
      continue;
    if (logits || !isFloat(result) || getShape(result).size() != 3 ||
        !getColumns(result))
      return fail("an output is neither logits [batch, length, vocabulary] nor "
                  "the keys or values of an attention");
    logits = result;
  }
  return logits || fail("there are no logits");
}

bool OnnxDecoder::findInputs() {
  auto isIds = [](Value value) {
    return getShape(value).size() == 2 &&
           isa<IntegerType>(getElementTypeOrSelf(value.getType()));
  };
  BlockArgument mask, positions;
  for (BlockArgument argument : function.getArguments()) {
    bool isTable = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return isa<onnx::GatherOp, onnx::MicrosoftGatherBlockQuantizedOp>(user) &&
             user->getOperand(1) == argument &&
             user->getOperand(0).getDefiningOp<onnx::InitializerOp>();
    });
    bool isPast = llvm::all_of(argument.getUsers(), [&](Operation *user) {
      auto [key, value] = getPast(user);
      return isa<onnx::ShapeOp>(user) || key == argument || value == argument;
    });
    if (isIds(argument) && getName(argument) == maskName)
      mask = argument;
    else if (isIds(argument) && getName(argument) == positionsName)
      positions = argument;
    else if (isIds(argument) && isTable && !tokens)
      tokens = argument;
    else if (!isPast || !isFloat(argument))
      return fail("the input '" + getName(argument) +
                  "' is none that a decoder has");
  }
  if (!tokens)
    return fail("no input picks rows of a table of embeddings");
  onnx::Shape shape = getShape(tokens);
  batch = shape[0];
  length = shape[1];
  if (length.isConstant())
    return fail("the number of tokens is fixed");
  // Rows of a step are tokens that exist: nothing is padding.
  if (mask)
    elements.assume(mask, [](OnnxElements::Place) {
      return Element::makeInteger(Polynomial(1));
    });
  if (positions)
    elements.assume(positions, [this](OnnxElements::Place place) {
      return Element::makeInteger(place[1] + past);
    });
  return true;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

bool OnnxDecoder::findAttentions() {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front()) {
    if (!isAttention(&op))
      continue;
    auto [pastKey, pastValue] = getPast(&op);
    Polynomial own = pastKey ? getShape(pastKey)[2] : Polynomial();
    if (!ops.empty() && own != past)
      return fail("attentions have pasts of different lengths");
    past = own;
    ops.push_back(&op);
  }
  if (ops.empty())
    return fail("there is no attention");
  for (Operation *op : ops) {
    onnx::Shape shape = getShape(op->getOperand(0));
    if (shape.size() != 3 || shape[0] != batch || shape[1] != length ||
        !op->getResult(3).use_empty())
      return fail("an attention has another form than that of a decoder");
    auto attention = dyn_cast<onnx::AttentionOp>(op);
    if (attention ? !describe(attention)
                  : !describe(cast<onnx::MicrosoftGroupQueryAttentionOp>(op)))
      return false;
  }
  return true;
}

bool OnnxDecoder::describe(onnx::AttentionOp op) {
  if (op.getNonpadKvSeqlen())
    return fail("an attention has another form than that of a decoder");
  if (getShape(op.getKey()) != getShape(op.getValue()) ||
      getShape(op.getKey())[1] != length)
    return fail("keys and values differ in size, or are not those of the "
                "tokens");
  DecoderAttention found;
  found.op = op;
  found.query = op.getQuery();
  found.key = op.getKey();
  found.value = op.getValue();
  found.heads = op.getQNumHeads();
  found.keyHeads = op.getKvNumHeads();
  found.size = *getColumns(op.getKey()) / found.keyHeads;
  int64_t left = op.getLeftWindowSize();
  found.mask.window = left >= 0 ? left + 1 : 0;
  if (op.getMask()) {
    auto mask = matchCausalMask(elements, op.getMask(), past);
    if (!mask || (found.mask.window && mask->window))
      return fail("the mask of an attention is not causal");
    if (mask->window)
      found.mask = *mask;
  } else if (!op.getIsCausal()) {
    return fail("an attention is not causal");
  }
  found.scale = op.getScale() ? op.getScale()->convertToDouble()
                              : 1 / std::sqrt(double(found.size));
  found.softcap = op.getSoftcap().convertToDouble();
  attentions.push_back(found);
  return true;
}

/// Whether the numbers that say the last place of each sequence are those of
/// the last new token.
bool OnnxDecoder::isWholePast(Value lasts) const {
  SmallVector<Polynomial, 4> place;
  for (auto [dim, size] : llvm::enumerate(getShape(lasts)))
    place.push_back(size == Polynomial(1) ? Polynomial(0)
                                          : OnnxElements::getVariable(dim));
  Element element = elements.get(lasts, place);
  return element.kind == Element::Kind::Integer &&
         element.integer == onnx::subtract(past + length, Polynomial(1));
}

bool OnnxDecoder::describe(onnx::MicrosoftGroupQueryAttentionOp op) {
  if (!op.getCausal() || op.getKQuantType() != "NONE" ||
      op.getVQuantType() != "NONE" || op.getKScale() || op.getVScale() ||
      op.getSlidingWindowCache())
    return fail("an attention is not causal, or has a cache of another form");
  if (op.getAttentionBias() || op.getHeadSink() || op.getSmoothSoftmax() == 1)
    return fail("an attention has a bias or sinks");
  if (!isWholePast(op.getSeqlensK()))
    return fail("the lengths of sequences are not those of the past and the "
                "new tokens");
  std::optional<int64_t> size = getShape(op.getPresentKey())[3].getConstant();
  if (!size || (op.getKey() && getShape(op.getKey())[1] != length))
    return fail("keys and values are not those of the tokens");
  DecoderAttention found;
  found.op = op;
  found.query = op.getQuery();
  found.key = op.getKey();
  found.value = op.getValue();
  found.heads = op.getNumHeads();
  found.keyHeads = op.getKvNumHeads();
  found.size = *size;
  found.mask.window = std::max<int64_t>(op.getLocalWindowSize(), 0);
  double scale = op.getScale().convertToDouble();
  found.scale = scale != 0 ? scale : 1 / std::sqrt(double(*size));
  found.softcap = op.getSoftcap().convertToDouble();
  found.queryNorm = op.getQNormWeight();
  found.keyNorm = op.getKNormWeight();
  found.epsilon = op.getQkNormEpsilon().convertToDouble();
  if (op.getDoRotary()) {
    if (!op.getCosCache() ||
        (op.getPositionIds() && !isPosition(op.getPositionIds())))
      return fail("an attention rotates heads by other numbers than their "
                  "positions");
    found.cosine = op.getCosCache();
    found.sine = op.getSinCache();
    found.isInterleaved = op.getRotaryInterleaved() != 0;
  }
  attentions.push_back(found);
  return true;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Whether an integer, or a number made of one, says for each token its
/// position behind the past.
bool OnnxDecoder::isPosition(Value value) const {
  SmallVector<Polynomial, 4> place;
  Polynomial token;
  for (auto [dim, size] : llvm::enumerate(getShape(value))) {
    place.push_back(size == Polynomial(1) ? Polynomial(0)
                                          : OnnxElements::getVariable(dim));
    if (size == length)
      token = place.back();
  }
  Element element = elements.get(value, place);
  return token != Polynomial() && element.kind == Element::Kind::Integer &&
         element.integer == token + past;
}

/// The numbers of a constant behind what only shapes it.
DenseElementsAttr OnnxDecoder::matchFrequencies(Value value,
                                                int64_t count) const {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      bool fits = dense && dense.getNumElements() == count &&
                  dense.getElementType().isF32();
      return fits ? dense : DenseElementsAttr();
    }
    if (!isa<onnx::ExpandOp, onnx::CastOp, onnx::UnsqueezeOp, onnx::ReshapeOp,
             onnx::SqueezeOp>(op) ||
        !isFloat(value))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

std::optional<AngleTable> OnnxDecoder::matchTable(Value value,
                                                  bool isCosine) const {
  AngleTable table;
  std::optional<int64_t> pairs = getColumns(value);
  if (!pairs)
    return std::nullopt;
  // cos or sin, scaled and converted.
  Value angles;
  while (!angles) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (isa<onnx::CastOp>(op)) {
      value = op->getOperand(0);
    } else if (isa<onnx::MulOp, onnx::DivOp>(op)) {
      Product product = flattenProduct(value);
      if (product.factors.size() != 1)
        return std::nullopt;
      table.scale *= product.coefficient;
      value = product.factors[0];
    } else if (isCosine ? isa<onnx::CosOp>(op) : isa<onnx::SinOp>(op)) {
      angles = op->getOperand(0);
    } else {
      return std::nullopt;
    }
  }
  // Position times frequency, by a product of matrices or of elements.
  if (auto transpose = angles.getDefiningOp<onnx::TransposeOp>())
    angles = transpose.getData();
  Operation *product = angles.getDefiningOp();
  if (!isa_and_nonnull<onnx::MatMulOp, onnx::MulOp>(product))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    Value frequencies = product->getOperand(i),
          positions = product->getOperand(1 - i);
    table.frequencies = matchFrequencies(frequencies, *pairs);
    if (table.frequencies && isPosition(positions))
      return table;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

/// Operands that rows of an operator are computed of. Positions, tables and
/// masks are those of the step.
static SmallVector<Value> getRowOperands(Operation *op) {
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    return {attention.getQuery(), attention.getKey(), attention.getValue()};
  if (auto attention = dyn_cast<onnx::MicrosoftGroupQueryAttentionOp>(op)) {
    SmallVector<Value> operands = {attention.getQuery()};
    for (Value operand :
         {attention.getKey(), attention.getValue(), attention.getQNormWeight(),
          attention.getKNormWeight()})
      if (operand)
        operands.push_back(operand);
    return operands;
  }
  if (auto product = dyn_cast<onnx::MicrosoftMatMulNBitsOp>(op)) {
    SmallVector<Value> operands = {product.getInput()};
    if (product.getBias())
      operands.push_back(product.getBias());
    return operands;
  }
  if (isa<onnx::MicrosoftGatherBlockQuantizedOp>(op))
    return {};
  if (isa<onnx::RotaryEmbeddingOp, onnx::MicrosoftRotaryEmbeddingOp>(op))
    return {op->getOperand(0)};
  if (auto gather = dyn_cast<onnx::GatherOp>(op))
    if (gather.getData().getDefiningOp<onnx::InitializerOp>())
      return {gather.getData()};
  // The shape of a Reshape is known of the types.
  if (isa<onnx::ReshapeOp, onnx::UnsqueezeOp, onnx::SqueezeOp>(op))
    return {op->getOperand(0)};
  return op->getOperands();
}

void OnnxDecoder::collect() {
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> worklist = {logits};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    llvm::append_range(worklist, getRowOperands(op));
  }
  for (Operation &op : function.getBody().front())
    if (seen.contains(&op))
      needed.push_back(&op);
}

/// The norm before the last matrix, or the matrix, if nothing else reads what
/// goes into it.
void OnnxDecoder::findHead() {
  Value value = logits;
  while (Operation *op = value.getDefiningOp()) {
    bool isNorm = isa<onnx::RMSNormalizationOp, onnx::LayerNormalizationOp,
                      onnx::MicrosoftSimplifiedLayerNormalizationOp>(op);
    bool isLinear =
        isa<onnx::MatMulOp, onnx::GemmOp, onnx::MicrosoftMatMulNBitsOp>(op);
    bool isPointwise =
        isa<onnx::MulOp, onnx::DivOp, onnx::TanhOp, onnx::CastOp, onnx::AddOp>(
            op);
    if (!isNorm && !isLinear && !isPointwise)
      return;
    // The operand that has rows.
    Value input = op->getOperand(0);
    if (isPointwise && getShape(input).size() < 3)
      input = op->getOperand(1);
    if (getShape(input).size() < 2)
      return;
    if (isPointwise && op->getNumOperands() > 1 &&
        getShape(op->getOperand(0)).size() > 1 &&
        getShape(op->getOperand(1)).size() > 1)
      return; // A residual.
    bool hasOneReader = llvm::count_if(input.getUsers(), [&](Operation *user) {
                          return llvm::is_contained(needed, user);
                        }) == 1;
    if (!hasOneReader)
      return;
    if (isNorm || isLinear)
      head = op;
    if (isNorm)
      return;
    value = input;
  }
}

bool OnnxDecoder::analyse() {
  if (!findOutputs() || !findInputs() || !findAttentions())
    return false;
  collect();
  findHead();
  return true;
}
