//===- UpgradeOperator.cpp - Older versions of operators ------------------===//
//
// Source: the changelog of the operators of the ONNX standard.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Onnx/OperatorNode.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// OperatorNode
//===----------------------------------------------------------------------===//

Attribute OperatorNode::find(StringRef attribute) const {
  for (const NamedAttribute &named : attributes)
    if (named.getName() == attribute)
      return named.getValue();
  return {};
}

Attribute OperatorNode::take(StringRef attribute) {
  Attribute value = find(attribute);
  llvm::erase_if(attributes, [&](const NamedAttribute &named) {
    return named.getName() == attribute;
  });
  return value;
}

void OperatorNode::set(StringRef attribute, Attribute value) {
  take(attribute);
  attributes.push_back({StringAttr::get(value.getContext(), attribute), value});
}

Value OperatorNode::getInput(unsigned index) const {
  return index < inputs.size() ? inputs[index] : Value();
}

void OperatorNode::setInput(unsigned index, Value value) {
  if (inputs.size() <= index)
    inputs.resize(index + 1);
  inputs[index] = value;
}

//===----------------------------------------------------------------------===//
// Attributes that became inputs
//===----------------------------------------------------------------------===//

static DenseElementsAttr makeList(MLIRContext *context,
                                  ArrayRef<int64_t> list) {
  auto type = RankedTensorType::get({int64_t(list.size())},
                                    IntegerType::get(context, 64));
  return DenseElementsAttr::get(type, list);
}

/// A list or number that became the input `index`.
static void moveToInput(OperatorNode &node, StringRef attribute, unsigned index,
                        const OperatorBuilder &builder) {
  Attribute value = node.take(attribute);
  if (auto list = dyn_cast_if_present<DenseI64ArrayAttr>(value))
    node.setInput(index, builder.makeConstant(
                             makeList(builder.context, list.asArrayRef())));
  else if (auto number = dyn_cast_if_present<IntegerAttr>(value))
    node.setInput(index, builder.makeConstant(
                             makeList(builder.context, {number.getInt()})));
}

/// A number that became an input of the element type of the first input.
static void moveNumber(OperatorNode &node, StringRef attribute, unsigned index,
                       const OperatorBuilder &builder) {
  auto number = dyn_cast_if_present<FloatAttr>(node.take(attribute));
  auto element =
      cast<RankedTensorType>(node.inputs.front().getType()).getElementType();
  auto type = dyn_cast<FloatType>(element);
  if (!number || !type)
    return;
  APFloat value = number.getValue();
  bool loses;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  node.setInput(index, builder.makeConstant(DenseElementsAttr::get(
                           RankedTensorType::get({}, type), value)));
}

//===----------------------------------------------------------------------===//
// Meanings that changed
//===----------------------------------------------------------------------===//

/// Before version 13 everything from `axis` on was one dimension.
static Value flattenSoftmax(OperatorNode &node,
                            const OperatorBuilder &builder) {
  auto axisAttr = dyn_cast_if_present<IntegerAttr>(node.take("axis"));
  int64_t axis = axisAttr ? axisAttr.getInt() : 1;
  Value input = node.inputs.front();
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  Builder b(builder.context);
  if (axis == -1 || axis == rank - 1) {
    node.set("axis", b.getI64IntegerAttr(-1));
    return {};
  }
  OperatorNode flatten{"Flatten", 13, {input}, {}, 1};
  flatten.set("axis", b.getI64IntegerAttr(axis));
  OperatorNode softmax{node.name, 13, {}, {}, 1};
  softmax.set("axis", b.getI64IntegerAttr(1));
  OperatorNode shape{"Shape", 13, {input}, {}, 1};
  OperatorNode reshape{"Reshape", 13, {}, {}, 1};
  softmax.inputs = {builder.makeOperator(flatten)};
  if (!softmax.inputs.front())
    return {};
  Value flat = builder.makeOperator(softmax),
        sizes = builder.makeOperator(shape);
  if (!flat || !sizes)
    return {};
  reshape.inputs = {flat, sizes};
  return builder.makeOperator(reshape);
}

