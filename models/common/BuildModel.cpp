//===- BuildModel.cpp - From config and weights to the weft dialect -------===//

#include "models/common/BuildModel.h"

#include "dialects/Weft/WeftDialect.h"
#include "models/common/Meta.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft {

namespace {

constexpr int64_t dynamic = ShapedType::kDynamic;

/// An argument of an entry point: its name, shape and named dynamic sizes.
struct InputSpec {
  StringRef name;
  SmallVector<StringRef, 2> symbols;
};

/// Cosine and sine of one RoPE table for the tokens of a step.
struct RopeValues {
  Value cosine, sine;
};

class Builder {
public:
  Builder(MLIRContext &context, const ModelConfig &config,
          const ModelWeights &weights, const WeightSource &source,
          const BuildOptions &options)
      : builder(&context), config(config), weights(weights), source(source),
        options(options),
        activationType(convert(options.activationType.value_or(config.dtype))),
        cacheType(options.cacheType ? convert(*options.cacheType)
                                    : activationType),
        loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> build();

private:
  Type convert(ElementType type);
  RankedTensorType getType(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType getRows(int64_t size) {
    return getType({dynamic, size}, activationType);
  }
  /// Operations made from here on belong to this part of the model.
  void enter(const Twine &name) {
    loc = NameLoc::get(builder.getStringAttr(name), builder.getUnknownLoc());
  }

  // Entry points.
  func::FuncOp makeEntry(StringRef name, ArrayRef<InputSpec> inputs,
                         bool hasCaches);
  void buildStep();
  void buildEncode();
  void buildRopeTables();
  RopeValues buildRopeTable(const RopeTable &table);

  // Blocks.
  Value buildLayer(int64_t index, Value x);
  Value buildEncoderLayer(int64_t index, Value x);
  Value buildAttention(int64_t index, Value x);
  Value buildMlp(int64_t index, Value x);
  Value buildExperts(const LayerWeights &layer, Value x);

  // Operations.
  Value weight(const Weight &weight);
  Value embed(Value ids, const Weight &table, double scale = 1.0);
  Value norm(Value x, const NormWeights &weights, const Twine &name);
  Value rmsNorm(Value x, const Weight &weight, const Twine &name);
  Value linear(Value x, const LinearWeights &weights, const Twine &name);
  Value linear(Value x, const LinearWeights &weights, const Twine &name,
               Type resultElement);
  Value splitHeads(Value x, int64_t heads);
  Value joinHeads(Value x);
  Value rope(Value x, int64_t layer);
  Value add(Value a, Value b, const Twine &name);

  OpBuilder builder;
  const ModelConfig &config;
  const ModelWeights &weights;
  const WeightSource &source;
  const BuildOptions &options;
  Type activationType, cacheType;
  Location loc;
  /// The entry's arguments by name, and the current values of its caches.
  llvm::StringMap<Value> inputs;
  SmallVector<Value> keyCaches, valueCaches;
  /// Of full layers and of sliding layers.
  RopeValues fullRope, slidingRope;
};

} // namespace

Type Builder::convert(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return builder.getF32Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::BF16:
    return builder.getBF16Type();
  default:
    llvm_unreachable("checkWeights lets no other type through");
  }
}

static Activation toAttribute(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::Silu:
    return Activation::Silu;
  case ActivationKind::Gelu:
    return Activation::Gelu;
  case ActivationKind::GeluTanh:
    return Activation::GeluTanh;
  case ActivationKind::Relu:
    return Activation::Relu;
  case ActivationKind::QuickGelu:
    return Activation::QuickGelu;
  }
  llvm_unreachable("not an ActivationKind");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value Builder::weight(const Weight &weight) {
  SmallVector<Attribute> sources;
  for (const RowRange &range : weight.sources)
    sources.push_back(SourceAttr::get(builder.getContext(), range.name,
                                      range.start, range.block, range.stride,
                                      range.count, range.transposed));
  // Norms and biases keep their type: they are small and often more precise.
  const TensorInfo *stored = source.find(weight.sources.front().name);
  bool isMatrix = weight.shape.size() > 1;
  ElementType type =
      isMatrix && options.weightType ? *options.weightType : stored->type;
  return WeightOp::create(builder, loc, getType(weight.shape, convert(type)),
                          builder.getArrayAttr(sources),
                          PackedLayoutInterface(), DenseI64ArrayAttr());
}

Value Builder::embed(Value ids, const Weight &table, double scale) {
  return EmbedOp::create(builder, loc, getRows(table.shape[1]), ids,
                         weight(table), builder.getF32FloatAttr(scale),
                         PackedLayoutInterface());
}

Value Builder::rmsNorm(Value x, const Weight &factor, const Twine &name) {
  enter(name);
  return RmsNormOp::create(builder, loc, x.getType(), x, weight(factor),
                           builder.getF32FloatAttr(config.normEpsilon),
                           builder.getF32FloatAttr(config.normOffset));
}

