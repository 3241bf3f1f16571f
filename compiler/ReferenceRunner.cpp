//===- ReferenceRunner.cpp - Runs what a model means ----------------------===//

#include "compiler/ReferenceRunner.h"

#include "compiler/Artifact/ReadParam.h"
#include "compiler/Reference.h"
#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace weft;

static constexpr llvm::StringLiteral functionName = "reference";

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

size_t weft::getElementBytes(Type elementType) {
  return elementType.getIntOrFloatBitWidth() / 8;
}

ReferenceTensor ReferenceTensor::own(Type elementType, ArrayRef<int64_t> shape,
                                     std::vector<uint8_t> bytes) {
  ReferenceTensor tensor;
  tensor.elementType = elementType;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  tensor.bytes = *tensor.owner;
  return tensor;
}

FailureOr<ReferenceTensor>
weft::allocateTensor(Value value, const ReferenceRunner::Symbols &symbols) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  size_t bytes = getElementBytes(type.getElementType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Polynomial polynomial = getDimSize(value, dim);
    std::optional<int64_t> size = polynomial.evaluate(symbols);
    if (!size)
      return emitError(value.getLoc())
             << "dimension " << dim << " is " << polynomial.str()
             << ", of which no value is known";
    shape.push_back(*size);
    bytes *= *size;
  }
  return ReferenceTensor::own(type.getElementType(), shape,
                              std::vector<uint8_t>(bytes));
}

FailureOr<ReferenceTensor> weft::readConstant(Operation *op,
                                              const WeightSource &source) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  std::vector<uint8_t> bytes;
  auto sink = [&](ArrayRef<uint8_t> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return llvm::Error::success();
  };
  bytes.reserve(type.getNumElements() * getElementBytes(type.getElementType()));
  auto weight = dyn_cast<WeightOp>(op);
  llvm::Error error =
      weight ? readWeight(weight, source, sink)
             : readLiteral(
                   cast<ElementsAttr>(cast<arith::ConstantOp>(op).getValue()),
                   sink);
  if (error)
    return op->emitError() << llvm::toString(std::move(error));
  return ReferenceTensor::own(type.getElementType(), type.getShape(),
                              std::move(bytes));
}

//===----------------------------------------------------------------------===//
// One operation as a function
//===----------------------------------------------------------------------===//

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// Values from outside that an operation and its regions read.
static void collectReads(Operation *op, llvm::SetVector<Value> &reads) {
  reads.insert_range(op->getOperands());
  if (!op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    getUsedValuesDefinedAbove(op->getRegions(), reads);
}

namespace {
/// What an operation needs: tensors, and the operations that compute its
/// scalars (sizes) from them, in the order in which they stand.
struct Needs {
  llvm::SetVector<Value> tensors;
  llvm::SetVector<Operation *> scalars;

  explicit Needs(Operation *op) { add(op); }

private:
  void add(Operation *op) {
    llvm::SetVector<Value> reads;
    collectReads(op, reads);
    for (Value value : reads) {
      if (isTensor(value)) {
        tensors.insert(value);
        continue;
      }
      Operation *producer = value.getDefiningOp();
      assert(producer && "arguments of entry points are tensors");
      if (scalars.contains(producer))
        continue;
      add(producer);
      scalars.insert(producer);
    }
  }
};
} // namespace

/// A function of the tensors an operation reads and of memory for those it
/// returns.
static OwningOpRef<ModuleOp> buildFunction(Operation *op, const Needs &needs) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Type> types;
  for (Value tensor : needs.tensors)
    types.push_back(tensor.getType());
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
  auto function =
      func::FuncOp::create(builder, op->getLoc(), functionName,
                           builder.getFunctionType(types, TypeRange()));
  function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                    builder.getUnitAttr());
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);

  IRMapping mapping;
  for (auto [index, tensor] : llvm::enumerate(needs.tensors))
    mapping.map(tensor, block->getArgument(index));
  for (Operation *scalar : needs.scalars)
    builder.clone(*scalar, mapping);
  SmallVector<Value> results;
  if (auto dispatch = dyn_cast<DispatchOp>(op)) {
    for (auto [argument, input] : llvm::zip_equal(
             dispatch.getBlock().getArguments(), dispatch.getInputs()))
      mapping.map(argument, mapping.lookup(input));
    for (Operation &inner : dispatch.getBlock().without_terminator())
      builder.clone(inner, mapping);
    for (Value yielded : dispatch.getBlock().getTerminator()->getOperands())
      results.push_back(mapping.lookup(yielded));
  } else {
    llvm::append_range(results, builder.clone(*op, mapping)->getResults());
  }
  size_t next = needs.tensors.size();
  for (Value result : results)
    if (isTensor(result)) {
      auto store = bufferization::MaterializeInDestinationOp::create(
          builder, op->getLoc(), Type(), result, block->getArgument(next++));
      store.setRestrict(true);
      store.setWritable(true);
    }
  func::ReturnOp::create(builder, op->getLoc());
  return module;
}

