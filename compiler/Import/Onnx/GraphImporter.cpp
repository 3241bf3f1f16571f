//===- GraphImporter.cpp - Graphs, branches, functions --------------------===//

#include "compiler/Import/Onnx/GraphImporter.h"

#include "compiler/Import/Onnx/OnnxTypes.h"
#include "dialects/Weft/WeftDialect.h"

#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace weft;

GraphImporter::GraphImporter(const OnnxModel &model,
                             const OnnxFunctions &functions,
                             OnnxWeights &weights,
                             const OnnxImportOptions &options,
                             const SymbolEqualities &known, ModuleOp module,
                             ImportReport &report)
    : model(model), functions(functions), weights(weights), options(options),
      known(known), module(module), report(report),
      builder(module.getContext()) {}

void GraphImporter::fail(const Twine &found, const Twine &expected,
                         const Twine &advice) {
  report.error(where, found, expected, advice);
}

bool GraphImporter::run() { return checkOperators() && importEntry(); }

//===----------------------------------------------------------------------===//
// The entry point
//===----------------------------------------------------------------------===//

Polynomial GraphImporter::substitute(const Polynomial &size) const {
  Polynomial result(0);
  for (const auto &[monomial, coefficient] : size.getTerms()) {
    Polynomial term(coefficient);
    for (const std::string &name : monomial) {
      auto found = known.find(name);
      term = term *
             (found == known.end() ? Polynomial::symbol(name) : found->second);
    }
    result += term;
  }
  return result;
}

/// A name of a size as a polynomial. Names that are no sums of products become
/// symbols; characters that a symbol cannot have become '_'.
static Polynomial parseSize(StringRef name) {
  if (auto size = Polynomial::parse(name))
    return *size;
  std::string symbol = llvm::isAlpha(name.front()) ? "" : "s";
  for (char c : name)
    symbol += llvm::isAlnum(c) || c == '.' ? c : '_';
  return Polynomial::symbol(symbol);
}

Polynomial GraphImporter::toSize(const OnnxDim &dim, const Twine &fallback) {
  if (dim.value && *dim.value >= 0)
    return Polynomial(*dim.value);
  return substitute(
      parseSize(dim.name.empty() ? fallback.str() : dim.name.str()));
}

bool GraphImporter::addInput(const OnnxValueInfo &input, Scope &scope,
                             func::FuncOp function,
                             SmallVectorImpl<DictionaryAttr> &attributes) {
  where = ("input '" + input.name + "'").str();
  auto bound = options.constants.find(input.name);
  Type element = toMlirType(input.type.element, builder.getContext());
  if (input.type.kind != OnnxValueType::Kind::Tensor || !element ||
      !input.type.shape) {
    fail(input.type.kind == OnnxValueType::Kind::Tensor
             ? "a tensor of " + getName(input.type.element) +
                   (input.type.shape ? "" : " of unknown rank")
             : "another type than a tensor",
         "a tensor of numbers with a shape");
    return false;
  }
  if (bound != options.constants.end()) {
    const OnnxConstantInput &constant = bound->second;
    if (constant.type != input.type.element ||
        constant.shape.size() != input.type.shape->size()) {
      fail("a constant of " + getName(constant.type) + " and shape " +
               printShape(constant.shape),
           "a tensor of " + getName(input.type.element) + " of " +
               Twine(input.type.shape->size()) + " dimensions");
      return false;
    }
    scope.values[input.name] = makeConstant(weft::makeConstant(
        builder.getContext(), constant.type, constant.shape, constant.bytes));
    return true;
  }
  onnx::Shape shape;
  SmallVector<Attribute> symbols;
  for (auto [index, dim] : llvm::enumerate(*input.type.shape)) {
    shape.push_back(toSize(dim, input.name + "_" + Twine(index)));
    if (!shape.back().isConstant())
      symbols.push_back(builder.getStringAttr(shape.back().str()));
  }
  if (!onnx::isTensorShape(shape)) {
    fail("shape " + onnx::print(shape),
         "sizes that are not negative and less than 2^56 elements");
    return false;
  }
  NamedAttrList list;
  list.set(WeftDialect::getNameAttrName(), builder.getStringAttr(input.name));
  if (!symbols.empty())
    list.set(WeftDialect::getSymbolsAttrName(), builder.getArrayAttr(symbols));
  attributes.push_back(list.getDictionary(builder.getContext()));
  inputNames.push_back(input.name.str());
  scope.values[input.name] = entry->addArgument(
      onnx::makeType(element, shape),
      NameLoc::get(builder.getStringAttr(input.name), module.getLoc()));
  return true;
}

