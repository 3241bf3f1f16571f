//===- BuildLoopsKernel.cpp - Kernels of linalg.generic -------------------===//
//
// For operations that no other kernel class knows: one linalg.generic becomes
// loops over the elements of its result, with a number at a time. Reductions
// are loops inside, whose total stays in a register. All tensors are
// contiguous, so reshapes only change how a place is counted.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LoopsKernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

/// Elements of the last dimension that a work item computes at most.
static constexpr int64_t itemElements = 4096;

linalg::GenericOp kernel::getLoops(DispatchOp dispatch) {
  for (Operation &op : dispatch.getBlock())
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return generic;
  return {};
}

static Shape getShape(Value value) {
  Shape shape;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    shape.push_back(getDimSize(value, dim));
  return shape;
}

/// Sizes of the loops, those of the result first.
static Shape getLoopSizes(linalg::GenericOp generic) {
  Shape sizes(generic.getNumLoops(), Polynomial(1));
  for (OpOperand &operand : generic->getOpOperands()) {
    Shape shape = getShape(operand.get());
    for (auto [expr, size] : llvm::zip_equal(
             generic.getMatchingIndexingMap(&operand).getResults(), shape))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

static unsigned countOuter(linalg::GenericOp generic) {
  return generic.getNumParallelLoops();
}

SmallVector<std::string> kernel::getLoopSymbols(DispatchOp dispatch) {
  std::set<std::string> names;
  auto add = [&](const Polynomial &size) {
    for (const auto &[monomial, coefficient] : size.getTerms())
      names.insert(monomial.begin(), monomial.end());
  };
  dispatch.getBody().walk([&](Operation *op) {
    if (auto size = dyn_cast<SizeOp>(op))
      add(*Polynomial::parse(size.getSize()));
    for (Value value : op->getOperands())
      if (isa<RankedTensorType>(value.getType()))
        for (const Polynomial &size : getShape(value))
          add(size);
  });
  return {names.begin(), names.end()};
}

SmallVector<std::pair<Polynomial, int64_t>>
kernel::getLoopGrid(DispatchOp dispatch) {
  linalg::GenericOp generic = getLoops(dispatch);
  Shape sizes = getLoopSizes(generic);
  SmallVector<std::pair<Polynomial, int64_t>> grid;
  unsigned outer = countOuter(generic);
  for (unsigned i = 0; i < outer; ++i)
    grid.push_back({sizes[i], i + 1 == outer ? itemElements : 1});
  if (grid.empty())
    grid.push_back({Polynomial(1), 1});
  return grid;
}

std::pair<Polynomial, Polynomial> kernel::getLoopCost(DispatchOp dispatch) {
  linalg::GenericOp generic = getLoops(dispatch);
  Polynomial flops(0);
  for (Operation &op : generic.getBody()->without_terminator())
    if (op.getNumResults() == 1 && isa<FloatType>(op.getResult(0).getType()) &&
        isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      flops += Polynomial(1);
  for (const Polynomial &size : getLoopSizes(generic))
    flops = flops * size;
  Polynomial bytes(0);
  auto add = [&](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Polynomial size(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    for (const Polynomial &extent : getShape(tensor))
      size = size * extent;
    bytes += size;
  };
  for (Value input : dispatch.getBlock().getArguments())
    add(input);
  for (Value output : dispatch.getOutputs())
    add(output);
  return {flops, bytes};
}

namespace {

/// Emits the body of one kernel.
class LoopEmitter {
public:
  LoopEmitter(KernelBuilder &k)
      : k(k), generic(getLoops(k.dispatch)), sizes(getLoopSizes(generic)) {}

  LogicalResult emit() {
    for (auto [name, argument] : llvm::zip_equal(getLoopSymbols(k.dispatch),
                                                 k.kernel.getSymbolArguments()))
      symbols[name] = argument;
    unsigned outer = countOuter(generic);
    SmallVector<Value> place(outer);
    Value item = k.item();
    // The last extent varies fastest.
    for (unsigned i = outer; i-- > 0;) {
      Value extent = getSize(sizes[i]);
      if (i + 1 == outer)
        extent = k.create<arith::CeilDivSIOp>(extent, k.index(itemElements));
      if (i == 0) {
        place[i] = item;
        break;
      }
      place[i] = k.create<arith::RemSIOp>(item, extent);
      item = k.create<arith::DivSIOp>(item, extent);
    }
    LogicalResult result = success();
    if (outer == 0) {
      result = emitElement(place);
      return result;
    }
    Value first = k.mul(place.back(), itemElements);
    Value last =
        k.min(k.add(first, k.index(itemElements)), getSize(sizes[outer - 1]));
    k.forLoop(first, last, 1, [&](Value i) {
      place.back() = i;
      if (failed(emitElement(place)))
        result = failure();
    });
    return result;
  }

private:
  /// A size as an index, computed where it is asked for.
  Value getSize(const Polynomial &size) {
    Value sum;
    for (const auto &[monomial, coefficient] : size.getTerms()) {
      Value term;
      for (const std::string &name : monomial) {
        Value symbol = symbols.lookup(name);
        term =
            term ? k.create<arith::MulIOp>(term, symbol).getResult() : symbol;
      }
      if (!term)
        term = k.index(coefficient);
      else if (coefficient != 1)
        term = k.mul(term, coefficient);
      sum = sum ? k.add(sum, term) : term;
    }
    return sum ? sum : k.index(0);
  }

  /// A tensor of the body as memory that is counted from its first element;
  /// null if it is none.
  Value getMemory(Value tensor) {
    while (Operation *op = tensor.getDefiningOp()) {
      if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
               tensor::ExtractSliceOp>(op))
        return {};
      tensor = op->getOperand(0);
    }
    return k.getArgument(tensor);
  }

  /// The place in a tensor's memory of the element that is at `place` of the
  /// tensor: they differ behind slices.
  Value getMemoryPlace(Value tensor, Value place) {
    while (Operation *op = tensor.getDefiningOp()) {
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
        place = getSourcePlace(slice, place);
      tensor = op->getOperand(0);
    }
    return place;
  }

  Value getSourcePlace(tensor::ExtractSliceOp slice, Value place) {
    Shape shape = getShape(slice.getResult());
    SmallVector<Value> indices(shape.size());
    for (size_t dim = shape.size(); dim-- > 0;) {
      Value offset = k.index(slice.getStaticOffset(dim));
      if (dim == 0) {
        indices[dim] = k.add(place, offset);
        break;
      }
      Value size = getSize(shape[dim]);
      indices[dim] = k.add(k.create<arith::RemUIOp>(place, size), offset);
      place = k.create<arith::DivUIOp>(place, size);
    }
    return getPlace(slice.getSource(), indices);
  }

  /// The place of an element, counted in row-major order.
  Value getPlace(Value tensor, ArrayRef<Value> indices) {
    Value place = k.index(0);
    Shape shape = getShape(tensor);
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (dim > 0)
        place = k.create<arith::MulIOp>(place, getSize(shape[dim]));
      place = k.add(place, index);
    }
    return place;
  }

  FailureOr<Value> load(Operation *op, Value tensor, ArrayRef<Value> indices) {
    Value memory = getMemory(tensor);
    // Never executed: there are no elements.
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!memory && type.hasStaticShape() && type.getNumElements() == 0)
      return k
          .create<arith::ConstantOp>(
              k.builder.getZeroAttr(type.getElementType()))
          .getResult();
    if (!memory)
      return op->emitError("reads a tensor that is no input of its kernel");
    Value place = getMemoryPlace(tensor, getPlace(tensor, indices));
    return k.create<memref::LoadOp>(memory, place).getResult();
  }

  Value evaluate(AffineExpr expr, ArrayRef<Value> loops) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return loops[dim.getPosition()];
    return k.index(cast<AffineConstantExpr>(expr).getValue());
  }

  /// What the total of an element begins with.
  FailureOr<Value> getInit(ArrayRef<Value> place) {
    Value init = generic.getDpsInits()[0];
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      return getScalar(fill.getInputs()[0]);
    if (init.getDefiningOp<tensor::EmptyOp>())
      return Value();
    return load(generic, init, place);
  }

  /// A number that is computed outside of the loops.
  FailureOr<Value> getScalar(Value value) {
    if (Value known = values.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0)
      return generic.emitError("needs a number that is not computed in its "
                               "kernel");
    if (auto size = dyn_cast<SizeOp>(op))
      return getSize(*Polynomial::parse(size.getSize()));
    for (Value operand : op->getOperands()) {
      FailureOr<Value> scalar = getScalar(operand);
      if (failed(scalar))
        return failure();
      values.map(operand, *scalar);
    }
    return k.builder.clone(*op, values)->getResult(0);
  }

  LogicalResult emitElement(ArrayRef<Value> place) {
    IRMapping outer = values;
    FailureOr<Value> init = getInit(place);
    if (failed(init))
      return failure();
    SmallVector<Value> loops(place);
    FailureOr<Value> total = emitLoops(loops, *init);
    if (failed(total))
      return failure();
    values = outer;
    Value output = k.kernel.getBuffers().back();
    k.create<memref::StoreOp>(*total, output,
                              getPlace(generic.getDpsInits()[0], place));
    return success();
  }

  /// The loops of a reduction from the next one on.
  FailureOr<Value> emitLoops(SmallVector<Value> &loops, Value total) {
    if (loops.size() == generic.getNumLoops())
      return emitBody(loops, total);
    if (!total)
      return generic.emitError("reduces into a tensor without values");
    auto loop = k.create<scf::ForOp>(k.index(0), getSize(sizes[loops.size()]),
                                     k.index(1), ValueRange(total));
    OpBuilder::InsertionGuard guard(k.builder);
    k.builder.setInsertionPointToStart(loop.getBody());
    loops.push_back(loop.getInductionVar());
    FailureOr<Value> next = emitLoops(loops, loop.getRegionIterArg(0));
    loops.pop_back();
    if (failed(next))
      return failure();
    k.create<scf::YieldOp>(*next);
    return loop.getResult(0);
  }

  FailureOr<Value> emitBody(ArrayRef<Value> loops, Value total) {
    Block &body = *generic.getBody();
    IRMapping outer = values;
    for (OpOperand &operand : generic->getOpOperands()) {
      BlockArgument argument = generic.getMatchingBlockArgument(&operand);
      if (argument.use_empty())
        continue;
      if (generic.isDpsInit(&operand)) {
        if (!total)
          return generic.emitError("reduces into a tensor without values");
        values.map(argument, total);
        continue;
      }
      SmallVector<Value> place;
      for (AffineExpr expr :
           generic.getMatchingIndexingMap(&operand).getResults())
        place.push_back(evaluate(expr, loops));
      FailureOr<Value> element = load(generic, operand.get(), place);
      if (failed(element))
        return failure();
      values.map(argument, *element);
    }
    if (failed(emitBlock(body, loops)))
      return failure();
    FailureOr<Value> result = getScalar(body.getTerminator()->getOperand(0));
    values = outer;
    return result;
  }

  LogicalResult emitBlock(Block &block, ArrayRef<Value> loops) {
    for (Operation &op : block.without_terminator())
      if (failed(emitOp(&op, loops)))
        return failure();
    return success();
  }

  LogicalResult emitOp(Operation *op, ArrayRef<Value> loops) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      values.map(index.getResult(), loops[index.getDim()]);
      return success();
    }
    for (Value operand : op->getOperands()) {
      if (isa<RankedTensorType>(operand.getType()))
        continue;
      FailureOr<Value> scalar = getScalar(operand);
      if (failed(scalar))
        return failure();
      values.map(operand, *scalar);
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : extract.getIndices())
        indices.push_back(values.lookup(index));
      FailureOr<Value> element = load(op, extract.getTensor(), indices);
      if (failed(element))
        return failure();
      values.map(extract.getResult(), *element);
      return success();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return emitIf(branch, loops);
    if (op->getNumRegions() != 0)
      return op->emitError("cannot be part of a kernel of loops");
    k.builder.clone(*op, values);
    return success();
  }

  LogicalResult emitIf(scf::IfOp op, ArrayRef<Value> loops) {
    auto made = k.create<scf::IfOp>(op.getResultTypes(),
                                    values.lookup(op.getCondition()),
                                    /*addElseBlock=*/true);
    for (auto [from, to] : llvm::zip(op->getRegions(), made->getRegions())) {
      OpBuilder::InsertionGuard guard(k.builder);
      k.builder.setInsertionPointToStart(&to.front());
      IRMapping outer = values;
      if (failed(emitBlock(from.front(), loops)))
        return failure();
      SmallVector<Value> yielded;
      for (Value value : from.front().getTerminator()->getOperands()) {
        FailureOr<Value> scalar = getScalar(value);
        if (failed(scalar))
          return failure();
        yielded.push_back(*scalar);
      }
      k.create<scf::YieldOp>(yielded);
      values = outer;
    }
    values.map(op.getResults(), made.getResults());
    return success();
  }

  KernelBuilder &k;
  linalg::GenericOp generic;
  Shape sizes;
  llvm::StringMap<Value> symbols;
  IRMapping values;
};
} // namespace

LogicalResult kernel::buildLoopsKernel(KernelBuilder &k) {
  return LoopEmitter(k).emit();
}
