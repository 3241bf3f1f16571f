//===- ImportLoop.cpp - Loops as copies of their bodies -------------------===//
//
// A plan has no loops: the number of iterations must be known when the model is
// compiled, and the graph becomes one copy of the body after the other. So what
// a loop carries may change its shape.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Onnx/GraphImporter.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weft;

const OnnxGraph *GraphImporter::takeBody(const OnnxNode &node) {
  where = describe(node);
  const OnnxAttribute *attribute = node.find("body");
  if (!attribute || attribute->graphs.size() != 1) {
    fail("no graph 'body'", "the attribute body");
    return nullptr;
  }
  // An iteration counts although its body is empty.
  return countCopy() ? attribute->graphs.front().get() : nullptr;
}

bool GraphImporter::countCopy() {
  if (++copiedNodes <= maxCopiedNodes)
    return true;
  fail("a loop whose copies have more than " + Twine(maxCopiedNodes) + " nodes",
       "fewer iterations");
  return false;
}

std::optional<SmallVector<Value>>
GraphImporter::importCopy(const OnnxNode &node, const OnnxGraph &body,
                          ArrayRef<Value> arguments, Scope &scope) {
  llvm::SaveAndRestore copying(isCopying, true);
  return importBody(node, body, arguments, scope);
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
    auto results = importCopy(node, *body, arguments, scope);
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

/// How a Scan goes over its lists. What an attribute does not say is 0.
struct GraphImporter::ScanOrder {
  ArrayRef<int64_t> inputAxes, inputDirections, outputAxes, outputDirections;

  static int64_t at(ArrayRef<int64_t> list, size_t index) {
    return index < list.size() ? list[index] : 0;
  }
};

static ArrayRef<int64_t> getInts(const OnnxNode &node, StringRef name) {
  const OnnxAttribute *attribute = node.find(name);
  return attribute ? ArrayRef(attribute->ints) : ArrayRef<int64_t>();
}

std::optional<SmallVector<Value>> GraphImporter::scan(const OnnxNode &node,
                                                      ArrayRef<Value> states,
                                                      ArrayRef<Value> lists,
                                                      const ScanOrder &order,
                                                      Scope &scope) {
  auto at = ScanOrder::at;
  std::optional<int64_t> length;
  for (auto [index, list] : llvm::enumerate(lists)) {
    auto type = cast<RankedTensorType>(list.getType());
    int64_t axis = at(order.inputAxes, index);
    axis += axis < 0 ? type.getRank() : 0;
    bool isGood = axis >= 0 && axis < type.getRank() &&
                  !type.isDynamicDim(axis) &&
                  (!length || *length == type.getDimSize(axis));
    if (!isGood) {
      fail("a scanned input of shape " + onnx::print(onnx::getShape(type)),
           "a known number of elements along its axis, the same for all");
      return std::nullopt;
    }
    length = type.getDimSize(axis);
  }
  SmallVector<Value> carried(states);
  std::vector<SmallVector<Value>> scanned;
  for (int64_t iteration = 0; iteration < *length; ++iteration) {
    const OnnxGraph *body = takeBody(node);
    if (!body)
      return std::nullopt;
    SmallVector<Value> arguments(carried);
    for (auto [index, list] : llvm::enumerate(lists)) {
      int64_t place = at(order.inputDirections, index) ? *length - 1 - iteration
                                                       : iteration;
      arguments.push_back(takeElement(list, place, at(order.inputAxes, index)));
      if (!arguments.back())
        return std::nullopt;
    }
    auto results = importCopy(node, *body, arguments, scope);
    if (!results)
      return std::nullopt;
    if (body->inputs.size() != arguments.size() ||
        results->size() < states.size()) {
      fail("a body with " + Twine(body->inputs.size()) + " inputs and " +
               Twine(results->size()) + " outputs",
           Twine(arguments.size()) + " inputs and at least " +
               Twine(states.size()) + " outputs");
      return std::nullopt;
    }
    scanned.resize(results->size() - states.size());
    ArrayRef<Value> all(*results);
    for (auto [list, value] : llvm::zip(scanned, all.drop_front(states.size())))
      list.push_back(value);
    carried.assign(all.begin(), all.begin() + states.size());
  }
  SmallVector<Value> outputs(carried);
  for (auto [index, list] : llvm::enumerate(scanned)) {
    if (at(order.outputDirections, index))
      std::reverse(list.begin(), list.end());
    int64_t axis = at(order.outputAxes, index);
    if (axis < 0)
      axis += cast<RankedTensorType>(list.front().getType()).getRank() + 1;
    outputs.push_back(joinElements(list, axis));
    if (!outputs.back())
      return std::nullopt;
  }
  return outputs;
}

std::optional<SmallVector<Value>>
GraphImporter::scanBatch(const OnnxNode &node, ArrayRef<Value> inputs,
                         size_t states, Scope &scope) {
  std::optional<int64_t> batch;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() < 1 || type.isDynamicDim(0) || type.getDimSize(0) < 1 ||
        (batch && *batch != type.getDimSize(0))) {
      fail("an input of Scan before version 9 of shape " +
               onnx::print(onnx::getShape(type)),
           "a known number of sequences first, the same for all",
           "convert the model with onnx.version_converter");
      return std::nullopt;
    }
    batch = type.getDimSize(0);
  }
  ScanOrder order;
  order.inputDirections = getInts(node, "directions");
  std::vector<SmallVector<Value>> sequences;
  for (int64_t index = 0; index < *batch; ++index) {
    SmallVector<Value> elements;
    for (Value input : inputs) {
      elements.push_back(takeElement(input, index, 0));
      if (!elements.back())
        return std::nullopt;
    }
    ArrayRef<Value> all(elements);
    auto results = scan(node, all.take_front(states), all.drop_front(states),
                        order, scope);
    if (!results)
      return std::nullopt;
    sequences.push_back(std::move(*results));
  }
  SmallVector<Value> outputs;
  for (size_t i = 0; i < sequences.front().size(); ++i) {
    SmallVector<Value> elements;
    for (const SmallVector<Value> &sequence : sequences)
      elements.push_back(sequence[i]);
    outputs.push_back(joinElements(elements, 0));
    if (!outputs.back())
      return std::nullopt;
  }
  return outputs;
}

