//===- BlockBuilder.cpp - Operations and layers of a model ----------------===//

#include "models/common/BlockBuilder.h"

#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace weft {

BlockBuilder::BlockBuilder(MLIRContext &context, const ModelConfig &config,
                           const ModelWeights &weights,
                           const WeightSource &source,
                           const BuildOptions &options)
    : builder(&context), config(config), weights(weights), source(source),
      options(options),
      activationType(convert(options.activationType.value_or(config.dtype))),
      cacheType(options.cacheType ? convert(*options.cacheType)
                                  : activationType),
      loc(builder.getUnknownLoc()) {}

void BlockBuilder::enter(const Twine &name) {
  loc = NameLoc::get(builder.getStringAttr(name), builder.getUnknownLoc());
}

Type BlockBuilder::convert(ElementType type) {
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

Value BlockBuilder::weight(const Weight &weight) {
  SmallVector<Attribute> sources;
  for (const RowRange &range : weight.sources)
    sources.push_back(SourceAttr::get(builder.getContext(), range.name,
                                      range.start, range.block, range.stride,
                                      range.count, range.transposed,
                                      /*pairs=*/0, QuantizationAttr()));
  // Norms and biases keep their type: they are small and often more precise.
  const TensorInfo *stored = source.find(weight.sources.front().name);
  bool isMatrix = weight.shape.size() > 1;
  ElementType type =
      isMatrix && options.weightType ? *options.weightType : stored->type;
  return WeightOp::create(builder, loc, getType(weight.shape, convert(type)),
                          builder.getArrayAttr(sources),
                          PackedLayoutInterface(), DenseI64ArrayAttr());
}

Value BlockBuilder::embed(Value ids, const Weight &table, double scale) {
  return EmbedOp::create(builder, loc, getRows(table.shape[1]), ids,
                         weight(table), builder.getF32FloatAttr(scale),
                         PackedLayoutInterface());
}

Value BlockBuilder::rmsNorm(Value x, const Weight &factor, const Twine &name) {
  enter(name);
  return RmsNormOp::create(builder, loc, x.getType(), x, weight(factor),
                           builder.getF32FloatAttr(config.normEpsilon),
                           builder.getF32FloatAttr(config.normOffset));
}

Value BlockBuilder::norm(Value x, const NormWeights &norm, const Twine &name) {
  if (!norm.bias)
    return rmsNorm(x, norm.weight, name);
  enter(name);
  Value factor = weight(norm.weight);
  return LayerNormOp::create(builder, loc, x.getType(), x, factor,
                             weight(norm.bias),
                             builder.getF32FloatAttr(config.normEpsilon));
}

Value BlockBuilder::linear(Value x, const LinearWeights &layer,
                           const Twine &name, Type resultElement) {
  enter(name);
  Value matrix = weight(layer.matrix);
  Value bias = layer.bias ? weight(layer.bias) : Value();
  return LinearOp::create(
      builder, loc, getType({dynamic, layer.matrix.shape[0]}, resultElement), x,
      matrix, bias, PackedLayoutInterface());
}

Value BlockBuilder::splitHeads(Value x, int64_t heads) {
  int64_t size = cast<RankedTensorType>(x.getType()).getDimSize(1);
  return tensor::ExpandShapeOp::create(
      builder, loc, getType({dynamic, heads, size / heads}, activationType), x,
      SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

Value BlockBuilder::joinHeads(Value x) {
  return tensor::CollapseShapeOp::create(
      builder, loc, x, SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

Value BlockBuilder::rope(Value x, int64_t layer) {
  bool sliding =
      config.slidingRope && config.layerKinds[layer] == LayerKind::Sliding;
  const RopeValues &values = sliding ? slidingRope : fullRope;
  return RopeOp::create(builder, loc, x.getType(), x, values.cosine,
                        values.sine, /*interleaved=*/UnitAttr());
}

Value BlockBuilder::add(Value a, Value b, const Twine &name) {
  enter(name);
  return arith::AddFOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value BlockBuilder::buildAttention(int64_t index, Value x) {
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
      /*key_starts=*/Value(), /*bias=*/Value(),
      builder.getF32FloatAttr(config.attentionScales[index]),
      paged ? builder.getUnitAttr() : UnitAttr(),
      sliding ? builder.getI64IntegerAttr(config.slidingWindow) : IntegerAttr(),
      config.attentionSoftcap != 0
          ? builder.getF32FloatAttr(config.attentionSoftcap)
          : FloatAttr());
  return linear(joinHeads(result), layer.output, name + ".output");
}

Value BlockBuilder::buildExperts(const LayerWeights &layer, Value x) {
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

Value BlockBuilder::buildMlp(int64_t index, Value x) {
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
Value BlockBuilder::buildLayer(int64_t index, Value x) {
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
Value BlockBuilder::buildEncoderLayer(int64_t index, Value x) {
  const LayerWeights &layer = weights.layers[index];
  const std::string &name = layer.name;
  x = add(x, buildAttention(index, x), name + ".attention_residual");
  x = norm(x, layer.attentionNorm, name + ".norm");
  x = add(x, buildMlp(index, x), name + ".mlp_residual");
  return norm(x, layer.mlpNorm, name + ".mlp_norm");
}

} // namespace weft
