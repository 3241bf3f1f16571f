//===- ChannelTrace.cpp ---------------------------------------------------===//

#include "passes/Kernel/ChannelTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// No kernel has that many pieces: keeps the time of wrong ones short.
static constexpr int64_t mostIterations = 1 << 18;

ChannelTracer::ChannelTracer(KernelOp kernel, const ChannelSample &sample)
    : block(sample.block) {
  for (auto [name, argument] : llvm::zip_equal(
           kernel.getProgram().getSymbols().getAsValueRange<StringAttr>(),
           kernel.getSymbolArguments()))
    remember(argument, sample.sizes.at(name));
  remember(kernel.getItem(), sample.item);
  if (BlockArgument end = kernel.getItemEnd())
    remember(end, sample.item + 1);
}

FailureOr<std::vector<ChannelEvent>> ChannelTracer::trace(RoleOp role) {
  events.clear();
  iterations = 0;
  size_t mark = order.size();
  if (failed(follow(role.getBody().front())))
    return failure();
  forget(mark);
  return std::move(events);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool ChannelTracer::hasEvents(Operation *op) {
  auto [entry, isNew] = eventful.try_emplace(op);
  if (isNew)
    entry->second = op->walk([](Operation *inner) {
                        return isa<ProduceOp, ConsumeOp, ShareOp,
                                   ClusterBarrierOp, WaitDependencyOp>(inner)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      }).wasInterrupted();
  return entry->second;
}

LogicalResult ChannelTracer::follow(Block &body) {
  for (Operation &op : body) {
    if (!hasEvents(&op))
      continue;
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](ProduceOp produce) {
              return addEvent(produce, produce.getPiece());
            })
            .Case([&](ConsumeOp consume) {
              return addEvent(consume, consume.getPiece());
            })
            .Case([&](ShareOp share) {
              if (failed(addEvent(share, share.getRound())))
                return failure();
              ChannelEvent &first = events.back();
              first.number *= 2;
              events.push_back({share, first.number + 1, {}});
              return success();
            })
            .Case([&](ClusterBarrierOp barrier) {
              return addEvent(barrier, barrier.getPhase());
            })
            .Case([&](WaitDependencyOp wait) {
              events.push_back({wait, 0, {}});
              return success();
            })
            .Case([&](scf::ForOp loop) { return followLoop(loop); })
            .Case([&](scf::IfOp branch) { return followBranch(branch); })
            .Default([](Operation *other) {
              return other->emitError(
                  "cannot stand around operations on channels; expected scf.for"
                  " or scf.if");
            });
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ChannelTracer::followLoop(scf::ForOp loop) {
  std::optional<int64_t> lower = evaluate(loop.getLowerBound()),
                         upper = evaluate(loop.getUpperBound()),
                         step = evaluate(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return loop.emitError("runs operations on channels an unknown number of "
                          "times; expected bounds that follow from sizes, work "
                          "item and rank, and a positive step");
  uint64_t trips = *lower < *upper
                       ? llvm::divideCeil(uint64_t(*upper) - uint64_t(*lower),
                                          uint64_t(*step))
                       : 0;
  // Tiles among the carried values stay unknown.
  using Numbers = SmallVector<std::optional<int64_t>>;
  auto evaluateAll = [&](ValueRange values) {
    return Numbers(
        llvm::map_range(values, [&](Value value) { return evaluate(value); }));
  };
  auto rememberAll = [&](ValueRange values, const Numbers &numbers) {
    for (auto [value, number] : llvm::zip_equal(values, numbers))
      if (number)
        remember(value, *number);
  };
  Numbers carried = evaluateAll(loop.getInitArgs());
  for (uint64_t i = 0; i < trips; ++i) {
    if (++iterations > mostIterations)
      return loop.emitError("takes a role over more than ")
             << mostIterations << " iterations; expected fewer";
    size_t mark = order.size();
    remember(loop.getInductionVar(),
             int64_t(uint64_t(*lower) + i * uint64_t(*step)));
    rememberAll(loop.getRegionIterArgs(), carried);
    if (failed(follow(*loop.getBody())))
      return failure();
    carried = evaluateAll(loop.getYieldedValues());
    forget(mark);
  }
  rememberAll(loop.getResults(), carried);
  return success();
}

LogicalResult ChannelTracer::followBranch(scf::IfOp branch) {
  std::optional<int64_t> condition = evaluate(branch.getCondition());
  if (!condition)
    return branch.emitError("runs operations on channels on an unknown "
                            "condition; expected one that follows from sizes, "
                            "work item and rank");
  if (*condition)
    return follow(*branch.thenBlock());
  return branch.elseBlock() ? follow(*branch.elseBlock()) : success();
}

LogicalResult ChannelTracer::addEvent(Operation *op, Value number) {
  std::optional<int64_t> value = evaluate(number);
  if (!value || *value < 0)
    return op->emitError("has an unknown number; expected one that follows "
                         "from sizes, work item and rank, not below 0");
  ChannelEvent event = {op, *value, {}};
  if (auto produce = dyn_cast<ProduceOp>(op))
    for (CopyOp copy : produce.getBody().front().getOps<CopyOp>()) {
      CopyPlace &place = event.copies.emplace_back(
          CopyPlace{copy, evaluate(copy.getRows()), {}});
      for (Value index : copy.getIndices())
        place.indices.push_back(evaluate(index));
    }
  events.push_back(std::move(event));
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void ChannelTracer::remember(Value value, int64_t number) {
  known[value] = number;
  order.push_back(value);
}

void ChannelTracer::forget(size_t mark) {
  for (Value value : ArrayRef(order).drop_front(mark))
    known.erase(value);
  order.resize(mark);
}

std::optional<int64_t> ChannelTracer::evaluate(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isIntOrIndex())
    return std::nullopt;
  std::optional<int64_t> number = compute(op);
  if (number)
    remember(value, *number);
  return number;
}

/// Divisors are positive, and what an unsigned operation gets is not negative;
/// otherwise the result counts as unknown.
std::optional<int64_t> ChannelTracer::compute(Operation *op) {
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)))
    return constant.getBitWidth() == 1 ? int64_t(constant.getZExtValue())
                                       : constant.getSExtValue();
  if (isa<ClusterRankOp>(op))
    return block;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<int64_t> condition = evaluate(select.getCondition());
    if (!condition)
      return std::nullopt;
    return evaluate(*condition ? select.getTrueValue()
                               : select.getFalseValue());
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return evaluate(op->getOperand(0));
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<int64_t> left = evaluate(op->getOperand(0)),
                         right = evaluate(op->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  int64_t a = *left, c = *right;
  using Number = std::optional<int64_t>;
  if ((a < 0 || c < 0) &&
      isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::MinUIOp,
          arith::MaxUIOp>(op))
    return std::nullopt;
  auto divide = [&](auto function) -> Number {
    return c <= 0 ? Number() : Number(function(a, c));
  };
  auto wrap = [](uint64_t value) { return int64_t(value); };
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](arith::AddIOp) { return wrap(uint64_t(a) + uint64_t(c)); })
      .Case([&](arith::SubIOp) { return wrap(uint64_t(a) - uint64_t(c)); })
      .Case([&](arith::MulIOp) { return wrap(uint64_t(a) * uint64_t(c)); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) {
        return divide([](int64_t a, int64_t c) { return a / c; });
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) {
        return divide([](int64_t a, int64_t c) { return a % c; });
      })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) {
        return divide(llvm::divideCeilSigned<int64_t, int64_t>);
      })
      .Case([&](arith::FloorDivSIOp) {
        return divide(llvm::divideFloorSigned<int64_t, int64_t>);
      })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](auto) { return std::min(a, c); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) { return std::max(a, c); })
      .Case([&](arith::AndIOp) { return a & c; })
      .Case([&](arith::OrIOp) { return a | c; })
      .Case([&](arith::XOrIOp) { return a ^ c; })
      .Case([&](arith::CmpIOp compare) -> Number {
        return arith::applyCmpPredicate(compare.getPredicate(),
                                        APInt(64, a, true), APInt(64, c, true));
      })
      .Default(Number());
}
