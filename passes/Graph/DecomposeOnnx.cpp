//===- DecomposeOnnx.cpp - Operators as simpler operators -----------------===//

#include "passes/Graph/DecomposeOnnx.h"

#include "passes/Graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::graph {
#define GEN_PASS_DEF_DECOMPOSEONNX
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

//===----------------------------------------------------------------------===//
// OnnxEmitter
//===----------------------------------------------------------------------===//

SmallVector<Value> OnnxEmitter::makeAll(StringRef operatorName,
                                        ArrayRef<Value> inputs,
                                        Attributes attributes,
                                        unsigned results) {
  SmallVector<Value> none(results);
  if (!message.empty())
    return none;
  OperationName name(("onnx." + operatorName).str(), builder.getContext());
  auto *interface = name.getInterface<onnx::OperatorInterface>();
  assert(interface && "an operator of the dialect");
  StringRef kinds = interface->getInputKinds();
  OperationState state(loc, name);
  SmallVector<int32_t> segments;
  for (size_t i = 0, count = kinds == "*" ? inputs.size() : kinds.size();
       i < count; ++i) {
    Value input = i < inputs.size() ? inputs[i] : Value();
    segments.push_back(input != nullptr);
    if (input)
      state.operands.push_back(input);
  }
  for (auto [key, value] : attributes)
    state.addAttribute(key, value);
  if (kinds.count('?') > 1)
    state.addAttribute("operandSegmentSizes",
                       builder.getDenseI32ArrayAttr(segments));
  Type placeholder = RankedTensorType::get({}, builder.getF32Type());
  StringRef outputs = interface->getOutputKinds();
  state.types.assign(outputs == "*" ? results : outputs.size(), placeholder);
  Operation *op = builder.create(state);
  onnx::TypeInference inference(symbolic);
  LogicalResult inferred =
      llvm::cast<onnx::OperatorInterface>(op).inferTypes(inference);
  if (failed(inferred) || !inference.getEqualities().empty()) {
    message = inference.getMessage().str();
    if (message.empty())
      message = "sizes that are not known to be equal";
    op->erase();
    return none;
  }
  for (auto [result, type] :
       llvm::zip_equal(op->getResults(), inference.getTypes()))
    result.setType(type);
  symbolic.visit(op);
  SmallVector<Value> values(op->getResults());
  values.resize(results);
  return values;
}

Value OnnxEmitter::make(StringRef name, ArrayRef<Value> inputs,
                        Attributes attributes) {
  return makeAll(name, inputs, attributes, 1).front();
}

/// A constant whose values inference can read.
static Value makeConstant(OpBuilder &builder, Location loc,
                          onnx::SymbolicValues &symbolic,
                          DenseElementsAttr value) {
  auto constant = onnx::ConstantOp::create(builder, loc, value);
  symbolic.visit(constant);
  return constant;
}

Value OnnxEmitter::list(ArrayRef<int64_t> numbers) {
  auto type =
      RankedTensorType::get(int64_t(numbers.size()), builder.getI64Type());
  return makeConstant(builder, loc, symbolic,
                      DenseElementsAttr::get(type, numbers));
}

Value OnnxEmitter::integer(int64_t number) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return makeConstant(builder, loc, symbolic,
                      DenseElementsAttr::get(type, number));
}

Value OnnxEmitter::number(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  Attribute number = builder.getFloatAttr(element, value);
  return makeConstant(builder, loc, symbolic,
                      DenseElementsAttr::get(type, number));
}

Value OnnxEmitter::cast(Value value, Type element) {
  if (!value || getElementTypeOrSelf(value.getType()) == element)
    return value;
  return make("Cast", value, {{"to", TypeAttr::get(element)}});
}

Value OnnxEmitter::sizeOf(Value value, int64_t dim) {
  return make("Shape", value,
              {{"start", attribute(dim)}, {"end", attribute(dim + 1)}});
}

Value OnnxEmitter::reshape(Value value, ArrayRef<int64_t> shape) {
  return make("Reshape", {value, list(shape)});
}

Value OnnxEmitter::transpose(Value value, ArrayRef<int64_t> perm) {
  return make("Transpose", value,
              {{"perm", builder.getDenseI64ArrayAttr(perm)}});
}

Value OnnxEmitter::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  return make("Unsqueeze", {value, list(axes)});
}

Value OnnxEmitter::pick(Value value, int64_t index, int64_t axis) {
  return make("Gather", {value, integer(index)}, {{"axis", attribute(axis)}});
}

Value OnnxEmitter::countTo(Value size) {
  Value limit = make("Squeeze", {size, list(0)});
  return make("Range", {integer(0), limit, integer(1)});
}

SmallVector<Value> OnnxEmitter::split(Value value, ArrayRef<int64_t> sizes,
                                      int64_t axis) {
  return makeAll("Split", {value, list(sizes)}, {{"axis", attribute(axis)}},
                 sizes.size());
}

Value OnnxEmitter::concat(ArrayRef<Value> values, int64_t axis) {
  return make("Concat", values, {{"axis", attribute(axis)}});
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class DecomposeOnnx : public graph::impl::DecomposeOnnxBase<DecomposeOnnx> {
  void runOnOperation() override {
    onnx::SymbolicValues symbolic;
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<onnx::OnnxDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (failed(decompose(op, symbolic)))
        return signalPassFailure();
    }
  }

  LogicalResult decompose(Operation *op, onnx::SymbolicValues &symbolic) {
    symbolic.visit(op);
    OpBuilder builder(op);
    OnnxEmitter emitter(builder, op->getLoc(), symbolic);
    OnnxResults results = decomposeAttention(emitter, op);
    if (results.empty())
      results = decomposeEmbedding(emitter, op);
    if (results.empty())
      results = decomposeQuantizedProduct(emitter, op);
    if (!emitter.getMessage().empty())
      return op->emitOpError("cannot be decomposed: ") << emitter.getMessage();
    if (results.empty())
      return success();
    for (auto [before, after] : llvm::zip_equal(op->getResults(), results)) {
      if (before.use_empty())
        continue;
      if (before.getType() != after.getType())
        return op->emitOpError("found a result of ")
               << before.getType() << ", expected " << after.getType();
      before.replaceAllUsesWith(after);
    }
    op->erase();
    return success();
  }
};
} // namespace
