//===- BuildModel.cpp - From config and weights to the weft dialect -------===//

#include "models/common/BuildModel.h"

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

/// An argument of an entry point: its name, its named dynamic sizes, then a
/// number of columns if it has any.
struct InputSpec {
  StringRef name;
  SmallVector<StringRef, 2> symbols;
  int64_t columns = 0;
  bool isFloat = false;
};

/// A result of an entry point.
struct OutputSpec {
  StringRef name;
  RankedTensorType type;
};

/// Entry points around the layers.
class ModelBuilder : BlockBuilder {
public:
  using BlockBuilder::BlockBuilder;

  OwningOpRef<ModuleOp> build();

private:
  func::FuncOp makeEntry(StringRef name, ArrayRef<InputSpec> inputs,
                         ArrayRef<OutputSpec> outputs, bool hasCaches);
  void buildStep();
  SmallVector<Value> buildSampling(Value logits);
  void buildEncode();
  void buildRopeTables();
  RopeValues buildRopeTable(const RopeTable &table);
};

} // namespace

func::FuncOp ModelBuilder::makeEntry(StringRef name, ArrayRef<InputSpec> specs,
                                     ArrayRef<OutputSpec> outputs,
                                     bool hasCaches) {
  auto makeNames = [&](ArrayRef<StringRef> names) {
    return builder.getStrArrayAttr(names);
  };
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](Type type, StringRef kind, StringRef argumentName,
                         ArrayRef<StringRef> symbols) {
    types.push_back(type);
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(kind, builder.getStringAttr(argumentName)),
         builder.getNamedAttr(WeftDialect::getSymbolsAttrName(),
                              makeNames(symbols))}));
  };
  for (const InputSpec &spec : specs) {
    SmallVector<int64_t> shape(spec.symbols.size(), dynamic);
    if (spec.columns)
      shape.push_back(spec.columns);
    Type element =
        spec.isFloat ? Type(builder.getF32Type()) : Type(builder.getI32Type());
    addArgument(getType(shape, element), WeftDialect::getNameAttrName(),
                spec.name, spec.symbols);
  }
  SmallVector<std::string> states;
  SmallVector<Type> stateTypes;
  if (hasCaches)
    for (int64_t i = 0; i < config.layerCount; ++i) {
      int64_t heads = config.kvHeadCount, size = config.headSize;
      std::string cache = "cache." + std::to_string(i);
      states.push_back(cache + ".key");
      stateTypes.push_back(
          getType({dynamic, heads, size, options.blockSize}, cacheType));
      states.push_back(cache + ".value");
      stateTypes.push_back(
          getType({dynamic, heads, options.blockSize, size}, cacheType));
    }
  for (auto [state, type] : llvm::zip_equal(states, stateTypes))
    addArgument(type, WeftDialect::getStateAttrName(), state, {"cache_blocks"});

  // Results: the outputs, then the states.
  SmallVector<Type> results;
  for (const OutputSpec &output : outputs)
    results.push_back(output.type);
  llvm::append_range(results, stateTypes);
  auto entry = func::FuncOp::create(builder, loc, name,
                                    builder.getFunctionType(types, results));
  entry.setAllArgAttrs(attributes);
  for (auto [i, output] : llvm::enumerate(outputs))
    entry.setResultAttr(i, WeftDialect::getNameAttrName(),
                        builder.getStringAttr(output.name));
  for (auto [i, state] : llvm::enumerate(states))
    entry.setResultAttr(outputs.size() + i, WeftDialect::getStateAttrName(),
                        builder.getStringAttr(state));

  Block *body = entry.addEntryBlock();
  builder.setInsertionPointToStart(body);
  for (auto [i, spec] : llvm::enumerate(specs))
    inputs[spec.name] = body->getArgument(i);
  for (size_t i = 0; i < states.size(); i += 2) {
    keyCaches.push_back(body->getArgument(specs.size() + i));
    valueCaches.push_back(body->getArgument(specs.size() + i + 1));
  }
  return entry;
}

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
  SmallVector<InputSpec> specs = {{"tokens", {"tokens"}},
                                  {"positions", {"tokens"}},
                                  {"sequence_ids", {"tokens"}},
                                  {"slots", {"tokens"}},
                                  {"sequence_starts", {"sequences + 1"}},
                                  {"context_lengths", {"sequences"}},
                                  {"block_table", {"sequences", "table_width"}},
                                  {"logit_rows", {"logits"}}};
  auto hasLong = [](const std::optional<RopeTable> &table) {
    return table && table->hasLongTable();
  };
  if (hasLong(config.rope) || hasLong(config.slidingRope))
    specs.push_back({"rope_choice", {"tokens"}});
  SmallVector<OutputSpec> outputs = {
      {"logits", getType({dynamic, config.vocabSize}, builder.getF32Type())}};
  if (options.samples) {
    specs.push_back({"sampling_counts", {"logits"}, 2});
    specs.push_back({"sampling_options", {"logits"}, 4, /*isFloat=*/true});
    specs.push_back({"adjustment_places", {"adjustments"}, 2});
    specs.push_back({"adjustment_values", {"adjustments"}, 2, true});
    outputs.push_back({"ids", getType({dynamic}, builder.getI32Type())});
  }
  makeEntry("step", specs, outputs, /*hasCaches=*/true);
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
  SmallVector<Value> results = {logits};
  if (options.samples)
    results = buildSampling(logits);
  for (auto [key, value] : llvm::zip_equal(keyCaches, valueCaches)) {
    results.push_back(key);
    results.push_back(value);
  }
  loc = builder.getUnknownLoc();
  func::ReturnOp::create(builder, loc, results);
}

SmallVector<Value> ModelBuilder::buildSampling(Value logits) {
  enter("adjust_logits");
  logits = AdjustLogitsOp::create(builder, loc, logits.getType(), logits,
                                  inputs["adjustment_places"],
                                  inputs["adjustment_values"]);
  enter("sample");
  Value ids = SampleOp::create(
      builder, loc, getType({dynamic}, builder.getI32Type()), logits,
      inputs["sampling_counts"], inputs["sampling_options"]);
  return {logits, ids};
}

void ModelBuilder::buildEncode() {
  makeEntry(
      "encode",
      {{"tokens", {"tokens"}},
       {"positions", {"tokens"}},
       {"token_types", {"tokens"}},
       {"sequence_ids", {"tokens"}},
       {"sequence_starts", {"sequences + 1"}}},
      {{"hidden", getType({dynamic, config.hiddenSize}, builder.getF32Type())}},
      /*hasCaches=*/false);
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
  auto resultType = getType({dynamic, config.hiddenSize}, builder.getF32Type());
  if (x.getType() != resultType) {
    enter("hidden");
    x = arith::ExtFOp::create(builder, loc, resultType, x);
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
