//===- RecomposeDecoder.cpp - The step of a decoder from its graph --------===//
//
// The graph computes logits of [batch, length] tokens behind a past. In a
// decoder only attention looks at other tokens, so that all of it can be
// computed on rows that belong to any sequences: the step of
// docs/architecture.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/EntryPoint.h"
#include "passes/Graph/DecoderFacts.h"
#include "passes/Graph/LowerOnnxModelOps.h"
#include "passes/Graph/OnnxDecoder.h"
#include "passes/Graph/Passes.h"

#include "llvm/Support/JSON.h"

namespace weft::graph {
#define GEN_PASS_DEF_RECOMPOSEDECODER
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

static constexpr StringLiteral passName = "recompose-decoder";

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

namespace {

/// Builds the step.
class StepBuilder {
public:
  StepBuilder(OnnxDecoder &decoder, OpBuilder &builder, bool samples)
      : decoder(decoder), builder(builder),
        lowering(builder, symbolic, /*usesModelOps=*/true) {
    lowering.onlyRows = true;
    shape.samples = samples;
  }

  /// The entry; null if an operator cannot be computed on rows, which
  /// getMissed() then names.
  func::FuncOp build();
  Operation *getMissed() const { return missed; }
  StringRef getReason() const { return reason; }
  const StepShape &getShape() const { return shape; }
  int64_t hiddenSize = 0;
  /// Positions for which the file's tables have rows.
  int64_t mostPositions = std::numeric_limits<int64_t>::max();

private:
  bool lower(Operation *op);
  bool hasAllIds(int64_t rows);
  bool lowerEmbedding(onnx::GatherOp op);
  bool lowerEmbedding(onnx::MicrosoftGatherBlockQuantizedOp op);
  bool lowerAttention();
  template <typename Op> bool lowerRotary(Op op);
  std::array<Value, 3> getProjections(const DecoderAttention &attention);
  /// Heads rotated by tables that have a row for each position.
  Value rotate(Value heads, const DecoderAttention &attention);
  Value makeTable(Value table, bool isCosine);
  Value pickTableRows(Value table);
  /// Rows are read where a position says, without a look at their number.
  void limitPositions(Value table) {
    mostPositions =
        std::min(mostPositions, *graph::getShape(table)[0].getConstant());
  }
  Value pickLogitRows(Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    return EmbedOp::create(builder, lowering.loc, type,
                           entry.inputs.lookup("logit_rows"), rows,
                           builder.getF32FloatAttr(1), PackedLayoutInterface());
  }