Value Builder::norm(Value x, const NormWeights &norm, const Twine &name) {
  if (!norm.bias)
    return rmsNorm(x, norm.weight, name);
  enter(name);
  Value factor = weight(norm.weight);
  return LayerNormOp::create(builder, loc, x.getType(), x, factor,
                             weight(norm.bias),
                             builder.getF32FloatAttr(config.normEpsilon));
}

Value Builder::linear(Value x, const LinearWeights &layer, const Twine &name,
                      Type resultElement) {
  enter(name);
  Value matrix = weight(layer.matrix);
  Value bias = layer.bias ? weight(layer.bias) : Value();
  return LinearOp::create(
      builder, loc, getType({dynamic, layer.matrix.shape[0]}, resultElement), x,
      matrix, bias, PackedLayoutInterface());
}

Value Builder::linear(Value x, const LinearWeights &layer, const Twine &name) {
  return linear(x, layer, name, activationType);
}

Value Builder::splitHeads(Value x, int64_t heads) {
  int64_t size = cast<RankedTensorType>(x.getType()).getDimSize(1);
  return tensor::ExpandShapeOp::create(
      builder, loc, getType({dynamic, heads, size / heads}, activationType), x,
      SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

Value Builder::joinHeads(Value x) {
  return tensor::CollapseShapeOp::create(
      builder, loc, x, SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

Value Builder::rope(Value x, int64_t layer) {
  bool sliding =
      config.slidingRope && config.layerKinds[layer] == LayerKind::Sliding;
  const RopeValues &values = sliding ? slidingRope : fullRope;
  return RopeOp::create(builder, loc, x.getType(), x, values.cosine,
                        values.sine, /*interleaved=*/UnitAttr());
}

Value Builder::add(Value a, Value b, const Twine &name) {
  enter(name);
  return arith::AddFOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value Builder::buildAttention(int64_t index, Value x) {
  const LayerWeights &layer = weights.layers[index];
  const std::string &name = layer.name;
  Value query = linear(x, layer.query, name + ".query");
  query = splitHeads(query, config.headCount);
  Value key = linear(x, layer.key, name + ".key");
  key = splitHeads(key, config.kvHeadCount);
  Value value = linear(x, layer.value, name + ".value");
  value = splitHeads(value, config.kvHeadCount);
  if (layer.queryNorm) {
    query = rmsNorm(query, layer.queryNorm, name + ".query_norm");
    key = rmsNorm(key, layer.keyNorm, name + ".key_norm");
  }
  if (config.rope) {
    enter(name + ".rope");
    query = rope(query, index);
    key = rope(key, index);
  }
  bool paged = !config.isEncoder();
  if (paged) {
    enter(name + ".cache");
    Value slots = inputs["slots"];
    key = keyCaches[index] =
        CacheAppendOp::create(builder, loc, keyCaches[index].getType(),
                              CacheKind::Key, keyCaches[index], key, slots);
    value = valueCaches[index] = CacheAppendOp::create(
        builder, loc, valueCaches[index].getType(), CacheKind::Value,
        valueCaches[index], value, slots);
  }
  enter(name + ".attention");
  bool sliding = config.layerKinds[index] == LayerKind::Sliding;
  Value result = AttentionOp::create(
      builder, loc, query.getType(), query, key, value, inputs["positions"],
      inputs["sequence_ids"], inputs["sequence_starts"],
      paged ? inputs["context_lengths"] : Value(),
      paged ? inputs["block_table"] : Value(),
      builder.getF32FloatAttr(config.attentionScales[index]),
      paged ? builder.getUnitAttr() : UnitAttr(),
      sliding ? builder.getI64IntegerAttr(config.slidingWindow) : IntegerAttr(),
      config.attentionSoftcap != 0
          ? builder.getF32FloatAttr(config.attentionSoftcap)
          : FloatAttr());
  return linear(joinHeads(result), layer.output, name + ".output");
}

Value Builder::buildExperts(const LayerWeights &layer, Value x) {
  const MoeConfig &moe = *config.moe;
  Value logits = linear(x, {layer.router, {}}, layer.name + ".router",
                        builder.getF32Type());
  enter(layer.name + ".route");
  auto route = RouteOp::create(
      builder, loc,
      getType({dynamic, moe.expertsPerToken}, builder.getI32Type()),
      getType({dynamic, moe.expertsPerToken}, builder.getF32Type()), logits,
      builder.getI64IntegerAttr(moe.expertsPerToken),
      moe.normalizeWeights ? builder.getUnitAttr() : UnitAttr());
  auto grouped = [&](Value input, const Weight &stack, StringRef part) {
    enter(layer.name + "." + part);
    return GroupedLinearOp::create(
               builder, loc,
               getType({dynamic, moe.expertsPerToken, stack.shape[1]},
                       activationType),
               input, weight(stack), route.getExperts(),
               PackedLayoutInterface())
        .getResult();
  };
  Value gate = grouped(x, layer.expertGate, "experts.gate");
  Value up = grouped(x, layer.expertUp, "experts.up");
  enter(layer.name + ".experts.activation");
  Value hidden = GatedActivationOp::create(
      builder, loc, up.getType(), toAttribute(config.activation), gate, up);
  Value down = grouped(hidden, layer.expertDown, "experts.down");
  enter(layer.name + ".combine");
  return CombineOp::create(builder, loc, getRows(config.hiddenSize), down,
                           route.getWeights());
}

Value Builder::buildMlp(int64_t index, Value x) {
  const LayerWeights &layer = weights.layers[index];
  if (layer.router)
    return buildExperts(layer, x);
  Activation function = toAttribute(config.activation);
  Value hidden;
  if (layer.gate) {
    Value gate = linear(x, layer.gate, layer.name + ".gate");
    Value up = linear(x, layer.up, layer.name + ".up");
    enter(layer.name + ".activation");
    hidden = GatedActivationOp::create(builder, loc, up.getType(), function,
                                       gate, up);
  } else {
    Value up = linear(x, layer.up, layer.name + ".up");
    enter(layer.name + ".activation");
    hidden = ActivationOp::create(builder, loc, up.getType(), function, up);
  }
  return linear(hidden, layer.down, layer.name + ".down");
}

/// Norms come before attention and network, and in some families also after.
Value Builder::buildLayer(int64_t index, Value x) {
  const LayerWeights &layer = weights.layers[index];
  const std::string &name = layer.name;
  Value attention =
      buildAttention(index, norm(x, layer.attentionNorm, name + ".norm"));
  if (layer.attentionOutputNorm)
    attention =
        norm(attention, layer.attentionOutputNorm, name + ".attention_norm");
  if (config.parallelResidual) {
    Value mlp = buildMlp(index, norm(x, layer.mlpNorm, name + ".mlp_norm"));
    Value sum = add(attention, mlp, name + ".parallel_sum");
    return add(sum, x, name + ".residual");
  }
  x = add(x, attention, name + ".attention_residual");
  Value mlp = buildMlp(index, norm(x, layer.mlpNorm, name + ".mlp_norm"));
  if (layer.mlpOutputNorm)
    mlp = norm(mlp, layer.mlpOutputNorm, name + ".mlp_output_norm");
  return add(x, mlp, name + ".mlp_residual");
}

/// Norms come after the residual.
Value Builder::buildEncoderLayer(int64_t index, Value x) {
  const LayerWeights &layer = weights.layers[index];
  const std::string &name = layer.name;
  x = add(x, buildAttention(index, x), name + ".attention_residual");
  x = norm(x, layer.attentionNorm, name + ".norm");
  x = add(x, buildMlp(index, x), name + ".mlp_residual");
  return norm(x, layer.mlpNorm, name + ".mlp_norm");
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

func::FuncOp Builder::makeEntry(StringRef name, ArrayRef<InputSpec> specs,
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
  for (const InputSpec &spec : specs)
    addArgument(getType(SmallVector<int64_t>(spec.symbols.size(), dynamic),
                        builder.getI32Type()),
                WeftDialect::getNameAttrName(), spec.name, spec.symbols);
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

  // Results: the output, then the states.
  SmallVector<Type> results = {getType(
      {dynamic, config.isEncoder() ? config.hiddenSize : config.vocabSize},
      builder.getF32Type())};
  llvm::append_range(results, stateTypes);
  auto entry = func::FuncOp::create(builder, loc, name,
                                    builder.getFunctionType(types, results));
  entry.setAllArgAttrs(attributes);
  entry.setResultAttr(
      0, WeftDialect::getNameAttrName(),
      builder.getStringAttr(config.isEncoder() ? "hidden" : "logits"));
  for (auto [i, state] : llvm::enumerate(states))
    entry.setResultAttr(i + 1, WeftDialect::getStateAttrName(),
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

RopeValues Builder::buildRopeTable(const RopeTable &table) {
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

void Builder::buildRopeTables() {
  if (!config.rope)
    return;
  enter("rope");
  fullRope = buildRopeTable(*config.rope);
  if (config.slidingRope) {
    enter("sliding_rope");
    slidingRope = buildRopeTable(*config.slidingRope);
  }
}

void Builder::buildStep() {
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
  makeEntry("step", specs, /*hasCaches=*/true);
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
  for (auto [key, value] : llvm::zip_equal(keyCaches, valueCaches)) {
    results.push_back(key);
    results.push_back(value);
  }
  loc = builder.getUnknownLoc();
  func::ReturnOp::create(builder, loc, results);
}

void Builder::buildEncode() {
  makeEntry("encode",
            {{"tokens", {"tokens"}},
             {"positions", {"tokens"}},
             {"token_types", {"tokens"}},
             {"sequence_ids", {"tokens"}},
             {"sequence_starts", {"sequences + 1"}}},
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

OwningOpRef<ModuleOp> Builder::build() {
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
  return Builder(context, config, weights, source, options).build();
}

} // namespace weft
