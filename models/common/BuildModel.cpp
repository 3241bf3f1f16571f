//===- BuildModel.cpp - From config and weights to the weft dialect -------===//

#include "models/common/BuildModel.h"

#include "dialects/Weft/EntryPoint.h"
#include "dialects/Weft/WeftDialect.h"
#include "models/common/BlockBuilder.h"
#include "models/common/Meta.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft {

namespace {

/// Entry points around the layers.
class ModelBuilder : BlockBuilder {
public:
  using BlockBuilder::BlockBuilder;

  OwningOpRef<ModuleOp> build();

private:
  void buildStep();
  void buildEncode();
  void buildRopeTables();
  RopeValues buildRopeTable(const RopeTable &table);
};

} // namespace

RopeValues ModelBuilder::buildRopeTable(const RopeTable &table) {
  SmallVector<float> frequencies(table.inverseFrequencies.begin(),
                                 table.inverseFrequencies.end());
  llvm::append_range(frequencies, table.longInverseFrequencies);
  int64_t tables = table.hasLongTable() ? 2 : 1;
  int64_t pairs = table.rotarySize / 2;
  auto type = getType({tables, pairs}, builder.getF32Type());
  Value constant = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef(frequencies)));
  SmallVector<float> scales(tables, table.scale);
  auto resultType = getType({dynamic, pairs}, builder.getF32Type());
  auto op = RopeTableOp::create(
      builder, loc, resultType, resultType, inputs["positions"], constant,
      table.hasLongTable() ? inputs["rope_choice"] : Value(),
      builder.getDenseF32ArrayAttr(scales));
  return {op.getCosine(), op.getSine()};
}

void ModelBuilder::buildRopeTables() {
  if (!config.rope)
    return;
  enter("rope");
  fullRope = buildRopeTable(*config.rope);
  if (config.slidingRope) {
    enter("sliding_rope");
    slidingRope = buildRopeTable(*config.slidingRope);
  }
}

void ModelBuilder::buildStep() {
  auto hasLong = [](const std::optional<RopeTable> &table) {
    return table && table->hasLongTable();
  };
  StepShape shape;
  shape.vocabularySize = config.vocabSize;
  shape.layers.assign(config.layerCount, {config.kvHeadCount, config.headSize});
  shape.cacheType = cacheType;
  shape.blockSize = options.blockSize;
  shape.hasRopeChoice = hasLong(config.rope) || hasLong(config.slidingRope);
  shape.samples = options.samples;
  EntryPoint entry = makeStepEntry(builder, loc, shape);
  inputs = entry.inputs;
  for (size_t i = 0; i < entry.states.size(); i += 2) {
    keyCaches.push_back(entry.states[i]);
    valueCaches.push_back(entry.states[i + 1]);
  }
  buildRopeTables();

  enter("embedding");
  Value x =
      embed(inputs["tokens"], weights.tokenEmbedding, config.embeddingScale);
  if (weights.positionEmbedding) {
    enter("position_embedding");
    Value positions = embed(inputs["positions"], weights.positionEmbedding);
    x = add(x, positions, "embedding_sum");
  }
  for (int64_t i = 0; i < config.layerCount; ++i)
    x = buildLayer(i, x);

  // Only the rows whose logits are wanted go through the head.
  enter("logit_rows");
  x = EmbedOp::create(builder, loc, getRows(config.hiddenSize),
                      inputs["logit_rows"], x, builder.getF32FloatAttr(1.0f),
                      PackedLayoutInterface());
  x = norm(x, weights.finalNorm, "final_norm");
  Value logits = linear(x, {weights.head, {}}, "head", builder.getF32Type());
  if (config.logitSoftcap != 0) {
    enter("logit_softcap");
    logits = SoftcapOp::create(builder, loc, logits.getType(), logits,
                               builder.getF32FloatAttr(config.logitSoftcap));
  }
  SmallVector<Value> states;
  for (auto [key, value] : llvm::zip_equal(keyCaches, valueCaches)) {
    states.push_back(key);
    states.push_back(value);
  }
  finishStep(builder, shape, entry, logits, states);
  loc = builder.getUnknownLoc();
}

void ModelBuilder::buildEncode() {
  auto hidden = getType({dynamic, config.hiddenSize}, builder.getF32Type());
  inputs = makeEntryPoint(builder, loc, "encode",
                          {{"tokens", {"tokens"}},
                           {"positions", {"tokens"}},
                           {"token_types", {"tokens"}},
                           {"sequence_ids", {"tokens"}},
                           {"sequence_starts", {"sequences + 1"}}},
                          {EntryTensor{"hidden", hidden}})
               .inputs;
  enter("embedding");
  Value x = embed(inputs["tokens"], weights.tokenEmbedding);
  enter("position_embedding");
  Value positions = embed(inputs["positions"], weights.positionEmbedding);
  enter("type_embedding");
  Value types = embed(inputs["token_types"], weights.typeEmbedding);
  x = add(x, types, "embedding_sum");
  x = add(x, positions, "embedding_sum");
  x = norm(x, weights.embeddingNorm, "embedding_norm");
  for (int64_t i = 0; i < config.layerCount; ++i)
    x = buildEncoderLayer(i, x);
  if (x.getType() != hidden) {
    enter("hidden");
    x = arith::ExtFOp::create(builder, loc, hidden, x);
  }
  loc = builder.getUnknownLoc();
  func::ReturnOp::create(builder, loc, x);
}

OwningOpRef<ModuleOp> ModelBuilder::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  std::string meta;
  llvm::raw_string_ostream(meta)
      << makeMeta(config, options.weightType.value_or(config.dtype),
                  weights.getParameterCount(), options.blockSize, options.name);
  (*module)->setAttr(WeftDialect::getMetaAttrName(),
                     builder.getStringAttr(meta));
  builder.setInsertionPointToStart(module->getBody());
  if (config.isEncoder())
    buildEncode();
  else
    buildStep();
  return module;
}

OwningOpRef<ModuleOp> buildModel(MLIRContext &context,
                                 const ModelConfig &config,
                                 const ModelWeights &weights,
                                 const WeightSource &source,
                                 const BuildOptions &options) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect, WeftDialect>();
  return ModelBuilder(context, config, weights, source, options).build();
}

} // namespace weft