  OnnxDecoder &decoder;
  OpBuilder &builder;
  onnx::SymbolicValues symbolic;
  OnnxLowering lowering;
  StepShape shape;
  EntryPoint entry;
  SmallVector<Value> states;
  size_t layer = 0;
  Operation *missed = nullptr;
  std::string reason = "it is not computed for each token alone";
};

} // namespace

/// Whether a table of `rows` rows has one for every id that may be the next
/// token: those of the logits.
bool StepBuilder::hasAllIds(int64_t rows) {
  if (rows >= shape.vocabularySize)
    return true;
  reason = "its table has " + std::to_string(rows) + " rows for the " +
           std::to_string(shape.vocabularySize) + " ids of the logits";
  return false;
}

bool StepBuilder::lowerEmbedding(onnx::GatherOp op) {
  bool isTokens = op.getIndices() == decoder.tokens;
  if (!isTokens && !decoder.isPosition(op.getIndices()))
    return false;
  std::optional<int64_t> columns = getColumns(op.getData());
  onnx::Shape table = graph::getShape(op.getData());
  if (table.size() != 2 || op.getAxis() != 0 || !columns)
    return false;
  int64_t rows = *table[0].getConstant();
  if (rows == 0 || (isTokens && !hasAllIds(rows)))
    return false;
  if (isTokens)
    hiddenSize = *columns;
  else
    limitPositions(op.getData());
  auto type = RankedTensorType::get({ShapedType::kDynamic, *columns},
                                    elementOf(op.getData()));
  lowering.setRows(
      op.getResult(),
      EmbedOp::create(builder, lowering.loc, type,
                      entry.inputs.lookup(isTokens ? "tokens" : "positions"),
                      lowering.get(op.getData()), builder.getF32FloatAttr(1),
                      PackedLayoutInterface()));
  return true;
}

/// Rows of a table of few bits. Ids of a step are in range.
bool StepBuilder::lowerEmbedding(onnx::MicrosoftGatherBlockQuantizedOp op) {
  onnx::Shape data = graph::getShape(op.getData());
  std::optional<int64_t> columns = getColumns(op.getResult());
  if (op.getIndices() != decoder.tokens || data.size() != 2 || !columns ||
      !data[0].isConstant() || op.getGatherAxis() != 0 ||
      (op.getQuantizeAxis() != 1 && op.getQuantizeAxis() != -1) ||
      !hasAllIds(*data[0].getConstant()))
    return false;
  Value table = makeQuantizedWeight(
      lowering,
      {op.getData(), op.getScales(), op.getZeroPoints(), int64_t(op.getBits()),
       int64_t(op.getBlockSize()), *data[0].getConstant(), *columns});
  if (!table)
    return false;
  hiddenSize = *columns;
  auto type = RankedTensorType::get({ShapedType::kDynamic, *columns},
                                    elementOf(op.getScales()));
  lowering.setRows(op.getResult(),
                   EmbedOp::create(builder, lowering.loc, type,
                                   entry.inputs.lookup("tokens"), table,
                                   builder.getF32FloatAttr(1),
                                   PackedLayoutInterface()));
  return true;
}

/// Heads of queries, keys and values as rows; null: they are no rows.
std::array<Value, 3>
StepBuilder::getProjections(const DecoderAttention &attention) {
  std::array<int64_t, 3> heads = {attention.heads, attention.keyHeads,
                                  attention.keyHeads};
  std::array<Value, 3> found = {attention.query, attention.key,
                                attention.value};
  if (attention.key) {
    for (auto [value, count] : llvm::zip_equal(found, heads))
      value = lowering.getHeads(value, count);
    return found;
  }
  Value rows = lowering.getRows(attention.query);
  if (!rows)
    return {};
  SmallVector<int64_t> columns;
  for (int64_t count : heads)
    columns.push_back(count * attention.size);
  SmallVector<Value> parts = splitLinear(lowering, rows, columns);
  int64_t start = 0;
  for (auto [i, count] : llvm::enumerate(columns)) {
    if (!parts.empty()) {
      found[i] = parts[i];
    } else {
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(builder, lowering.loc, rows);
      SmallVector<OpFoldResult> offsets(2, builder.getIndexAttr(0)),
          strides(2, builder.getIndexAttr(1));
      offsets[1] = builder.getIndexAttr(start);
      sizes[1] = builder.getIndexAttr(count);
      auto type = cast<RankedTensorType>(rows.getType());
      found[i] = tensor::ExtractSliceOp::create(
          builder, lowering.loc, type.clone({type.getDimSize(0), count}), rows,
          offsets, sizes, strides);
    }
    start += count;
    found[i] = lowering.splitColumns(found[i], heads[i]);
  }
  return found;
}

Value StepBuilder::rotate(Value heads, const DecoderAttention &attention) {
  Value cosine = pickTableRows(attention.cosine),
        sine = cosine ? pickTableRows(attention.sine) : Value();
  if (!sine || sine.getType() != cosine.getType() ||
      2 * cast<RankedTensorType>(cosine.getType()).getDimSize(1) >
          attention.size)
    return {};
  return RopeOp::create(
      builder, lowering.loc, heads.getType(), heads, cosine, sine,
      attention.isInterleaved ? builder.getUnitAttr() : UnitAttr());
}

bool StepBuilder::lowerAttention() {
  const DecoderAttention &attention = decoder.attentions[layer];
  auto [query, key, value] = getProjections(attention);
  if (!query || !key || !value)
    return false;
  Location loc = lowering.loc;
  for (auto [heads, norm] : {std::pair(&query, attention.queryNorm),
                             std::pair(&key, attention.keyNorm)}) {
    if (norm)
      *heads = RmsNormOp::create(
          builder, loc, heads->getType(), *heads, lowering.get(norm),
          builder.getF32FloatAttr(float(attention.epsilon)),
          builder.getF32FloatAttr(0));
    if (attention.cosine)
      *heads = rotate(*heads, attention);
    if (!*heads)
      return false;
  }
  auto input = [&](StringRef name) { return entry.inputs.lookup(name); };
  Value &keys = states[2 * layer], &values = states[2 * layer + 1];
  keys = CacheAppendOp::create(builder, loc, keys.getType(), CacheKind::Key,
                               keys, key, input("slots"));
  values =
      CacheAppendOp::create(builder, loc, values.getType(), CacheKind::Value,
                            values, value, input("slots"));
  int64_t window = attention.mask.window;
  lowering.setRows(
      attention.op->getResult(0),
      weft::AttentionOp::create(
          builder, loc, query.getType(), query, keys, values,
          input("positions"), input("sequence_ids"), input("sequence_starts"),
          input("context_lengths"), input("block_table"),
          /*key_starts=*/Value(), /*bias=*/Value(),
          builder.getF32FloatAttr(float(attention.scale)),
          builder.getUnitAttr(),
          window ? builder.getI64IntegerAttr(window) : IntegerAttr(),
          attention.softcap != 0
              ? builder.getF32FloatAttr(float(attention.softcap))
              : FloatAttr()));
  ++layer;
  return true;
}

/// Rows of the tokens' positions of a table of the file [positions, pairs], in
/// f32.
Value StepBuilder::pickTableRows(Value table) {
  auto initializer = table.getDefiningOp<onnx::InitializerOp>();
  std::optional<int64_t> pairs = getColumns(table);
  if (!initializer || !pairs || graph::getShape(table).size() != 2 ||
      graph::getShape(table)[0] == Polynomial(0) || !isModelType(table))
    return {};
  Location loc = lowering.loc;
  auto stored = RankedTensorType::get(
      cast<RankedTensorType>(table.getType()).getShape(), elementOf(table));
  limitPositions(table);
  Value weight = WeightOp::create(builder, loc, stored, initializer.getName());
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, *pairs}, elementOf(table));
  Value rows = EmbedOp::create(
      builder, loc, type, entry.inputs.lookup("positions"), weight,
      builder.getF32FloatAttr(1), PackedLayoutInterface());
  if (!type.getElementType().isF32())
    rows = arith::ExtFOp::create(builder, loc, type.clone(builder.getF32Type()),
                                 rows);
  return rows;
}