bool GraphImporter::importScan(const OnnxNode &node, Scope &scope) {
  ArrayRef<StringRef> names(node.inputs);
  // Before version 9 there was a batch of sequences, whose lengths came first.
  bool isBatch = scope.opsets->lookup("") < 9;
  if (isBatch && !names.empty()) {
    if (!names.front().empty()) {
      fail("lengths of sequences in Scan before version 9",
           "sequences of the same length, whose lengths are left out",
           "convert the model with onnx.version_converter");
      return false;
    }
    names = names.drop_front();
  }
  SmallVector<Value> inputs;
  for (StringRef name : names) {
    inputs.push_back(lookup(name, scope));
    if (!inputs.back())
      return false;
  }
  ArrayRef<int64_t> count = getInts(node, "num_scan_inputs");
  if (count.size() != 1 || count[0] < 1 || size_t(count[0]) > inputs.size()) {
    fail("no number of scanned inputs",
         "the attribute num_scan_inputs, at most the number of inputs");
    return false;
  }
  size_t states = inputs.size() - count[0];
  ScanOrder order{getInts(node, "scan_input_axes"),
                  getInts(node, "scan_input_directions"),
                  getInts(node, "scan_output_axes"),
                  getInts(node, "scan_output_directions")};
  ArrayRef<Value> all(inputs);
  auto outputs = isBatch ? scanBatch(node, inputs, states, scope)
                         : scan(node, all.take_front(states),
                                all.drop_front(states), order, scope);
  return outputs && hasOutputs(node, outputs->size()) &&
         bind(node, *outputs, scope);
}
