//===- ImportLoop.cpp - Loops as copies of their bodies -------------------===//
//
// A plan has no loops: the number of iterations must be known when the model is
// compiled, and the graph becomes one copy of the body after the other. So what
// a loop carries may change its shape.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Onnx/GraphImporter.h"

using namespace mlir;
using namespace weft;

/// Nodes that copies of bodies may have together.
static constexpr size_t maxCopiedNodes = 1 << 16;

const OnnxGraph *GraphImporter::takeBody(const OnnxNode &node) {
  where = describe(node);
  const OnnxAttribute *attribute = node.find("body");
  if (!attribute || attribute->graphs.size() != 1) {
    fail("no graph 'body'", "the attribute body");
    return nullptr;
  }
  const OnnxGraph &graph = *attribute->graphs.front();
  copiedNodes += graph.nodes.size() + 1;
  if (copiedNodes > maxCopiedNodes) {
    fail("a loop whose copies have more than " + Twine(maxCopiedNodes) +
             " nodes",
         "fewer iterations");
    return nullptr;
  }
  return &graph;
}

Value GraphImporter::makeNumbers(ArrayRef<int64_t> numbers, bool isScalar) {
  SmallVector<int64_t, 1> shape;
  if (!isScalar)
    shape.push_back(numbers.size());
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  return makeConstant(DenseElementsAttr::get(type, numbers));
}

Value GraphImporter::takeElement(Value list, int64_t index, int64_t axis) {
  OperatorNode gather{"Gather", 13, {list, makeNumbers(index, true)}, {}, 1};
  gather.set("axis", builder.getI64IntegerAttr(axis));
  SmallVector<Value> results = makeOperator(std::move(gather));
  return results.empty() ? Value() : results.front();
}

Value GraphImporter::joinElements(ArrayRef<Value> elements, int64_t axis) {
  OperatorNode concat{"Concat", 13, {}, {}, 1};
  Value axes = makeNumbers(axis, false);
  for (Value element : elements) {
    SmallVector<Value> one =
        makeOperator({"Unsqueeze", 13, {element, axes}, {}, 1});
    if (one.empty())
      return {};
    concat.inputs.push_back(one.front());
  }
  concat.set("axis", builder.getI64IntegerAttr(axis));
  SmallVector<Value> results = makeOperator(std::move(concat));
  return results.empty() ? Value() : results.front();
}

bool GraphImporter::importLoop(const OnnxNode &node, Scope &scope) {
  SmallVector<Value> inputs;
  for (StringRef input : node.inputs) {
    inputs.push_back(input.empty() ? Value() : lookup(input, scope));
    if (!input.empty() && !inputs.back())
      return false;
  }
  inputs.resize(std::max<size_t>(inputs.size(), 2));
  std::optional<int64_t> most;
  if (inputs[0]) {
    auto count = symbolic.getNumbers(inputs[0]);
    if (!count || count->size() != 1) {
      fail("a number of iterations that is not known", "one BOOL and one INT64",
           adviseConstants(inputs[0]));
      return false;
    }
    most = count->front();
  }
  Value condition = inputs[1];
  SmallVector<Value> carried(ArrayRef(inputs).drop_front(2));
  std::vector<SmallVector<Value>> scanned;
  int64_t iteration = 0;
  for (;; ++iteration) {
    if (most && iteration >= *most)
      break;
    if (condition) {
      auto isTrue = symbolic.getNumbers(condition);
      if (!isTrue || isTrue->size() != 1) {
        fail("a condition that is computed from data",
             "one that is known when the model is compiled",
             adviseConstants(condition));
        return false;
      }
      if (!isTrue->front())
        break;
    }
    const OnnxGraph *body = takeBody(node);
    if (!body)
      return false;
    SmallVector<Value> arguments = {makeNumbers(iteration, true), condition};
    if (!condition)
      arguments[1] = makeConstant(DenseElementsAttr::get(
          RankedTensorType::get({}, builder.getI1Type()), true));
    llvm::append_range(arguments, carried);
    auto results = importBody(node, *body, arguments, scope);
    if (!results)
      return false;
    size_t outputs = carried.size() + scanned.size();
    if (body->inputs.size() != arguments.size() ||
        results->size() < 1 + carried.size() ||
        (iteration > 0 && results->size() != 1 + outputs)) {
      fail("a body with " + Twine(body->inputs.size()) + " inputs and " +
               Twine(results->size()) + " outputs",
           Twine(arguments.size()) + " inputs and at least " +
               Twine(1 + carried.size()) + " outputs");
      return false;
    }
    scanned.resize(results->size() - 1 - carried.size());
    condition = results->front();
    ArrayRef<Value> rest(*results);
    rest = rest.drop_front();
    for (auto [list, value] :
         llvm::zip(scanned, rest.drop_front(carried.size())))
      list.push_back(value);
    carried.assign(rest.begin(), rest.begin() + carried.size());
  }
  SmallVector<Value> outputs(carried);
  if (node.outputs.size() > carried.size() && iteration == 0) {
    fail("a loop without iterations that has outputs of each",
         "at least one iteration");
    return false;
  }
  for (const SmallVector<Value> &list : scanned) {
    if (outputs.size() == node.outputs.size())
      break;
    outputs.push_back(joinElements(list, 0));
    if (!outputs.back())
      return false;
  }
  return hasOutputs(node, outputs.size()) && bind(node, outputs, scope);
}

