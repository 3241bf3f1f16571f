//===- VerifyChannels.cpp - Runs the roles of kernels on paper ------------===//
//
// Roles wait for channels and for the barrier of their cluster at places that
// their own control flow fixes, so that whether all come to their ends
// does not depend on the order in which they run (Kahn, "The semantics of a
// simple language for parallel programming", 1974): one order is tried.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/ChannelTrace.h"
#include "passes/Kernel/Passes.h"

#include "dialects/Weft/Polynomial.h"

#include <map>

namespace weft::kernel {
#define GEN_PASS_DEF_VERIFYCHANNELS
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::tile;

namespace {

//===----------------------------------------------------------------------===//
// What does not depend on sizes
//===----------------------------------------------------------------------===//

LogicalResult verifyCopies(ProduceOp produce, ArrayRef<int64_t> constants) {
  SmallVector<int64_t> copies(produce.getBody().getNumArguments());
  for (CopyOp copy : produce.getBody().front().getOps<CopyOp>()) {
    auto part = dyn_cast<BlockArgument>(copy.getTarget());
    if (!part || part.getOwner() != &produce.getBody().front())
      return copy.emitError("has to copy into a part of the slot");
    ++copies[part.getArgNumber()];
    auto view = dyn_cast<BlockArgument>(copy.getView());
    if (copy.getConstant() &&
        (!view || !llvm::is_contained(constants, view.getArgNumber())))
      return copy.emitError("copies as constant what is not among the "
                            "constants of the kernel");
  }
  for (auto [part, count] : llvm::enumerate(copies))
    if (count != 1)
      return produce.emitError("copies into part ")
             << part << " of the slot " << count << " times; expected once";
  return success();
}

LogicalResult verifyStructure(KernelOp kernel) {
  std::optional<ArrayRef<int64_t>> constants = kernel.getConstants();
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (isa<ChannelOp>(op) && op->getParentOp() != kernel)
      return WalkResult(op->emitError("stands inside of another operation; "
                                      "expected the top level of the kernel"));
    if (!isa<ProduceOp, ConsumeOp, ShareOp, ClusterBarrierOp>(op))
      return WalkResult::advance();
    if (!op->getParentOfType<RoleOp>())
      return WalkResult(op->emitError("stands outside of the roles"));
    auto produce = dyn_cast<ProduceOp>(op);
    return produce ? WalkResult(verifyCopies(
                         produce, constants.value_or(ArrayRef<int64_t>())))
                   : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The blocks of a cluster
//===----------------------------------------------------------------------===//

struct Slot {
  ProduceOp producer; ///< Null if the slot is free.
  int64_t piece = 0;
  bool isComplete = false;
  ArrayRef<CopyPlace> copies;
};

struct Ring {
  int64_t slotCount = 0;
  std::map<int64_t, Slot> slots;
  int64_t produced = 0, consumed = 0; ///< Pieces that have been started.
  RoleOp producer, consumer;
};

/// A role of a block.
struct Actor {
  RoleOp role;
  int64_t block = 0;
  std::vector<ChannelEvent> events;
  size_t next = 0;
  bool hasWaited = false; ///< For earlier kernels.
  int64_t phase = 0;      ///< Of the cluster's barrier: arrived for it last.

  bool isAtEnd() const { return next == events.size(); }
};

class ClusterRun {
public:
  ClusterRun(KernelOp kernel, const ChannelSample &sample, int64_t blocks)
      : kernel(kernel), sample(sample), blocks(blocks), rings(blocks) {
    ArrayAttr symbols = kernel.getProgram().getSymbols();
    if (!symbols.empty())
      firstSize = sample.sizes.at(cast<StringAttr>(symbols[0]).getValue());
  }

  LogicalResult run();

private:
  enum class Step { Done, Waits, Failed };
  static Step fail(const InFlightDiagnostic &) { return Step::Failed; }

  Step step(Actor &actor);
  Step produce(Actor &actor, ProduceOp op, const ChannelEvent &event);
  Step consume(Actor &actor, ConsumeOp op, int64_t piece);
  Step pass(Actor &actor, Operation *op, int64_t phase);
  LogicalResult complete(Actor &actor, ProduceOp op, Slot &slot,
                         const ChannelEvent &event);
  LogicalResult checkCopies(Actor &actor, const ChannelEvent &event);
  LogicalResult checkDependency(Actor &actor, ProduceOp op);
  LogicalResult reportStuck();
  LogicalResult checkEnd();
  Actor *findBehind(int64_t phase);

  Ring &getRing(int64_t block, Value channel);
  /// Where an error was found.
  std::string at(Actor &actor);
  std::string name(Actor &actor);
  std::string describeWait(Actor &actor);

  KernelOp kernel;
  ChannelSample sample;
  int64_t blocks;
  std::optional<int64_t> firstSize; ///< Of the program's symbols.
  std::vector<Actor> actors;
  std::vector<llvm::MapVector<Value, Ring>> rings; ///< Of each block.
};

LogicalResult ClusterRun::run() {
  for (int64_t block = 0; block < blocks; ++block) {
    sample.block = block;
    ChannelTracer tracer(kernel, sample);
    for (RoleOp role : kernel.getBlock().getOps<RoleOp>()) {
      FailureOr<std::vector<ChannelEvent>> events = tracer.trace(role);
      if (failed(events))
        return failure();
      actors.push_back({role, block, std::move(*events)});
    }
    for (ChannelOp channel : kernel.getBlock().getOps<ChannelOp>())
      rings[block][channel].slotCount = channel.getSlots();
  }
  bool isMoving = true;
  while (isMoving) {
    isMoving = false;
    for (Actor &actor : actors)
      while (!actor.isAtEnd()) {
        Step result = step(actor);
        if (result == Step::Failed)
          return failure();
        if (result == Step::Waits)
          break;
        ++actor.next;
        isMoving = true;
      }
  }
  if (!llvm::all_of(actors, [](const Actor &actor) { return actor.isAtEnd(); }))
    return reportStuck();
  return checkEnd();
}

ClusterRun::Step ClusterRun::step(Actor &actor) {
  const ChannelEvent &event = actor.events[actor.next];
  if (auto op = dyn_cast<ProduceOp>(event.op))
    return produce(actor, op, event);
  if (auto op = dyn_cast<ConsumeOp>(event.op))
    return consume(actor, op, event.number);
  if (isa<ShareOp, ClusterBarrierOp>(event.op))
    return pass(actor, event.op, event.number);
  actor.hasWaited = true;
  return Step::Done;
}

std::string ClusterRun::name(Actor &actor) {
  return "role \"" + actor.role.getName().str() + "\" of block " +
         std::to_string(actor.block);
}

std::string ClusterRun::at(Actor &actor) {
  std::string text =
      " (" + name(actor) + ", item " + std::to_string(sample.item);
  for (const auto &size : sample.sizes)
    text +=
        ", " + size.getKey().str() + " = " + std::to_string(size.getValue());
  return text + ")";
}

Ring &ClusterRun::getRing(int64_t block, Value channel) {
  return rings[block].find(channel)->second;
}

//===----------------------------------------------------------------------===//
// Producing
//===----------------------------------------------------------------------===//

LogicalResult ClusterRun::checkDependency(Actor &actor, ProduceOp op) {
  if (actor.hasWaited || op.getPart() == ProducePart::Early)
    return success();
  for (CopyOp copy : op.getBody().front().getOps<CopyOp>())
    if (!copy.getConstant())
      return copy.emitError("copies what earlier kernels may write before "
                            "tile.wait_dependency")
             << at(actor);
  return success();
}

LogicalResult ClusterRun::checkCopies(Actor &actor, const ChannelEvent &event) {
  for (const CopyPlace &copy : event.copies) {
    CopyOp op = copy.op;
    auto part = cast<MemRefType>(op.getTarget().getType());
    auto view = cast<MemRefType>(op.getView().getType());
    int64_t most = part.getDimSize(0);
    if (copy.rows && (*copy.rows < 1 || *copy.rows > most))
      return op.emitError("copies ")
             << *copy.rows << " rows of piece " << event.number
             << " into a part that has " << most << at(actor);
    for (auto [dim, index] : llvm::enumerate(copy.indices)) {
      // A dynamic number of rows is the program's first symbol.
      std::optional<int64_t> size =
          view.isDynamicDim(dim) ? firstSize : view.getDimSize(dim);
      std::optional<int64_t> span = dim == 0 ? copy.rows : part.getDimSize(dim);
      if (size && span && index && (*index < 0 || *index > *size - *span))
        return op.emitError("copies ")
               << *span << " from index " << *index << " on of the " << *size
               << " of dimension " << dim << " for piece " << event.number
               << at(actor);
    }
  }
  return success();
}

ClusterRun::Step ClusterRun::produce(Actor &actor, ProduceOp op,
                                     const ChannelEvent &event) {
  Ring &ring = getRing(actor.block, op.getChannel());
  int64_t piece = event.number, slots = ring.slotCount;
  Slot &slot = ring.slots[piece % slots];
  if (!ring.producer)
    ring.producer = actor.role;
  if (ring.producer != actor.role)
    return fail(
        op.emitError("is in the second role that produces for the channel; "
                     "expected one role")
        << at(actor));
  if (failed(checkDependency(actor, op)) || failed(checkCopies(actor, event)))
    return Step::Failed;
  if (op.getPart() == ProducePart::Late)
    return failed(complete(actor, op, slot, event)) ? Step::Failed : Step::Done;
  if (piece != ring.produced)
    return fail(op.emitError("produces piece ")
                << piece << " where piece " << ring.produced
                << " of the channel is next" << at(actor));
  if (op.getPart() == ProducePart::Early && piece >= slots)
    return fail(op.emitError("does not wait for the release of piece ")
                << piece - slots << ", which has slot " << piece % slots
                << " before piece " << piece
                << "; expected early copies of the "
                << "first " << slots << " pieces only" << at(actor));
  if (slot.producer)
    return Step::Waits;
  slot = {op, piece, op.getPart() == ProducePart::All, event.copies};
  ++ring.produced;
  return Step::Done;
}

LogicalResult ClusterRun::complete(Actor &actor, ProduceOp op, Slot &slot,
                                   const ChannelEvent &event) {
  if (!slot.producer || slot.piece != event.number || slot.isComplete)
    return op.emitError("makes the late copies of piece ")
           << event.number << ", which "
           << (slot.producer && slot.piece == event.number
                   ? "is complete"
                   : "has not been started early")
           << at(actor);
  auto partOf = [](CopyOp copy) {
    return cast<BlockArgument>(copy.getTarget()).getArgNumber();
  };
  for (const CopyPlace &late : event.copies) {
    CopyOp copy = late.op;
    const CopyPlace &early =
        *llvm::find_if(slot.copies, [&](const CopyPlace &other) {
          return partOf(other.op) == partOf(copy);
        });
    bool isConstant = copy.getConstant();
    if (CopyOp(early.op).getConstant() != isConstant)
      return copy.emitError("is ")
             << (isConstant ? "" : "not ")
             << "constant late and the opposite early, so that part "
             << partOf(copy) << " is copied "
             << (isConstant ? "not at all" : "twice") << at(actor);
    if (late.rows != early.rows)
      return copy.emitError("copies another number of rows into part ")
             << partOf(copy) << " of piece " << event.number
             << " late than its early half expects" << at(actor);
  }
  slot.isComplete = true;
  return success();
}

//===----------------------------------------------------------------------===//
// Consuming, and the barrier of the cluster
//===----------------------------------------------------------------------===//

ClusterRun::Step ClusterRun::consume(Actor &actor, ConsumeOp op,
                                     int64_t piece) {
  Ring &ring = getRing(actor.block, op.getChannel());
  if (!ring.consumer)
    ring.consumer = actor.role;
  if (ring.consumer != actor.role)
    return fail(
        op.emitError("is in the second role that consumes from the channel; "
                     "expected one role")
        << at(actor));
  if (piece != ring.consumed)
    return fail(op.emitError("consumes piece ")
                << piece << " where piece " << ring.consumed
                << " of the channel is next" << at(actor));
  Slot &slot = ring.slots[piece % ring.slotCount];
  if (!slot.producer || !slot.isComplete)
    return Step::Waits;
  slot = Slot();
  ++ring.consumed;
  return Step::Done;
}

/// A role that has not arrived for a phase; a block alone has no barrier.
Actor *ClusterRun::findBehind(int64_t phase) {
  auto found = llvm::find_if(
      actors, [&](const Actor &actor) { return actor.phase < phase; });
  return blocks == 1 || found == actors.end() ? nullptr : &*found;
}

/// Waits for a phase and arrives for the next one.
ClusterRun::Step ClusterRun::pass(Actor &actor, Operation *op, int64_t phase) {
  if (phase != actor.phase)
    return fail(op->emitError("passes phase ")
                << phase << " of the barrier of the cluster where phase "
                << actor.phase << " is next" << at(actor));
  if (findBehind(phase))
    return Step::Waits;
  ++actor.phase;
  return Step::Done;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

std::string ClusterRun::describeWait(Actor &actor) {
  const ChannelEvent &event = actor.events[actor.next];
  std::string number = std::to_string(event.number);
  if (isa<ShareOp, ClusterBarrierOp>(event.op))
    return "waits for ever for phase " + number +
           " of the barrier of the cluster, for which " +
           name(*findBehind(event.number)) + " does not arrive";
  bool isProduce = isa<ProduceOp>(event.op);
  Value channel = isProduce ? cast<ProduceOp>(event.op).getChannel()
                            : cast<ConsumeOp>(event.op).getChannel();
  Ring &ring = getRing(actor.block, channel);
  int64_t index = event.number % ring.slotCount;
  const Slot &slot = ring.slots[index];
  std::string in = " in slot " + std::to_string(index);
  if (isProduce)
    return "waits for ever for the release of piece " +
           std::to_string(slot.piece) + in + ", to produce piece " + number;
  return "waits for ever for piece " + number + in + ", " +
         (slot.producer ? "whose late copies are not made"
                        : "which is not produced");
}

LogicalResult ClusterRun::reportStuck() {
  SmallVector<Actor *> stuck;
  for (Actor &actor : actors)
    if (!actor.isAtEnd())
      stuck.push_back(&actor);
  auto getOp = [](Actor *actor) { return actor->events[actor->next].op; };
  InFlightDiagnostic error =
      getOp(stuck.front())->emitError(describeWait(*stuck.front()))
      << at(*stuck.front());
  for (Actor *actor : llvm::drop_begin(stuck))
    error.attachNote(getOp(actor)->getLoc())
        << name(*actor) << " " << describeWait(*actor);
  return error;
}

LogicalResult ClusterRun::checkEnd() {
  int64_t last = 0;
  for (const Actor &actor : actors)
    last = std::max(last, actor.phase);
  if (Actor *behind = findBehind(last))
    return behind->role.emitError("ends in phase ")
           << behind->phase
           << " of the barrier of the cluster, of which others "
           << "pass phase " << last - 1 << at(*behind);
  for (Actor &actor : actors) {
    if (!actor.hasWaited)
      return actor.role.emitError("ends without tile.wait_dependency")
             << at(actor);
    for (auto &[channel, ring] : rings[actor.block])
      for (auto &[index, slot] : ring.slots)
        if (slot.producer && ring.producer == actor.role)
          return slot.producer.emitError("produces piece ")
                 << slot.piece << ", which is never consumed" << at(actor);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sizes to try
//===----------------------------------------------------------------------===//

/// One row, one tile of rows, and several with a rest, if there may be.
SmallVector<int64_t> getRowCounts(KernelOp kernel) {
  auto schedule =
      dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr());
  if (!schedule)
    return {1, 8, 100};
  if (int64_t most = schedule.getMostRows())
    return {1, most};
  return {1, schedule.getRows(), 3 * schedule.getRows() + 1};
}

int64_t countItems(ProgramOp program, const llvm::StringMap<int64_t> &sizes) {
  int64_t items = 1;
  for (auto extent : program.getGrid().getAsRange<ExtentAttr>())
    items *= llvm::divideCeil(
        uint64_t(
            Polynomial::parse(extent.getSize())->evaluate(sizes).value_or(1)),
        extent.getBlock());
  return items;
}

LogicalResult verifyKernel(KernelOp kernel) {
  WalkResult channels =
      kernel.walk([](ChannelOp) { return WalkResult::interrupt(); });
  if (!channels.wasInterrupted())
    return success();
  auto schedule =
      dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr());
  // Where all warps copy there are no roles that could wait for each other.
  if (schedule && schedule.getLoadWarps() == 0)
    return success();
  if (failed(verifyStructure(kernel)))
    return failure();
  int64_t blocks = schedule ? schedule.getCluster() : 1;
  for (int64_t rows : getRowCounts(kernel)) {
    ChannelSample sample;
    for (StringRef name :
         kernel.getProgram().getSymbols().getAsValueRange<StringAttr>())
      sample.sizes[name] = rows;
    int64_t items = countItems(kernel.getProgram(), sample.sizes);
    SmallVector<int64_t> samples = {0};
    if (items > 1)
      samples.push_back(items - 1);
    for (int64_t item : samples) {
      sample.item = item;
      if (failed(ClusterRun(kernel, sample, blocks).run()))
        return failure();
    }
  }
  return success();
}

struct VerifyChannels
    : public kernel::impl::VerifyChannelsBase<VerifyChannels> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](KernelOp kernel) { return WalkResult(verifyKernel(kernel)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
