//===- ImportOperator.cpp - Nodes that are operators ----------------------===//

#include "compiler/Import/Onnx/GraphImporter.h"

#include "compiler/Import/Onnx/OnnxTypes.h"

#include <set>

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Which operators there are
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral microsoft = "com.microsoft";

/// Operators of the standard that the importer makes other ones of, by itself.
static constexpr llvm::StringLiteral structures[] = {
    "CausalConvWithState", "Constant", "If", "LinearAttention", "Loop", "Scan"};

/// Names of the standard that have gone.
static constexpr llvm::StringLiteral gone[] = {"Scatter", "Upsample"};

/// Operations of the dialect that are no operators.
static constexpr llvm::StringLiteral generic[] = {"Initializer", "Yield"};

static bool isStructure(const OnnxNode &node) {
  return node.domain.empty() && llvm::is_contained(structures, node.op);
}

/// The name of the operation in the dialect, without `onnx.`.
std::optional<std::string>
GraphImporter::findOperator(const OnnxNode &node) const {
  auto isKnown = [&](const std::string &name) {
    return RegisteredOperationName::lookup("onnx." + name, builder.getContext())
        .has_value();
  };
  std::string own = ("microsoft." + node.op).str();
  if (node.domain.empty()) {
    if (llvm::is_contained(gone, node.op))
      return node.op.str();
    if (llvm::is_contained(generic, node.op))
      return std::nullopt;
    if (isKnown(node.op.str()))
      return node.op.str();
    // Some writers leave the domain out.
    if (isKnown(own))
      return own;
  } else if (node.domain == microsoft) {
    if (node.op == "TransposeMatMul" || isKnown(own))
      return own;
  }
  return std::nullopt;
}

void GraphImporter::collectUncovered(ArrayRef<OnnxNode> nodes,
                                     ArrayRef<OnnxOpset> opsets,
                                     CalledFunctions &called) {
  for (const OnnxNode &node : nodes) {
    if (const OnnxFunction *function = functions.find(node)) {
      called.insert(function);
    } else if (!isStructure(node) && !findOperator(node)) {
      StringRef domain = node.domain.empty() ? "ai.onnx" : node.domain;
      int64_t version = 0;
      for (const OnnxOpset &opset : opsets)
        if (opset.domain == node.domain)
          version = opset.version;
      report.error(describe(node),
                   "operator " + node.op + " of " + domain + " version " +
                       Twine(version),
                   "an operator that Weft covers (docs/onnx.md)",
                   "leave this part out of the model");
    }
    for (const OnnxAttribute &attribute : node.attributes)
      for (const auto &graph : attribute.graphs)
        collectUncovered(graph->nodes, opsets, called);
  }
}

bool GraphImporter::checkOperators() {
  // Functions that nothing calls may hold anything.
  CalledFunctions called;
  collectUncovered(model.graph.nodes, model.opsets, called);
  for (size_t i = 0; i < called.size(); ++i)
    collectUncovered(called[i]->nodes, called[i]->opsets, called);
  return !report.hasErrors();
}

std::vector<std::string> weft::listOnnxOperators(MLIRContext &context) {
  std::set<std::string> names(std::begin(structures), std::end(structures));
  names.insert(std::begin(gone), std::end(gone));
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("onnx")) {
    StringRef own = name.stripDialect();
    if (own.starts_with("microsoft."))
      names.insert(("com." + own).str());
    else if (!llvm::is_contained(generic, own))
      names.insert(own.str());
  }
  return {names.begin(), names.end()};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const OnnxAttribute *GraphImporter::resolve(const OnnxAttribute &attribute,
                                            const Scope &scope) {
  if (attribute.reference.empty())
    return &attribute;
  return scope.attributes ? scope.attributes->lookup(attribute.reference)
                          : nullptr;
}

/// Attributes that are numbers of types in the file.
static bool isType(StringRef name) {
  return llvm::is_contained(
      {"to", "dtype", "output_dtype", "precision", "softmax_precision"}, name);
}

