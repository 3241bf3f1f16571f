//===- ChannelTrace.h - What a role does with channels ----------*- C++ -*-===//
//
// Follows the control flow of a role for given sizes, work item and block of
// the cluster, through index arithmetic and loops, and lists its operations on
// channels in their order. Everything else is left out, tiles above all.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_CHANNELTRACE_H
#define WEFT_PASSES_KERNEL_CHANNELTRACE_H

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>
#include <vector>

namespace weft::tile {

/// Where a copy reads, as far as it is known.
struct CopyPlace {
  CopyOp op;
  std::optional<int64_t> rows;
  llvm::SmallVector<std::optional<int64_t>, 2> indices;
};

/// A `tile.produce`, `tile.consume`, `tile.cluster_barrier` or
/// `tile.wait_dependency` that a role comes to, or one of the two phases of a
/// `tile.share`.
struct ChannelEvent {
  mlir::Operation *op;
  int64_t number = 0;                     ///< Of the piece or the phase.
  llvm::SmallVector<CopyPlace, 2> copies; ///< Of a produce.
};

/// What a kernel runs with.
struct ChannelSample {
  llvm::StringMap<int64_t> sizes; ///< Values of the program's symbols.
  int64_t item = 0;
  int64_t block = 0; ///< Rank in the cluster.
};

class ChannelTracer {
public:
  ChannelTracer(KernelOp kernel, const ChannelSample &sample);

  /// The events of a role. Fails with an error where the control flow depends
  /// on more than sizes, item and rank.
  mlir::FailureOr<std::vector<ChannelEvent>> trace(RoleOp role);

private:
  mlir::LogicalResult follow(mlir::Block &block);
  mlir::LogicalResult followLoop(mlir::scf::ForOp loop);
  mlir::LogicalResult followBranch(mlir::scf::IfOp branch);
  mlir::LogicalResult addEvent(mlir::Operation *op, mlir::Value number);

  std::optional<int64_t> evaluate(mlir::Value value);
  std::optional<int64_t> compute(mlir::Operation *op);
  void remember(mlir::Value value, int64_t number);
  void forget(size_t mark);
  bool hasEvents(mlir::Operation *op);

  int64_t block, iterations = 0;
  llvm::DenseMap<mlir::Value, int64_t> known;
  std::vector<mlir::Value> order; ///< In which values became known.
  llvm::DenseMap<mlir::Operation *, bool> eventful;
  std::vector<ChannelEvent> events;
};

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_CHANNELTRACE_H