bool GraphImporter::importEntry() {
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, module.getLoc(), onnxEntryName,
                                       builder.getFunctionType({}, {}));
  entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  llvm::StringMap<int64_t> opsets;
  for (const OnnxOpset &opset : model.opsets)
    opsets[opset.domain] = opset.version;
  Scope scope;
  scope.opsets = &opsets;
  addInitializers(model.graph, scope);
  SmallVector<DictionaryAttr> argAttributes, resultAttributes;
  for (const auto &constant : options.constants)
    if (llvm::none_of(model.graph.inputs, [&](const OnnxValueInfo &input) {
          return input.name == constant.first();
        }))
      report.error("constant '" + constant.first() + "'", "no such input",
                   "the name of an input of the model");
  llvm::StringSet<> names;
  for (const OnnxValueInfo &input : model.graph.inputs)
    if (!names.insert(input.name).second)
      report.error("input '" + input.name + "'", "two of this name",
                   "a name for each value");
  for (const OnnxValueInfo &input : model.graph.inputs)
    // One with a value is no input when the model runs.
    if (!scope.initializers.contains(input.name) &&
        !addInput(input, scope, function, argAttributes))
      return false;
  if (report.hasErrors() || !importNodes(model.graph.nodes, scope))
    return false;

  SmallVector<Value> results;
  for (const OnnxValueInfo &output : model.graph.outputs) {
    where = ("output '" + output.name + "'").str();
    Value value = lookup(output.name, scope);
    if (!value)
      return false;
    results.push_back(value);
    NamedAttrList list;
    list.set(WeftDialect::getNameAttrName(),
             builder.getStringAttr(output.name));
    resultAttributes.push_back(list.getDictionary(builder.getContext()));
  }
  func::ReturnOp::create(builder, module.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      entry->getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(argAttributes);
  function.setAllResultAttrs(resultAttributes);
  return equalities.empty();
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void GraphImporter::addInitializers(const OnnxGraph &graph, Scope &scope) {
  for (const OnnxTensor &tensor : graph.initializers)
    if (!scope.initializers.try_emplace(tensor.name, &tensor).second)
      report.error("initializer '" + tensor.name + "'", "two of this name",
                   "a name for each value");
}

Value GraphImporter::lookup(StringRef name, const Scope &scope) {
  for (const Scope *current = &scope; current; current = current->parent) {
    auto found = current->values.find(name);
    if (found != current->values.end())
      return found->second;
    auto tensor = current->initializers.find(name);
    if (tensor == current->initializers.end())
      continue;
    // At the top, so that branches and what follows them read the same one.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    std::string node = std::exchange(where, ("tensor '" + name + "'").str());
    Value value = importTensor(*tensor->second, name);
    where = std::move(node);
    if (value)
      const_cast<Scope *>(current)->values[name] = value;
    return value;
  }
  fail("a read of '" + name + "'",
       "the name of an input, an initializer or an output of a node before it");
  return {};
}

bool GraphImporter::bind(const OnnxNode &node, ArrayRef<Value> results,
                         Scope &scope) {
  for (auto [name, value] : llvm::zip(node.outputs, results)) {
    if (name.empty())
      continue;
    if (!scope.values.try_emplace(name, value).second) {
      fail("a second value '" + name + "'", "a name for each value");
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Calls `take` with the names that a node reads, also in graphs of attributes.
static void forEachRead(const OnnxNode &node,
                        llvm::function_ref<void(StringRef)> take) {
  for (StringRef input : node.inputs)
    take(input);
  for (const OnnxAttribute &attribute : node.attributes)
    for (const auto &graph : attribute.graphs) {
      for (const OnnxNode &inner : graph->nodes)
        forEachRead(inner, take);
      for (const OnnxValueInfo &output : graph->outputs)
        take(output.name);
    }
}

/// The nodes in an order in which all that one reads comes before it, as the
/// standard asks for and some writers do not give; those of a cycle come last.
static std::vector<const OnnxNode *> sortNodes(ArrayRef<OnnxNode> nodes) {
  llvm::StringMap<size_t> makers;
  for (auto [index, node] : llvm::enumerate(nodes))
    for (StringRef output : node.outputs)
      if (!output.empty())
        makers.try_emplace(output, index);
  std::vector<size_t> missing(nodes.size(), 0);
  std::vector<std::vector<size_t>> readers(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    forEachRead(node, [&, index = index](StringRef name) {
      auto maker = makers.find(name);
      if (maker == makers.end() || maker->second == index)
        return;
      readers[maker->second].push_back(index);
      ++missing[index];
    });
  // The first of those that are ready, so that a good order stays.
  std::set<size_t> ready;
  for (size_t index = 0; index < nodes.size(); ++index)
    if (missing[index] == 0)
      ready.insert(index);
  std::vector<const OnnxNode *> order;
  while (!ready.empty()) {
    size_t index = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(&nodes[index]);
    for (size_t reader : readers[index])
      if (--missing[reader] == 0)
        ready.insert(reader);
  }
  for (auto [index, node] : llvm::enumerate(nodes))
    if (missing[index] != 0)
      order.push_back(&node);
  return order;
}

bool GraphImporter::importNodes(ArrayRef<OnnxNode> nodes, Scope &scope) {
  for (const OnnxNode *node : sortNodes(nodes))
    if (!importNode(*node, scope))
      return false;
  return true;
}

bool GraphImporter::importNode(const OnnxNode &node, Scope &scope) {
  where = describe(node);
  if (isCopying && !countCopy())
    return false;
  if (const OnnxFunction *function = functions.find(node))
    return importCall(node, *function, scope);
  if (node.domain.empty() && node.op == "Constant") {
    Value value = importConstant(node, scope);
    return value && bind(node, value, scope);
  }
  if (node.domain.empty() && node.op == "If")
    return importIf(node, scope);
  if (node.domain.empty() && node.op == "Loop")
    return importLoop(node, scope);
  if (node.domain.empty() && node.op == "Scan")
    return importScan(node, scope);
  if (node.domain.empty() && node.op == "CausalConvWithState")
    return importCausalConv(node, scope);
  if (node.domain.empty() && node.op == "LinearAttention")
    return importLinearAttention(node, scope);
  return importOperator(node, scope);
}

bool GraphImporter::importCall(const OnnxNode &node,
                               const OnnxFunction &function, Scope &scope) {
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size()) {
    fail(Twine(node.inputs.size()) + " inputs and " +
             Twine(node.outputs.size()) + " outputs",
         "at most " + Twine(function.inputs.size()) + " and " +
             Twine(function.outputs.size()) + ", as its function has");
    return false;
  }
  llvm::StringMap<const OnnxAttribute *> attributes;
  for (const OnnxAttribute &attribute : function.defaults)
    attributes[attribute.name] = &attribute;
  for (const OnnxAttribute &attribute : node.attributes)
    if (const OnnxAttribute *value = resolve(attribute, scope))
      attributes[attribute.name] = value;
  llvm::StringMap<int64_t> opsets;
  for (const OnnxOpset &opset : function.opsets)
    opsets[opset.domain] = opset.version;
  Scope inner;
  inner.attributes = &attributes;
  inner.opsets = &opsets;
  for (auto [name, input] : llvm::zip(function.inputs, node.inputs)) {
    if (input.empty())
      continue;
    Value value = lookup(input, scope);
    if (!value)
      return false;
    inner.values[name] = value;
  }
  if (!importNodes(function.nodes, inner))
    return false;
  SmallVector<Value> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) {
      results.emplace_back();
      continue;
    }
    where = describe(node);
    Value value = lookup(function.outputs[i], inner);
    if (!value)
      return false;
    results.push_back(value);
  }
  return bind(node, results, scope);
}

std::optional<SmallVector<Value>>
GraphImporter::importBranch(const OnnxNode &node, StringRef name,
                            Scope &scope) {
  const OnnxAttribute *attribute = node.find(name);
  if (!attribute || attribute->graphs.size() != 1) {
    where = describe(node);
    fail("no graph '" + name + "'",
         "the attributes then_branch and else_branch");
    return std::nullopt;
  }
  return importBody(node, *attribute->graphs.front(), {}, scope);
}

std::optional<SmallVector<Value>>
GraphImporter::importBody(const OnnxNode &node, const OnnxGraph &graph,
                          ArrayRef<Value> arguments, Scope &scope) {
  Scope inner;
  inner.parent = &scope;
  inner.attributes = scope.attributes;
  inner.opsets = scope.opsets;
  addInitializers(graph, inner);
  for (auto [input, argument] : llvm::zip(graph.inputs, arguments))
    inner.values[input.name] = argument;
  if (!importNodes(graph.nodes, inner))
    return std::nullopt;
  SmallVector<Value> results;
  where = describe(node);
  for (const OnnxValueInfo &output : graph.outputs) {
    Value value = lookup(output.name, inner);
    if (!value)
      return std::nullopt;
    results.push_back(value);
  }
  return results;
}

bool GraphImporter::hasOutputs(const OnnxNode &node, size_t count) {
  if (count >= node.outputs.size())
    return true;
  fail("a graph with " + Twine(count) + " outputs", Twine(node.outputs.size()));
  return false;
}

bool GraphImporter::importIf(const OnnxNode &node, Scope &scope) {
  Value condition =
      lookup(node.inputs.empty() ? StringRef() : node.inputs[0], scope);
  if (!condition)
    return false;
  auto type = cast<RankedTensorType>(condition.getType());
  if (!type.getElementType().isInteger(1) || !type.hasStaticShape() ||
      type.getNumElements() != 1) {
    fail("a condition of shape " + onnx::print(onnx::getShape(type)),
         "one BOOL");
    return false;
  }
  if (auto numbers = symbolic.getNumbers(condition)) {
    auto results = importBranch(
        node, numbers->front() ? "then_branch" : "else_branch", scope);
    return results && hasOutputs(node, results->size()) &&
           bind(node, *results, scope);
  }
  Location loc = builder.getUnknownLoc();
  std::array<std::unique_ptr<Block>, 2> blocks;
  std::array<SmallVector<Value>, 2> results;
  constexpr StringLiteral names[] = {"then_branch", "else_branch"};
  for (auto [i, name] : llvm::enumerate(names)) {
    OpBuilder::InsertionGuard guard(builder);
    blocks[i] = std::make_unique<Block>();
    builder.setInsertionPointToEnd(blocks[i].get());
    auto branch = importBranch(node, name, scope);
    if (!branch || !hasOutputs(node, branch->size()))
      return false;
    results[i] = *branch;
    onnx::YieldOp::create(builder, loc, results[i]);
  }
  if (ValueRange(results[0]).getTypes() != ValueRange(results[1]).getTypes()) {
    fail("branches whose results have different shapes",
         "equal ones where the condition is not known",
         adviseConstants(condition));
    return false;
  }
  auto branch = onnx::IfOp::create(
      builder, loc, ValueRange(results[0]).getTypes(), condition);
  for (auto [i, block] : llvm::enumerate(blocks))
    branch->getRegion(i).push_back(block.release());
  return bind(node, llvm::to_vector_of<Value>(branch.getResults()), scope);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value GraphImporter::makeConstant(DenseElementsAttr value) {
  auto constant =
      onnx::ConstantOp::create(builder, builder.getUnknownLoc(), value);
  symbolic.visit(constant);
  return constant;
}

/// Whether a tensor is part of the IR: what shapes are made of, and numbers of
/// formulas, among them the frequencies of rotary embeddings, [1, n, 1].
static bool isSmall(OnnxType type, ArrayRef<int64_t> shape, uint64_t elements) {
  bool isInteger = type == OnnxType::Int64 || type == OnnxType::Int32 ||
                   type == OnnxType::Bool;
  bool isShapedVector =
      shape.size() > 2 &&
      llvm::count_if(shape, [](int64_t size) { return size != 1; }) == 1;
  return elements <=
         (isInteger || isShapedVector ? onnx::SymbolicValues::maxElements : 16);
}

Value GraphImporter::importTensor(const OnnxTensor &tensor, StringRef name) {
  std::optional<OnnxTensorData> data =
      readTensorData(tensor, &weights.getDataFiles(), where, report);
  if (!data)
    return {};
  uint64_t elements = *countElements(tensor.shape);
  if (isSmall(tensor.type, tensor.shape, elements))
    return makeConstant(weft::makeConstant(builder.getContext(), tensor.type,
                                           tensor.shape, data->bytes));
  // Its values have been read, so that the type is one of numbers.
  ElementType type = *toElementType(tensor.type);
  auto byteCount = static_cast<int64_t>(data->bytes.size());
  bool isPacked = getBitWidth(tensor.type) < 8;
  std::string unique = weights.add(
      name, type, isPacked ? ArrayRef(byteCount) : ArrayRef(tensor.shape),
      std::move(*data));
  return onnx::InitializerOp::create(
      builder, NameLoc::get(builder.getStringAttr(unique)),
      RankedTensorType::get(tensor.shape,
                            toMlirType(tensor.type, builder.getContext())),
      unique);
}

Value GraphImporter::importConstant(const OnnxNode &node, const Scope &scope) {
  const OnnxAttribute *attribute = node.attributes.size() == 1
                                       ? resolve(node.attributes.front(), scope)
                                       : nullptr;
  StringRef name = node.outputs.empty() ? StringRef() : node.outputs.front();
  using Kind = OnnxAttribute::Kind;
  if (attribute)
    switch (attribute->kind) {
    case Kind::Tensor:
      if (attribute->tensors.size() == 1)
        return importTensor(attribute->tensors.front(), name);
      break;
    case Kind::Int:
    case Kind::Ints: {
      SmallVector<int64_t, 1> shape;
      if (attribute->kind == Kind::Ints)
        shape.push_back(attribute->ints.size());
      return makeConstant(DenseElementsAttr::get(
          RankedTensorType::get(shape, builder.getI64Type()),
          ArrayRef(attribute->ints)));
    }
    case Kind::Float:
    case Kind::Floats: {
      SmallVector<int64_t, 1> shape;
      if (attribute->kind == Kind::Floats)
        shape.push_back(attribute->floats.size());
      return makeConstant(DenseElementsAttr::get(
          RankedTensorType::get(shape, builder.getF32Type()),
          ArrayRef(attribute->floats)));
    }
    default:
      break;
    }
  fail("no value of numbers", "one of value, value_int, value_ints, "
                              "value_float or value_floats");
  return {};
}
