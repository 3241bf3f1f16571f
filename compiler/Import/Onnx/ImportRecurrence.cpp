//===- ImportRecurrence.cpp - Operators that carry a state ----------------===//
//
// LinearAttention and CausalConvWithState are functions of other operators. A
// plan has no loops: the recurrence becomes one copy for each token, so that
// their number must be known when the model is compiled.
// Source: the operator reference of the ONNX standard, version 27.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Onnx/GraphImporter.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// A graph that is being made
//===----------------------------------------------------------------------===//

namespace weft {

/// Makes operators of an operator. After an error, which the report then has,
/// nothing is made and all results are null.
class GraphImporter::Composer {
public:
  explicit Composer(GraphImporter &importer)
      : importer(importer), builder(importer.builder) {}

  Value make(StringRef name, ArrayRef<Value> inputs,
             ArrayRef<NamedAttribute> attributes = {}) {
    if (hasFailed)
      return {};
    OperatorNode node{name.str(), 27, {}, {}, 1};
    node.inputs.assign(inputs.begin(), inputs.end());
    node.attributes.assign(attributes.begin(), attributes.end());
    SmallVector<Value> results = importer.makeOperator(std::move(node));
    hasFailed = results.empty();
    return hasFailed ? Value() : results.front();
  }
  NamedAttribute number(StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  NamedAttribute numbers(StringRef name, ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  }
  Value list(ArrayRef<int64_t> values) {
    return importer.makeNumbers(values, /*isScalar=*/false);
  }
  Value convert(Value value, Type element) {
    if (!value || getTensor(value).getElementType() == element)
      return value;
    return make("Cast", value,
                builder.getNamedAttr("to", TypeAttr::get(element)));
  }
  /// [batch, tokens, heads * n] as [batch, heads, tokens, n].
  Value splitHeads(Value value, int64_t heads) {
    Value split = make("Reshape", {value, list({0, 0, heads, -1})});
    return make("Transpose", split, numbers("perm", {0, 2, 1, 3}));
  }

private:
  GraphImporter &importer;
  OpBuilder &builder;
  bool hasFailed = false;
};

} // namespace weft

std::optional<SmallVector<Value>>
GraphImporter::getInputs(const OnnxNode &node, size_t count, Scope &scope) {
  if (node.inputs.size() > count) {
    fail(Twine(node.inputs.size()) + " inputs", "at most " + Twine(count));
    return std::nullopt;
  }
  SmallVector<Value> inputs;
  for (StringRef name : node.inputs) {
    inputs.push_back(name.empty() ? Value() : lookup(name, scope));
    if (!name.empty() && !inputs.back())
      return std::nullopt;
  }
  inputs.resize(count);
  return inputs;
}

//===----------------------------------------------------------------------===//
// CausalConvWithState
//===----------------------------------------------------------------------===//

bool GraphImporter::importCausalConv(const OnnxNode &node, Scope &scope) {
  auto inputs = getInputs(node, 4, scope);
  if (!inputs)
    return false;
  auto [x, weight, bias, past] =
      std::tuple((*inputs)[0], (*inputs)[1], (*inputs)[2], (*inputs)[3]);
  auto getRank = [](Value value) {
    return value ? getTensor(value).getRank() : 0;
  };
  if (getRank(x) != 3 || getRank(weight) != 3 || (past && getRank(past) != 3) ||
      getTensor(weight).isDynamicDim(0) || getTensor(weight).isDynamicDim(2) ||
      getTensor(weight).getDimSize(2) < 1) {
    fail("inputs of other shapes",
         "[batch, channels, length] and a weight [channels, 1, width] of known "
         "sizes");
    return false;
  }
  const OnnxAttribute *activation = nullptr;
  for (const OnnxAttribute &attribute : node.attributes)
    if (attribute.name == "activation")
      activation = resolve(attribute, scope);
  StringRef function = activation && !activation->strings.empty()
                           ? activation->strings.front()
                           : StringRef("none");
  if (!llvm::is_contained({"none", "silu", "swish"}, function)) {
    fail("the activation '" + function + "'", "none, silu or swish");
    return false;
  }
  Composer c(*this);
  int64_t channels = getTensor(weight).getDimSize(0),
          before = getTensor(weight).getDimSize(2) - 1;
  Value joined = past ? c.make("Concat", {past, x}, c.number("axis", 2))
                      : c.make("Pad", {x, c.list({0, 0, before, 0, 0, 0})});
  Value result =
      c.make("Conv", {joined, weight, bias}, c.number("group", channels));
  if (function != "none")
    result = c.make("Swish", result);
  // The last elements: those after as many as the input has.
  Value length = c.make("Shape", x, {c.number("start", 2), c.number("end", 3)});
  Value end = c.list(std::numeric_limits<int64_t>::max());
  Value present = c.make("Slice", {joined, length, end, c.list(2)});
  return result && present && hasOutputs(node, 2) &&
         bind(node, {result, present}, scope);
}

//===----------------------------------------------------------------------===//
// LinearAttention
//===----------------------------------------------------------------------===//

bool GraphImporter::importLinearAttention(const OnnxNode &node, Scope &scope) {
  auto inputs = getInputs(node, 6, scope);
  if (!inputs)
    return false;
  auto find = [&](StringRef name) -> const OnnxAttribute * {
    for (const OnnxAttribute &attribute : node.attributes)
      if (attribute.name == name)
        return resolve(attribute, scope);
    return nullptr;
  };
  auto getInt = [&](StringRef name) {
    const OnnxAttribute *found = find(name);
    return found && !found->ints.empty() ? found->ints.front() : 0;
  };
  int64_t queryHeads = getInt("q_num_heads"), heads = getInt("kv_num_heads");
  const OnnxAttribute *ruleAttribute = find("update_rule");
  StringRef rule = ruleAttribute && !ruleAttribute->strings.empty()
                       ? ruleAttribute->strings.front()
                       : StringRef("gated_delta");
  bool isGated = rule.starts_with("gated"), isDelta = rule.ends_with("delta");
  ArrayRef<Value> all(*inputs);
  bool isGood =
      llvm::is_contained({"linear", "gated", "delta", "gated_delta"}, rule) &&
      heads > 0 && queryHeads > 0 && queryHeads % heads == 0 &&
      isGated == bool(all[4]) && isDelta == bool(all[5]);
  for (Value value : {all[0], all[1], all[2]})
    isGood = isGood && value && getTensor(value).getRank() == 3 &&
             !getTensor(value).isDynamicDim(2);
  for (Value value : {all[4], all[5]})
    isGood = isGood && (!value || getTensor(value).getRank() == 3);
  if (!isGood) {
    fail("the rule '" + rule + "' with " + Twine(queryHeads) + " and " +
             Twine(heads) + " heads and inputs that do not fit",
         "query, key and value of [batch, tokens, heads * size], decay where "
         "the rule is gated, beta where it has delta, and numbers of heads of "
         "which one divides the other");
    return false;
  }
  if (getTensor(all[0]).isDynamicDim(1)) {
    fail("a number of tokens that is not known",
         "one that is known when the model is compiled");
    return false;
  }
  int64_t tokens = getTensor(all[0]).getDimSize(1);
  int64_t size = getTensor(all[0]).getDimSize(2) / queryHeads;
  int64_t group = queryHeads / heads;
  Type stored = getTensor(all[0]).getElementType();
  Type wide = stored.isF64() ? stored : Type(builder.getF32Type());
  Composer c(*this);
  auto split = [&](Value value, int64_t count) {
    return value ? c.convert(c.splitHeads(value, count), wide) : Value();
  };
  Value query = split(all[0], queryHeads), key = split(all[1], heads),
        value = split(all[2], heads), decay = split(all[4], heads);
  // One number for each head, or for all.
  Value beta = all[5];
  if (beta && !getTensor(beta).isDynamicDim(2))
    beta = split(beta, getTensor(beta).getDimSize(2));
  const OnnxAttribute *scaleAttribute = find("scale");
  float scale = scaleAttribute && !scaleAttribute->floats.empty()
                    ? scaleAttribute->floats.front()
                    : 0;
  if (scale == 0)
    scale = 1 / std::sqrt(float(size));
  Value factor = makeConstant(
      DenseElementsAttr::get(RankedTensorType::get({}, wide),
                             builder.getFloatAttr(wide, scale).getValue()));
  Value state = c.convert(all[3], wide);
  SmallVector<Value> outputs;
  for (int64_t token = 0; token < tokens; ++token) {
    copiedNodes += 16;
    if (copiedNodes > maxCopiedNodes) {
      fail("linear attention of " + Twine(tokens) + " tokens", "fewer tokens");
      return false;
    }
    auto at = [&](Value rows) {
      return c.make("Gather", {rows, makeNumbers(token, true)},
                    c.number("axis", 2));
    };
    // Keys as columns, values as rows: [batch, heads, size, 1], [.., 1, size].
    Value column = c.make("Unsqueeze", {at(key), c.list(-1)});
    Value row = c.make("Unsqueeze", {at(value), c.list(-2)});
    if (isGated && state)
      state = c.make(
          "Mul",
          {state, c.make("Exp", c.make("Unsqueeze", {at(decay), c.list(-1)}))});
    if (isDelta) {
      // What the state holds for the key is replaced.
      if (state) {
        Value keyRow = c.make("Unsqueeze", {at(key), c.list(-2)});
        row = c.make("Sub", {row, c.make("MatMul", {keyRow, state})});
      }
      row = c.make("Mul", {row, c.make("Unsqueeze", {at(beta), c.list(-2)})});
    }
    Value outer = c.make("Mul", {column, row});
    state = state ? c.make("Add", {state, outer}) : outer;
    // Query heads that share a state are rows of one matrix.
    Value rows = c.make("Reshape", {at(query), c.list({0, heads, group, -1})});
    Value read = c.make("Mul", {c.make("MatMul", {rows, state}), factor});
    if (!read)
      return false;
    outputs.push_back(read);
  }
  if (!hasOutputs(node, 2))
    return false;
  if (outputs.empty()) {
    fail("no tokens", "at least one");
    return false;
  }
  // [batch, heads, group, size] of each token become [batch, tokens, ...].
  Value joined = joinElements(outputs, 1);
  Value result =
      joined ? c.make("Reshape", {joined, c.list({0, 0, -1})}) : Value();
  result = c.convert(result, stored);
  state =
      c.convert(state, all[3] ? getTensor(all[3]).getElementType() : stored);
  return result && state && bind(node, {result, state}, scope);
}
