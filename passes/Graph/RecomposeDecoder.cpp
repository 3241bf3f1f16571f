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
#include "passes/Graph/LowerOnnx.h"
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
  bool lowerEmbedding(onnx::GatherOp op);
  bool lowerAttention(onnx::AttentionOp op);
  template <typename Op> bool lowerRotary(Op op);
  Value makeTable(Value table, Value positions, bool isCosine);
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

bool StepBuilder::lowerEmbedding(onnx::GatherOp op) {
  bool isTokens = op.getIndices() == decoder.tokens;
  if (!isTokens && !decoder.isPosition(op.getIndices()))
    return false;
  std::optional<int64_t> columns = getColumns(op.getData());
  if (graph::getShape(op.getData()).size() != 2 || op.getAxis() != 0 ||
      !columns)
    return false;
  int64_t rows = *graph::getShape(op.getData())[0].getConstant();
  if (rows == 0)
    return false;
  if (isTokens && rows < shape.vocabularySize) {
    // Every id of the logits may be the next token.
    reason = "its table has " + std::to_string(rows) + " rows for the " +
             std::to_string(shape.vocabularySize) + " ids of the logits";
    return false;
  }
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

bool StepBuilder::lowerAttention(onnx::AttentionOp op) {
  Value query = lowering.getHeads(op.getQuery(), op.getQNumHeads()),
        key = lowering.getHeads(op.getKey(), op.getKvNumHeads()),
        value = lowering.getHeads(op.getValue(), op.getKvNumHeads());
  if (!query || !key || !value)
    return false;
  Location loc = lowering.loc;
  auto input = [&](StringRef name) { return entry.inputs.lookup(name); };
  Value &keys = states[2 * layer], &values = states[2 * layer + 1];
  keys = CacheAppendOp::create(builder, loc, keys.getType(), CacheKind::Key,
                               keys, key, input("slots"));
  values =
      CacheAppendOp::create(builder, loc, values.getType(), CacheKind::Value,
                            values, value, input("slots"));
  int64_t window = decoder.attentions[layer].second.window;
  int64_t size = cast<RankedTensorType>(query.getType()).getDimSize(2);
  double scale = op.getScale() ? op.getScale()->convertToDouble()
                               : 1 / std::sqrt(double(size));
  double softcap = op.getSoftcap().convertToDouble();
  lowering.setRows(
      op.getResult(),
      weft::AttentionOp::create(
          builder, loc, query.getType(), query, keys, values,
          input("positions"), input("sequence_ids"), input("sequence_starts"),
          input("context_lengths"), input("block_table"),
          /*key_starts=*/Value(), /*bias=*/Value(),
          builder.getF32FloatAttr(float(scale)), builder.getUnitAttr(),
          window ? builder.getI64IntegerAttr(window) : IntegerAttr(),
          softcap != 0 ? builder.getF32FloatAttr(float(softcap))
                       : FloatAttr()));
  ++layer;
  return true;
}

/// Cosines or sines of the tokens, f32 [tokens, pairs].
Value StepBuilder::makeTable(Value table, Value positions, bool isCosine) {
  Location loc = lowering.loc;
  std::optional<int64_t> pairs = getColumns(table);
  if (!pairs)
    return {};
  auto type = RankedTensorType::get({ShapedType::kDynamic, *pairs},
                                    builder.getF32Type());
  if (positions) {
    auto initializer = table.getDefiningOp<onnx::InitializerOp>();
    if (!initializer || graph::getShape(table).size() != 2 ||
        graph::getShape(table)[0] == Polynomial(0) ||
        !decoder.isPosition(positions))
      return {};
    limitPositions(table);
    Value weight =
        WeightOp::create(builder, loc,
                         RankedTensorType::get(
                             cast<RankedTensorType>(table.getType()).getShape(),
                             elementOf(table)),
                         initializer.getName());
    Value rows =
        EmbedOp::create(builder, loc, type.clone(elementOf(table)),
                        entry.inputs.lookup("positions"), weight,
                        builder.getF32FloatAttr(1), PackedLayoutInterface());
    if (rows.getType() != type)
      rows = arith::ExtFOp::create(builder, loc, type, rows);
    return rows;
  }
  std::optional<AngleTable> angles = decoder.matchTable(table, isCosine);
  if (!angles)
    return {};
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
  Value cosine = makeTable(op.getCosine(), op.getPositionIds(), true),
        sine = cosine ? makeTable(op.getSine(), op.getPositionIds(), false)
                      : Value();
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
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    return lowerAttention(attention);
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
  for (auto &[attention, mask] : decoder.attentions) {
    int64_t heads = attention.getKvNumHeads();
    shape.layers.push_back({heads, *getColumns(attention.getKey()) / heads});
  }
  shape.vocabularySize = *getColumns(decoder.logits);
  shape.cacheType = elementOf(decoder.attentions.front().first.getQuery());
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