Attribute GraphImporter::toAttribute(const OnnxAttribute &attribute,
                                     StringRef name) {
  using Kind = OnnxAttribute::Kind;
  switch (attribute.kind) {
  case Kind::Float:
    return builder.getF32FloatAttr(attribute.floats.front());
  case Kind::Floats:
    return builder.getDenseF32ArrayAttr(attribute.floats);
  case Kind::Int:
    if (isType(name)) {
      int64_t number = attribute.ints.front();
      Type type =
          number >= 0 && number < 256
              ? toMlirType(static_cast<OnnxType>(number), builder.getContext())
              : Type();
      return type ? TypeAttr::get(type) : Attribute();
    }
    return builder.getI64IntegerAttr(attribute.ints.front());
  case Kind::Ints:
    return builder.getDenseI64ArrayAttr(attribute.ints);
  case Kind::String:
    return builder.getStringAttr(attribute.strings.front());
  case Kind::Tensor: {
    auto data = attribute.tensors.size() == 1
                    ? readTensorData(attribute.tensors.front(),
                                     &weights.getDataFiles(), where, report)
                    : std::nullopt;
    if (!data)
      return {};
    const OnnxTensor &tensor = attribute.tensors.front();
    return weft::makeConstant(builder.getContext(), tensor.type, tensor.shape,
                              data->bytes);
  }
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

bool GraphImporter::importOperator(const OnnxNode &node, Scope &scope) {
  std::optional<std::string> name = findOperator(node);
  assert(name && "checkOperators has seen the node");
  OperatorNode made;
  made.name = *name;
  made.version = scope.opsets->lookup(node.domain);
  made.outputs = node.outputs.size();
  for (StringRef input : node.inputs) {
    Value value = input.empty() ? Value() : lookup(input, scope);
    if (!input.empty() && !value)
      return false;
    made.inputs.push_back(value);
  }
  for (const OnnxAttribute &attribute : node.attributes) {
    const OnnxAttribute *value = resolve(attribute, scope);
    if (!value)
      continue;
    // 0 is no type: as if the attribute was not there.
    if (isType(attribute.name) && value->kind == OnnxAttribute::Kind::Int &&
        value->ints.front() == 0)
      continue;
    Attribute converted = toAttribute(*value, attribute.name);
    if (!converted) {
      fail("an attribute '" + attribute.name +
               "' of a kind or type that the "
               "operator does not have",
           "numbers, texts or a tensor");
      return false;
    }
    made.set(attribute.name, converted);
  }
  SmallVector<Value> results;
  OperatorBuilder operators{
      builder.getContext(),
      [&](DenseElementsAttr value) { return makeConstant(value); },
      [&](OperatorNode inner) {
        SmallVector<Value> values = makeOperator(std::move(inner));
        return values.empty() ? Value() : values.front();
      }};
  llvm::Expected<Value> replacement = upgradeOperator(made, operators);
  if (!replacement) {
    report.unreadable(where, replacement.takeError(),
                      "a newer version of the operator",
                      "convert the model with onnx.version_converter");
    return false;
  }
  if (report.hasErrors())
    return false;
  results = *replacement ? SmallVector<Value>{*replacement}
                         : makeOperator(std::move(made));
  return !results.empty() && bind(node, results, scope);
}

SmallVector<Value> GraphImporter::makeOperator(OperatorNode node) {
  OperationName name("onnx." + node.name, builder.getContext());
  auto *interface = name.getInterface<onnx::OperatorInterface>();
  if (!interface) {
    fail("operator " + node.name, "an operator that Weft covers");
    return {};
  }
  StringRef kinds = interface->getInputKinds();
  while (!node.inputs.empty() && !node.inputs.back())
    node.inputs.pop_back();
  bool isList = kinds == "*";
  if (!isList && node.inputs.size() > kinds.size()) {
    fail(Twine(node.inputs.size()) + " inputs",
         "at most " + Twine(kinds.size()));
    return {};
  }
  SmallVector<int32_t> segments;
  OperationState state(NameLoc::get(builder.getStringAttr(where)), name);
  for (size_t i = 0, count = isList ? node.inputs.size() : kinds.size();
       i < count; ++i) {
    Value input = node.getInput(i);
    segments.push_back(input != nullptr);
    if (input) {
      state.operands.push_back(input);
    } else if (isList || kinds[i] == 'r') {
      fail("no input " + Twine(i), "one, since it is not optional");
      return {};
    }
  }
  ArrayRef<StringAttr> names = name.getAttributeNames();
  for (const NamedAttribute &attribute : node.attributes) {
    if (!llvm::is_contained(names, attribute.getName())) {
      SmallVector<StringRef> known;
      for (StringAttr candidate : names)
        if (candidate != "operandSegmentSizes")
          known.push_back(candidate);
      fail("the attribute '" + attribute.getName().getValue() + "'",
           known.empty() ? "none" : "one of " + llvm::join(known, ", "));
      return {};
    }
    state.addAttribute(attribute.getName(), attribute.getValue());
  }
  if (kinds.count('?') > 1)
    state.addAttribute("operandSegmentSizes",
                       builder.getDenseI32ArrayAttr(segments));
  // Until they are known.
  Type placeholder = RankedTensorType::get({}, builder.getF32Type());
  StringRef outputs = interface->getOutputKinds();
  state.types.assign(outputs == "*" ? node.outputs : outputs.size(),
                     placeholder);
  if (node.outputs > state.types.size()) {
    fail(Twine(node.outputs) + " outputs",
         "at most " + Twine(state.types.size()));
    return {};
  }
  Operation *op = builder.create(state);
  // The verifier's words are about the operation; the report says the node.
  std::string message;
  {
    ScopedDiagnosticHandler handler(builder.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      message = diagnostic.str();
                                      return success();
                                    });
    if (succeeded(op->getName().verifyInvariants(op)))
      message.clear();
    else if (message.empty())
      message = "an invalid operation";
  }
  if (!message.empty()) {
    report.unreadable(where, llvm::createStringError(message),
                      "the inputs and attributes of the operator");
    return {};
  }
  onnx::TypeInference inference(symbolic);
  LogicalResult inferred =
      cast<onnx::OperatorInterface>(op).inferTypes(inference);
  for (const auto &equality : inference.getEqualities())
    equalities.insert(equality);
  if (failed(inferred)) {
    reportInference(inference);
    return {};
  }
  // Sizes that were found to be equal change types: start again.
  if (!equalities.empty())
    return {};
  for (auto [result, type] :
       llvm::zip_equal(op->getResults(), inference.getTypes()))
    result.setType(type);
  symbolic.visit(op);
  return llvm::to_vector_of<Value>(op->getResults());
}

std::string GraphImporter::adviseConstants(ArrayRef<Value> values) {
  llvm::SetVector<Value> sources;
  sources.insert_range(values);
  SmallVector<std::string> inputs;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(sources[i])) {
      if (argument.getOwner() == entry)
        inputs.push_back("'" + inputNames[argument.getArgNumber()] + "'");
    } else {
      sources.insert_range(sources[i].getDefiningOp()->getOperands());
    }
  }
  if (inputs.empty())
    return "";
  return "give the values of " + llvm::join(inputs, ", ") +
         " with --constant NAME=FILE.npy";
}

void GraphImporter::reportInference(const onnx::TypeInference &inference) {
  auto [found, expected] = inference.getMessage().split(", expected ");
  if (!expected.empty() && found.consume_front("found "))
    return fail(found, expected);
  report.unreadable(where, llvm::createStringError(inference.getMessage()),
                    "shapes that are known when the model is compiled",
                    adviseConstants(inference.getNeeded()));
}