/// Before version 11 scales were the second input (in Upsample before version 9
/// an attribute), places were those of the input times the scale, and the
/// nearest element was the one before.
static void upgradeResize(OperatorNode &node, const OperatorBuilder &builder) {
  Value scales = node.getInput(1);
  if (auto list = dyn_cast_if_present<DenseF32ArrayAttr>(node.take("scales"))) {
    auto type = RankedTensorType::get({int64_t(list.size())},
                                      Float32Type::get(builder.context));
    scales =
        builder.makeConstant(DenseElementsAttr::get(type, list.asArrayRef()));
  }
  node.name = "Resize";
  node.setInput(1, {});
  node.setInput(2, scales);
  Builder b(builder.context);
  node.set("coordinate_transformation_mode", b.getStringAttr("asymmetric"));
  node.set("nearest_mode", b.getStringAttr("floor"));
  if (auto mode = dyn_cast_if_present<StringAttr>(node.find("mode")))
    if (mode == "bilinear")
      node.set("mode", b.getStringAttr("linear"));
}

/// Before version 21 there was one scale and one bias for a group: each is
/// repeated for the channels of its group.
static llvm::Error repeatGroups(OperatorNode &node,
                                const OperatorBuilder &builder) {
  auto type = cast<RankedTensorType>(node.inputs.front().getType());
  auto groups = dyn_cast_if_present<IntegerAttr>(node.find("num_groups"));
  int64_t channels = type.getRank() > 1 ? type.getDimSize(1) : 0;
  if (!groups || groups.getInt() < 1 || channels <= 0 ||
      channels % groups.getInt() != 0)
    return llvm::createStringError(
        "GroupNormalization before version 21 whose number of channels is not "
        "known or no multiple of num_groups");
  Value inGroup = builder.makeConstant(
      makeList(builder.context, {groups.getInt(), channels / groups.getInt()}));
  Value all = builder.makeConstant(makeList(builder.context, {channels}));
  Value axes = builder.makeConstant(makeList(builder.context, {1}));
  for (unsigned input : {1u, 2u}) {
    Value list = node.getInput(input);
    for (auto [name, operand] :
         {std::pair("Unsqueeze", axes), std::pair("Expand", inGroup),
          std::pair("Reshape", all)})
      if (list)
        list = builder.makeOperator({name, 21, {list, operand}, {}, 1});
    node.setInput(input, list);
  }
  return llvm::Error::success();
}

static llvm::Error upgrade(OperatorNode &node, const OperatorBuilder &builder,
                           Value &replacement) {
  StringRef name = node.name;
  int64_t version = node.version;
  auto is = [&](std::initializer_list<StringRef> names) {
    return llvm::is_contained(names, name);
  };
  if (version < 13 && is({"Softmax", "LogSoftmax", "Hardmax"}))
    replacement = flattenSoftmax(node, builder);
  else if (version < 13 && is({"Squeeze", "Unsqueeze", "ReduceSum"}))
    moveToInput(node, "axes", 1, builder);
  else if (version < 18 && name.starts_with("Reduce"))
    moveToInput(node, "axes", 1, builder);
  else if (version < 13 && name == "Split")
    moveToInput(node, "split", 1, builder);
  else if (version < 10 && name == "TopK")
    moveToInput(node, "k", 1, builder);
  else if (version < 11 && name == "Pad") {
    moveToInput(node, "pads", 1, builder);
    moveNumber(node, "value", 2, builder);
  } else if (version < 11 && name == "Clip") {
    moveNumber(node, "min", 1, builder);
    moveNumber(node, "max", 2, builder);
  } else if (version < 10 && name == "Slice") {
    moveToInput(node, "starts", 1, builder);
    moveToInput(node, "ends", 2, builder);
    moveToInput(node, "axes", 3, builder);
  } else if (name == "Dropout") {
    node.take("ratio");
  } else if (name == "Scatter") {
    node.name = "ScatterElements";
  } else if (name == "BatchNormalization") {
    node.take("spatial");
  } else if ((version < 11 && name == "Resize") || name == "Upsample") {
    upgradeResize(node, builder);
  } else if (version < 21 && name == "GroupNormalization") {
    return repeatGroups(node, builder);
  } else if (name == "microsoft.TransposeMatMul") {
    node.name = "microsoft.FusedMatMul";
  }
  return llvm::Error::success();
}

llvm::Expected<Value> weft::upgradeOperator(OperatorNode &node,
                                            const OperatorBuilder &builder) {
  // What an old version could leave out takes its input first.
  bool hasData = !node.inputs.empty() && node.inputs.front();
  Value replacement;
  if (hasData)
    if (llvm::Error error = upgrade(node, builder, replacement))
      return std::move(error);
  return replacement;
}
