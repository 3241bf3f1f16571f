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

bool OnnxDecoder::findOutputs() {
  for (Value result :
       function.getBody().front().getTerminator()->getOperands()) {
    auto attention = result.getDefiningOp<onnx::AttentionOp>();
    bool isPresent = attention && (result == attention.getPresentKey() ||
                                   result == attention.getPresentValue());
    if (isPresent)
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
      auto gather = dyn_cast<onnx::GatherOp>(user);
      return gather && gather.getIndices() == argument &&
             gather.getData().getDefiningOp<onnx::InitializerOp>();
    });
    bool isPast = llvm::all_of(argument.getUsers(), [&](Operation *user) {
      auto attention = dyn_cast<onnx::AttentionOp>(user);
      return isa<onnx::ShapeOp>(user) ||
             (attention && (attention.getPastKey() == argument ||
                            attention.getPastValue() == argument));
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

bool OnnxDecoder::findAttentions() {
  for (auto attention : function.getOps<onnx::AttentionOp>()) {
    Polynomial own;
    if (attention.getPastKey())
      own = getShape(attention.getPastKey())[2];
    if (!attentions.empty() && own != past)
      return fail("attentions have pasts of different lengths");
    past = own;
    attentions.push_back({attention, {}});
  }
  if (attentions.empty())
    return fail("there is no attention");
  for (auto &[attention, mask] : attentions) {
    onnx::Shape shape = getShape(attention.getQuery());
    if (shape.size() != 3 || shape[0] != batch || shape[1] != length ||
        attention.getNonpadKvSeqlen() || !attention.getScores().use_empty())
      return fail("an attention has another form than that of a decoder");
    if (getShape(attention.getKey()) != getShape(attention.getValue()) ||
        getShape(attention.getKey())[1] != length)
      return fail("keys and values differ in size, or are not those of the "
                  "tokens");
    int64_t left = attention.getLeftWindowSize();
    mask.window = left >= 0 ? left + 1 : 0;
    if (attention.getMask()) {
      auto found = matchCausalMask(elements, attention.getMask(), past);
      if (!found || (mask.window && found->window))
        return fail("the mask of an attention is not causal");
      if (found->window)
        mask = *found;
    } else if (!attention.getIsCausal()) {
      return fail("an attention is not causal");
    }
  }
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
    bool isLinear = isa<onnx::MatMulOp, onnx::GemmOp>(op);
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