bool GraphImporter::importScan(const OnnxNode &node, Scope &scope) {
  if (scope.opsets->lookup("") < 9) {
    fail("Scan before version 9, which is not covered yet",
         "version 9 or newer", "convert the model with onnx.version_converter");
    return false;
  }
  SmallVector<Value> inputs;
  for (StringRef input : node.inputs) {
    inputs.push_back(lookup(input, scope));
    if (!inputs.back())
      return false;
  }
  auto getInts = [&](StringRef name) -> ArrayRef<int64_t> {
    const OnnxAttribute *attribute = node.find(name);
    return attribute ? ArrayRef(attribute->ints) : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> count = getInts("num_scan_inputs");
  if (count.size() != 1 || count[0] < 1 || size_t(count[0]) > inputs.size()) {
    fail("no number of scanned inputs",
         "the attribute num_scan_inputs, at most the number of inputs");
    return false;
  }
  size_t states = inputs.size() - count[0];
  auto at = [](ArrayRef<int64_t> list, size_t index) {
    return index < list.size() ? list[index] : 0;
  };
  ArrayRef<int64_t> axes = getInts("scan_input_axes");
  ArrayRef<int64_t> directions = getInts("scan_input_directions");
  std::optional<int64_t> length;
  for (auto [index, input] :
       llvm::enumerate(ArrayRef(inputs).drop_front(states))) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t axis = at(axes, index);
    axis += axis < 0 ? type.getRank() : 0;
    bool isGood = axis >= 0 && axis < type.getRank() &&
                  !type.isDynamicDim(axis) &&
                  (!length || *length == type.getDimSize(axis));
    if (!isGood) {
      fail("a scanned input of shape " + onnx::print(onnx::getShape(type)),
           "a known number of elements along its axis, the same for all");
      return false;
    }
    length = type.getDimSize(axis);
  }
  SmallVector<Value> carried(ArrayRef(inputs).take_front(states));
  std::vector<SmallVector<Value>> scanned;
  for (int64_t iteration = 0; iteration < *length; ++iteration) {
    const OnnxGraph *body = takeBody(node);
    if (!body)
      return false;
    SmallVector<Value> arguments(carried);
    for (auto [index, input] :
         llvm::enumerate(ArrayRef(inputs).drop_front(states))) {
      int64_t place =
          at(directions, index) ? *length - 1 - iteration : iteration;
      arguments.push_back(takeElement(input, place, at(axes, index)));
      if (!arguments.back())
        return false;
    }
    auto results = importBody(node, *body, arguments, scope);
    if (!results)
      return false;
    if (body->inputs.size() != arguments.size() || results->size() < states) {
      fail("a body with " + Twine(body->inputs.size()) + " inputs and " +
               Twine(results->size()) + " outputs",
           Twine(arguments.size()) + " inputs and at least " + Twine(states) +
               " outputs");
      return false;
    }
    scanned.resize(results->size() - states);
    ArrayRef<Value> all(*results);
    for (auto [list, value] : llvm::zip(scanned, all.drop_front(states)))
      list.push_back(value);
    carried.assign(all.begin(), all.begin() + states);
  }
  SmallVector<Value> outputs(carried);
  ArrayRef<int64_t> outputAxes = getInts("scan_output_axes");
  ArrayRef<int64_t> outputDirections = getInts("scan_output_directions");
  for (auto [index, list] : llvm::enumerate(scanned)) {
    if (at(outputDirections, index))
      std::reverse(list.begin(), list.end());
    int64_t axis = at(outputAxes, index);
    if (axis < 0)
      axis += cast<RankedTensorType>(list.front().getType()).getRank() + 1;
    outputs.push_back(joinElements(list, axis));
    if (!outputs.back())
      return false;
  }
  return hasOutputs(node, outputs.size()) && bind(node, outputs, scope);
}