/// Computed cosines or sines of the tokens, f32 [tokens, pairs].
Value StepBuilder::makeTable(Value table, bool isCosine) {
  Location loc = lowering.loc;
  std::optional<int64_t> pairs = getColumns(table);
  std::optional<AngleTable> angles =
      pairs ? decoder.matchTable(table, isCosine) : std::nullopt;
  if (!angles)
    return {};
  auto type = RankedTensorType::get({ShapedType::kDynamic, *pairs},
                                    builder.getF32Type());
  auto frequencyType = RankedTensorType::get({1, *pairs}, builder.getF32Type());
  Value frequencies = arith::ConstantOp::create(
      builder, loc, angles->frequencies.reshape(frequencyType));
  auto op = RopeTableOp::create(
      builder, loc, type, type, entry.inputs.lookup("positions"), frequencies,
      Value(), builder.getDenseF32ArrayAttr({float(angles->scale)}));
  return isCosine ? op.getCosine() : op.getSine();
}

template <typename Op> bool StepBuilder::lowerRotary(Op op) {
  std::optional<int64_t> columns = getColumns(op.getInput()),
                         pairs = getColumns(op.getCosine());
  if (graph::getShape(op.getInput()).size() != 3 || !columns || !pairs)
    return false;
  int64_t heads = op.getNumHeads(), width = op.getRotaryEmbeddingDim();
  if (!heads && *pairs > 0)
    heads = *columns / (2 * *pairs);
  Value rows = lowering.getHeads(op.getInput(), heads);
  if (!rows)
    return false;
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(2);
  if (2 * *pairs != (width ? width : size))
    return false;
  Value positions = op.getPositionIds();
  if (positions && !decoder.isPosition(positions))
    return false;
  auto make = [&](Value table, bool isCosine) {
    return positions ? pickTableRows(table) : makeTable(table, isCosine);
  };
  Value cosine = make(op.getCosine(), true),
        sine = cosine ? make(op.getSine(), false) : Value();
  if (!sine)
    return false;
  lowering.setRows(
      op.getResult(),
      RopeOp::create(builder, lowering.loc, rows.getType(), rows, cosine, sine,
                     op.getInterleaved() ? builder.getUnitAttr() : UnitAttr()));
  return true;
}