/// Replaces sizes over symbols by their values.
static LogicalResult resolveSizes(ModuleOp module,
                                  const ReferenceRunner::Symbols &symbols) {
  WalkResult result = module.walk([&](SizeOp size) {
    std::optional<int64_t> value =
        Polynomial::parse(size.getSize())->evaluate(symbols);
    if (!value) {
      size.emitError() << "of " << size.getSize()
                       << ", of which no value is known";
      return WalkResult::interrupt();
    }
    OpBuilder builder(size);
    size.replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, size.getLoc(), *value)
            .getResult());
    size.erase();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

ReferenceRunner::ReferenceRunner(MLIRContext &context) : context(context) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
}

ReferenceRunner::~ReferenceRunner() = default;

FailureOr<ExecutionEngine *> ReferenceRunner::compile(Operation *op,
                                                      ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  std::unique_ptr<ExecutionEngine> &engine = engines[text];
  if (engine)
    return engine.get();
  PassManager manager(&context);
  buildReferenceToLlvmPipeline(manager);
  if (failed(manager.run(module)))
    return op->emitError() << "the reference of this operation cannot be "
                              "lowered";
  ExecutionEngineOptions options;
  // Operations run once or a few times: compiling costs more than running.
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
  auto created = ExecutionEngine::create(module, options);
  if (!created)
    return op->emitError() << "the reference of this operation cannot be "
                              "compiled: "
                           << llvm::toString(created.takeError());
  engine = std::move(*created);
  return engine.get();
}

/// A memref descriptor: two pointers, the offset, sizes and strides.
static SmallVector<int64_t> buildDescriptor(const ReferenceTensor &tensor) {
  auto address = reinterpret_cast<intptr_t>(tensor.bytes.data());
  SmallVector<int64_t> words = {address, address, 0};
  llvm::append_range(words, tensor.shape);
  SmallVector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * tensor.shape[i];
  llvm::append_range(words, strides);
  return words;
}

FailureOr<std::vector<ReferenceTensor>>
ReferenceRunner::run(Operation *op, const Symbols &symbols, Lookup lookup) {
  Needs needs(op);
  OwningOpRef<ModuleOp> module = buildFunction(op, needs);
  if (failed(resolveSizes(*module, symbols)))
    return failure();
  FailureOr<ExecutionEngine *> engine = compile(op, *module);
  if (failed(engine))
    return failure();

  SmallVector<ReferenceTensor> arguments;
  for (Value tensor : needs.tensors)
    arguments.push_back(lookup(tensor));
  std::vector<ReferenceTensor> results;
  for (OpResult result : op->getResults()) {
    if (!isTensor(result))
      continue;
    FailureOr<ReferenceTensor> tensor = allocateTensor(result, symbols);
    if (failed(tensor))
      return failure();
    results.push_back(*tensor);
  }
  arguments.append(results.begin(), results.end());

  SmallVector<SmallVector<int64_t>> descriptors;
  for (const ReferenceTensor &argument : arguments)
    descriptors.push_back(buildDescriptor(argument));
  SmallVector<void *> pointers, packed;
  for (SmallVector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  for (void *&pointer : pointers)
    packed.push_back(&pointer);
  if (llvm::Error error = (*engine)->invokePacked(
          ("_mlir_ciface_" + functionName).str(), packed))
    return op->emitError() << llvm::toString(std::move(error));
  return results;
}

FailureOr<std::vector<ReferenceTensor>>
ReferenceRunner::run(func::FuncOp entry, ArrayRef<ReferenceTensor> arguments,
                     const Symbols &symbols, const WeightSource &weights,
                     Observer observe) {
  Block &block = entry.getBody().front();
  assert(arguments.size() == block.getNumArguments());
  DenseMap<Value, ReferenceTensor> tensors;
  for (auto [value, tensor] : llvm::zip(block.getArguments(), arguments))
    tensors[value] = tensor;
  // The last operation that reads a tensor, after which it is freed; scalars
  // read their tensors where they are used.
  DenseMap<Value, Operation *> lastReads;
  for (Operation &op : block)
    for (Value value : Needs(&op).tensors)
      lastReads[value] = &op;

  for (Operation &op : block.without_terminator()) {
    if (llvm::none_of(op.getResults(), isTensor))
      continue;
    Needs needs(&op);
    if (isa<WeightOp>(op) || op.hasTrait<OpTrait::ConstantLike>()) {
      FailureOr<ReferenceTensor> tensor = readConstant(&op, weights);
      if (failed(tensor))
        return failure();
      tensors[op.getResult(0)] = *tensor;
    } else {
      FailureOr<std::vector<ReferenceTensor>> results =
          run(&op, symbols, [&](Value value) { return tensors.at(value); });
      if (failed(results))
        return failure();
      auto result = results->begin();
      for (Value value : op.getResults())
        if (isTensor(value))
          tensors[value] = *result++;
    }
    observe(&op, [&](Value value) { return tensors.at(value); });
    for (Value value : needs.tensors)
      if (lastReads.lookup(value) == &op)
        tensors.erase(value);
  }
  std::vector<ReferenceTensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(tensors.at(value));
  return results;
}