bool StepBuilder::lower(Operation *op) {
  lowering.loc = op->getLoc();
  if (op == decoder.head)
    if (Value rows = lowering.getRows(op->getOperand(0)))
      lowering.setRows(op->getOperand(0), pickLogitRows(rows));
  if (auto gather = dyn_cast<onnx::GatherOp>(op);
      gather && gather.getData().getDefiningOp<onnx::InitializerOp>())
    return lowerEmbedding(gather);
  if (auto gather = dyn_cast<onnx::MicrosoftGatherBlockQuantizedOp>(op))
    return lowerEmbedding(gather);
  if (isa<onnx::AttentionOp, onnx::MicrosoftGroupQueryAttentionOp>(op))
    return lowerAttention();
  if (auto rotary = dyn_cast<onnx::RotaryEmbeddingOp>(op))
    return lowerRotary(rotary);
  if (auto rotary = dyn_cast<onnx::MicrosoftRotaryEmbeddingOp>(op))
    return !rotary.getIsPackedBatching() &&
           rotary.getScale().convertToDouble() == 1 && lowerRotary(rotary);
  // What no token has a part in, such as weights.
  bool isStatic = llvm::all_of(op->getResults(), [](Value result) {
    return cast<RankedTensorType>(result.getType()).hasStaticShape();
  });
  if (isStatic)
    return lowering.lower(op);
  return lowering.lowerToModelOp(op);
}

func::FuncOp StepBuilder::build() {
  for (const DecoderAttention &attention : decoder.attentions)
    shape.layers.push_back({attention.keyHeads, attention.size});
  shape.vocabularySize = *getColumns(decoder.logits);
  shape.cacheType = elementOf(decoder.attentions.front().query);
  entry = makeStepEntry(builder, decoder.function.getLoc(), shape);
  states = entry.states;
  for (Operation *op : decoder.needed) {
    symbolic.visit(op);
    if (!lower(op)) {
      missed = op;
      entry.function.erase();
      return {};
    }
  }
  lowering.loc = builder.getUnknownLoc();
  Value rows = lowering.getRows(decoder.logits);
  if (!decoder.head)
    rows = pickLogitRows(rows);
  auto type = cast<RankedTensorType>(rows.getType());
  if (!type.getElementType().isF32())
    rows = arith::ExtFOp::create(builder, lowering.loc,
                                 type.clone(builder.getF32Type()), rows);
  finishStep(builder, shape, entry, rows, states);
  return entry.function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class RecomposeDecoder
    : public graph::impl::RecomposeDecoderBase<RecomposeDecoder> {
public:
  using RecomposeDecoderBase::RecomposeDecoderBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto facts = module->getAttrOfType<StringAttr>(decoderFactsAttrName);
    if (!facts)
      return;
    module->removeAttr(decoderFactsAttrName);
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    if (functions.size() != 1 || functions.front().isExternal())
      return;
    func::FuncOp function = functions.front();
    Operation *end = function.getBody().front().getTerminator();
    OnnxDecoder decoder(function);
    if (!decoder.analyse())
      return remarkMissed(end, passName, decoder.getMissed());
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    StepBuilder step(decoder, builder, samples);
    if (!step.build())
      return remarkMissed(step.getMissed(), passName, step.getReason());
    remarkApplied(end, passName, "the step of a decoder");
    setMeta(module, facts.getValue(), step);
    if (stepOnly)
      function.erase();
  }

  /// What a runtime wants to know of the model: what was told and what was
  /// found.
  static void setMeta(ModuleOp module, StringRef facts,
                      const StepBuilder &step) {
    llvm::json::Object meta;
    if (llvm::Expected<llvm::json::Value> told = llvm::json::parse(facts)) {
      if (llvm::json::Object *object = told->getAsObject())
        meta = std::move(*object);
    } else {
      llvm::consumeError(told.takeError());
    }
    const StepShape &shape = step.getShape();
    meta["format"] = 1;
    meta["kind"] = "decoder";
    meta["family"] = "onnx";
    meta["vocab_size"] = shape.vocabularySize;
    meta["layers"] = int64_t(shape.layers.size());
    meta["block_size"] = shape.blockSize;
    if (std::optional<int64_t> context = meta.getInteger("context_length");
        context && *context > step.mostPositions)
      meta["context_length"] = step.mostPositions;
    if (step.hiddenSize)
      meta["hidden_size"] = step.hiddenSize;
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(meta));
    module->setAttr(WeftDialect::getMetaAttrName(),
                    StringAttr::get(module.getContext(), text));
  }
};
} // namespace
