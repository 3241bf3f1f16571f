//===- LowerTileToCuda.h - Emits one kernel as code of a thread -*- C++ -*-===//
//
// Internal to the pass weft-lower-tile-to-cuda. A block of threads computes a
// work item and the threads share the elements of each tile (TileLayout). What
// a thread has of a tile is a vector of registers, or a number if it is one.
//
// Control flow of a tile kernel depends on numbers that all threads compute
// alike, so all threads of a block take the same path and barriers may stand
// anywhere in it. Threads meet in memory only: a barrier stands between an
// access and a later one of the same view if one of them writes. The same
// holds for the staging area, shared memory behind the scratch views through
// which elements move between threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_LOWERTILETOCUDA_H
#define WEFT_PASSES_KERNEL_LOWERTILETOCUDA_H

#include "dialects/Cuda/CudaDialect.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/FlashMemory.h"
#include "passes/Kernel/FragmentLayouts.h"
#include "passes/Kernel/StreamMemory.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <array>
#include <map>
#include <optional>

namespace weft::tile {

/// How the elements of a tile are spread over the threads of a block: element
/// e = row * columns + column is register e / threads of thread e % threads. A
/// tile of one column is held by every thread, a register per row.
struct TileLayout {
  int64_t rows, columns, threads;
  /// Consecutive elements of a row that a thread has in consecutive registers.
  int64_t consecutive = 1;
  /// Not 0: the tile is spread as that many warpgroups accumulate it, see
  /// WarpgroupLayout.
  int64_t groups = 0;

  bool isReplicated() const { return columns == 1; }
  /// Of the elements that a warp has first: (register, lane) -> column, and row
  /// in the accumulators of a warpgroup.
  Layout getFirstElements() const {
    if (groups)
      return getMmaAccumulator();
    return Layout::identity(Axis::Register, Axis::Column,
                            llvm::Log2_64(consecutive)) *
           Layout::identity(Axis::Lane, Axis::Column, 5);
  }
  int64_t elements() const { return rows * columns; }
  int64_t registers() const {
    if (groups)
      return columns / groups / 2;
    return isReplicated() ? rows : llvm::divideCeil(elements(), threads);
  }
  /// Every row is in threads and registers that are the same whatever the
  /// number of rows, but for a shift by whole rows.
  bool hasAlignedRows() const {
    return columns % threads == 0 || threads % columns == 0;
  }
};

/// Where a thread's register stands in a tile, in numbers of type i32.
/// Registers behind the tile's last element stand at some element of the tile.
struct TilePosition {
  mlir::Value row, column;
  mlir::Value inside; ///< i1; null: every thread's register has an element.
};

/// Memory that a kernel sees.
struct CudaView {
  mlir::Value pointer; ///< !cuda.ptr to element 0.
  llvm::SmallVector<DimAddress> dims;
  mlir::Value rowCount; ///< Of a view that strides count rows of; index.
  cuda::CacheHint hint = cuda::CacheHint::Default; ///< Of loads.
};

/// How a coordinate of a tile counts in addresses.
struct CudaTileDim {
  DimAddress address;
  /// The tile's first index, i32, that is added to a coordinate; null: the
  /// address of the sum is the sum of the addresses.
  mlir::Value origin;
};

/// Where a tile lies in memory.
struct CudaAccess {
  mlir::Value view;    ///< In the tile kernel; null: the staging area.
  mlir::Value pointer; ///< !cuda.ptr to the tile's first element, but for dims
                       ///< that have an origin.
  llvm::SmallVector<CudaTileDim, 3> dims; ///< Per dimension of the tile.
  mlir::Value rowCount;                   ///< See CudaView.
  mlir::Value rows;      ///< Rows that are inside, i32; null: all.
  mlir::Type offsetType; ///< i32, or index for a tile that spans more.
  cuda::CacheHint hint = cuda::CacheHint::Default;
};

/// Accesses since the last barrier.
struct PendingAccesses {
  llvm::DenseSet<mlir::Value> reads; ///< Views; null: the staging area.
  /// The operations that wrote a view; null: the staging area.
  llvm::DenseMap<mlir::Value, llvm::SmallPtrSet<mlir::Operation *, 2>> writes;

  void clear();
  void add(const PendingAccesses &other);
};

/// Values of k of one multiplication, and of a fragment of the input.
constexpr int64_t mmaSteps = 16, fragmentSteps = 2 * mmaSteps;
/// Elements of an 8x8 matrix of panels.
constexpr int64_t coreMatrix = PanelsAttr::groupRows * PanelsAttr::groupColumns;

/// How a warp holds a tile that tensor cores accumulate: registers 4n .. 4n + 3
/// are the result of one mma.sync. Of a tile of one column, a sum over k,
/// column warp w has row tiles w, w + columnWarps, ... and a lane a part of
/// their rows lane / 4.
struct AccumulatorLayout {
  /// Columns and rows of a tile that one multiplication has.
  static constexpr int64_t tileColumns = 16, tileRows = 8;
  int64_t columnTiles, rowTiles; ///< Of one warp.
  int64_t columnWarps;

  /// (register, lane) -> (row, column) of an accumulator: the weight, whose
  /// columns the tile has, is the left-hand side.
  static Layout getLayout() { return getMmaAccumulator().transposed(); }

  int64_t count() const { return columnTiles * rowTiles; }
  int64_t number(int64_t columnTile, int64_t rowTile) const {
    return columnTile * rowTiles + rowTile;
  }
};

/// How the four warps of a warpgroup hold a tile that they accumulate: as
/// getWarpgroupAccumulator() says, of the group's columns. Of a tile of one
/// column, a sum over k, a lane has a part of the two rows that it has of the
/// columns.
struct WarpgroupLayout {
  /// The rows of a multiplication, and those of a warp.
  static constexpr int64_t rows = 64, warpRows = 16;
  /// The most columns of a multiplication.
  static constexpr int64_t mostColumns = 128;
  int64_t tileRows; ///< At most `rows`; the others are not stored.
  int64_t columns;  ///< Of one warpgroup.
  int64_t groups;   ///< Of the step warps that share the columns.

  int64_t registers() const { return columns / 2; }
  /// (register, lane, warp) -> (row, column) of a power of two of columns.
  Layout getLayout() const {
    return getWarpgroupAccumulator(llvm::Log2_64_Ceil(columns));
  }
};

/// A channel's place in shared memory.
struct CudaChannel {
  int64_t slots = 0, slotBytes = 0;
  llvm::SmallVector<int64_t> partOffsets; ///< Bytes, in the first slot.
  mlir::Value full, empty;                ///< An mbarrier per slot.
};

/// A part of the slot that a role has: `offset` is that in the first slot.
struct SlotPart {
  int64_t offset;
  mlir::Value slot; ///< i32.
  int64_t slotBytes;
};

//===----------------------------------------------------------------------===//
// Attention on tensor cores
//===----------------------------------------------------------------------===//

/// Whether an index is known to be a multiple.
bool isMultipleOf(mlir::Value index, int64_t factor);

/// The encoding of a tile that warps hold, else null.
WarpTileAttr getWarpTile(mlir::Type type);
/// Whether the operation is lowered in its own way when its result is a tile
/// that warps hold; others are the same on every thread's registers.
bool isOnWarpTiles(mlir::Operation *op);

/// Where a thread stands, i32: lane = 4 * group + inGroup.
struct LanePosition {
  mlir::Value warp, lane, group, inGroup;
  /// In a kernel with a #tile.flash_schedule: the warp's part of rows and keys.
  mlir::Value rowWarp, keyWarp;
};

/// A fold with merge softmax whose state warps hold, and what it needs.
bool isFlashFold(FoldOp fold);
FlashMemory getFlashMemory(FoldOp fold, FlashScheduleAttr schedule);

/// The steps [first, last) of a fold, i32, step n in split n % splits.
struct FlashSteps {
  int64_t splits;
  mlir::Value first, last;
  mlir::Value aligned; ///< `first` rounded down to a multiple of `splits`.
  mlir::Value begin;   ///< First step that this block takes.
  mlir::Value lowest;  ///< Of the block's steps, that of the lowest number.
  mlir::Value count;   ///< Steps of this block.
};

/// Operations of a step that say where its tiles lie, and what of that other
/// operations compute: what the loads' operands are.
struct StepAddresses {
  llvm::SmallVector<mlir::Operation *> ops;  ///< In their order.
  llvm::SmallVector<mlir::Value> operands;   ///< Of loads, not constant.
  llvm::SmallVector<mlir::Operation *> body; ///< Computes with the tiles.
};

/// A softmax fold whose first copies are under way.
struct FlashStart {
  FoldOp fold;
  StepAddresses addresses;
  FlashSteps steps;
  llvm::SmallVector<mlir::Value> lookedUp; ///< Of the next step to be copied.
  mlir::Value next;                        ///< Step to be looked up.
};

/// A row of a softmax state without its values, or a vector of rows; f32.
struct SoftmaxRow {
  mlir::Value maximum, sum;
};

/// Two rows merged: the values are left * left values + right * right values.
struct SoftmaxMerge {
  SoftmaxRow row;
  mlir::Value left, right;
};

/// (row, column) -> offset of a left-hand operand in a view of a weight, whose
/// rows are columns of the tile; none if the view is not in core matrices.
std::optional<Layout> getWeightLayout(mlir::MemRefType view);

cuda::PtrType sharedPointer(mlir::Type element);

/// A vector of some consecutive elements of another one.
mlir::Value sliceVector(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                        int64_t first, int64_t count);

class CudaTileEmitter {
public:
  /// `kernel` is the tile kernel; `builder` stands where its code goes.
  CudaTileEmitter(mlir::ImplicitLocOpBuilder &builder, KernelOp kernel,
                  const CudaArch &arch);

  /// Makes the cuda.kernel of the given name. Diagnoses what it cannot lower.
  mlir::LogicalResult emitKernel(llvm::StringRef name);

private:
  // Structure.
  void emitArguments(cuda::KernelOp target);
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitLoop(mlir::Operation *op, mlir::Value lower,
                               mlir::Value upper, mlir::Value step,
                               mlir::ValueRange init, mlir::Block &body);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);

  // Roles and channels.
  /// Consecutive pieces of memory that a copy is made of. Counts and offsets
  /// are in elements.
  struct CopyPieces {
    int64_t most, mostBytes;  ///< Pieces and bytes of one, at most.
    mlir::Value count;        ///< Pieces, i32.
    mlir::Value bytes;        ///< Of a piece, i32.
    mlir::Value source;       ///< Of the first piece, of type index.
    mlir::Value sourceStride; ///< Between pieces, of type index.
    int64_t targetStride;     ///< Between pieces.
  };
  mlir::LogicalResult emitChannel(ChannelOp op);
  mlir::LogicalResult emitRole(RoleOp op);
  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitProduce(ProduceOp op);
  mlir::LogicalResult
  emitCopies(ProduceOp op,
             llvm::SmallVectorImpl<std::pair<CopyOp, CopyPieces>> &copies);
  mlir::LogicalResult emitConsume(ConsumeOp op);
  mlir::FailureOr<CopyPieces> getCopyPieces(CopyOp op);
  std::pair<mlir::Value, mlir::Value> getSlot(const CudaChannel &channel,
                                              mlir::Value piece);
  int64_t getPipelineBytes();
  bool hasAsyncChannel();
  mlir::LogicalResult emitAsyncProduce(ProduceOp op);
  void emitAsyncCopy(CopyOp op, const CopyPieces &pieces,
                     const CudaChannel &channel, mlir::Value slot);
  void waitForAsyncPiece(const CudaChannel &channel);
  void emitBarrier();

  // Products of a piece.
  /// Which fragment of the input is computed, and what is known of it.
  struct InputFragment {
    /// Its first row and value of k in the piece, i32.
    mlir::Value row, k;
    llvm::DenseMap<mlir::Value, mlir::Value> ofRows;    ///< Of tiles with rows.
    llvm::DenseMap<mlir::Value, mlir::Value> ofColumns; ///< Of one row.
  };
  AccumulatorLayout accumulatorLayout(mlir::Type tile);
  std::pair<mlir::Value, mlir::Value> warpPlace();
  mlir::Value loadRowFragment(mlir::Value pointer, mlir::Value start,
                              mlir::Value within, const Layout &memory);
  mlir::Value loadColumnFragment(LoadOp load, const InputFragment &at);
  mlir::FailureOr<mlir::Value> loadFragment(LoadOp load,
                                            const InputFragment &at);
  mlir::FailureOr<mlir::Value> getFragment(mlir::Value tile, InputFragment &at);
  mlir::FailureOr<mlir::Value> computeFragment(mlir::Value tile,
                                               InputFragment &at);
  mlir::FailureOr<mlir::Value> addFragment(ReduceOp op, mlir::Value sum,
                                           InputFragment &at);
  llvm::SmallVector<mlir::Value> loadWeightFragments(MmaOp mma,
                                                     mlir::Value stepWarp,
                                                     mlir::Value columnWarp,
                                                     int64_t k);
  mlir::LogicalResult emitTensorProducts(llvm::MutableArrayRef<MmaOp> products);
  mlir::Value placeInPanels(mlir::MemRefType type, mlir::Value row,
                            mlir::Value k);
  mlir::LogicalResult emitRowSum(ReduceOp op);
  bool hasWarpgroups();
  WarpgroupLayout warpgroupLayout(mlir::Type tile);
  std::pair<mlir::Value, mlir::Value> warpgroupPlace();
  mlir::Value warpgroupRow(const WarpgroupLayout &layout, int64_t half);
  mlir::LogicalResult emitWarpgroupPiece(llvm::ArrayRef<MmaOp> products,
                                         llvm::ArrayRef<ReduceOp> sums);
  llvm::SmallVector<mlir::Value>
  emitWarpgroupProducts(llvm::ArrayRef<MmaOp> products,
                        llvm::ArrayRef<mlir::Value> left);
  mlir::LogicalResult emitFragments(ConsumeOp op);

  // Sums over blocks.
  mlir::Value mapToCluster(mlir::Value pointer, mlir::Value rank);
  void meetBlocks(bool relaxed = false);
  llvm::SmallVector<SumMemory> getSums(ShareOp op);
  void forSumElements(
      mlir::Value sum, const SumMemory &memory, mlir::Value columnWarp,
      llvm::function_ref<void(mlir::Value at, mlir::Value element)> body);
  void forWarpgroupElements(
      mlir::Value sum, const SumMemory &memory,
      llvm::function_ref<void(mlir::Value at, mlir::Value element)> body);
  mlir::Value addLanes(mlir::Value part);
  mlir::Value addParts(const SumMemory &memory,
                       llvm::ArrayRef<mlir::Value> blocks, mlir::Value at,
                       mlir::Type type);
  mlir::Value addBlocks(const SumMemory &memory, mlir::Value pointer,
                        mlir::Value rank, mlir::RankedTensorType result);
  void storeSums(ShareOp op, llvm::ArrayRef<SumMemory> sums);
  mlir::LogicalResult emitShare(ShareOp op);
  mlir::LogicalResult emitAllGather(AllGatherOp op);
  void keepSums(ShareOp op);

  // Tiles that warps hold.
  mlir::Type convertWarpTile(mlir::RankedTensorType type);
  const LanePosition &lanePosition();
  mlir::Value warpPart(int64_t columnWarps, int64_t size);
  std::pair<mlir::Value, mlir::Value> warpElement(mlir::RankedTensorType type,
                                                  int64_t reg);
  mlir::LogicalResult emitOnWarpTiles(mlir::Operation *op);
  mlir::LogicalResult emitWarpBroadcast(BroadcastOp op);
  mlir::LogicalResult emitWarpReduce(ReduceOp op);
  mlir::LogicalResult emitWarpFma(mlir::math::FmaOp op);
  mlir::LogicalResult emitWarpProduct(
      MmaOp op, llvm::function_ref<void(int64_t first, mlir::Value part)> use);
  mlir::LogicalResult emitWarpMma(MmaOp op);
  mlir::LogicalResult emitLoadHeads(LoadHeadsOp op);
  mlir::LogicalResult emitStoreHeads(StoreHeadsOp op);
  mlir::Value elementOffset(const CudaView &view, mlir::Value row,
                            mlir::Value column);
  std::pair<mlir::Value, mlir::Value>
  headPlace(mlir::Value tileRow, mlir::Value row, mlir::Value column,
            int64_t heads, int64_t headSize);

  // Heads of query, key and value.
  mlir::LogicalResult emitRotate(RotateOp op);
  mlir::LogicalResult emitAppendHeads(AppendHeadsOp op);

  // Softmax folds that warps and splits cut.
  mlir::LogicalResult emitWait(WaitDependencyOp op);
  mlir::LogicalResult beginFlashFold(FoldOp op, mlir::Value settled = {});
  mlir::LogicalResult emitFlashFold(FoldOp op);
  mlir::LogicalResult emitFlashStep(FoldOp op, mlir::scf::ForOp loop);
  llvm::SmallVector<mlir::Value>
  emitSplitEnd(FoldOp op, mlir::Value step,
               llvm::SmallVector<mlir::Value> state, mlir::ValueRange before);
  mlir::LogicalResult emitShareSoftmax(ShareSoftmaxOp op);
  FlashSteps getFlashSteps(FoldOp op);
  mlir::Value splitBegin(const FlashSteps &steps, mlir::Value split);
  mlir::Value nextStep(const FlashSteps &steps, mlir::Value step);
  mlir::Value narrow(mlir::Value index);
  mlir::Value modulo(mlir::Value value, int64_t divisor);
  mlir::LogicalResult requireLowered(FoldOp op,
                                     llvm::ArrayRef<mlir::Operation *> ops);
  mlir::FailureOr<StepAddresses> getStepAddresses(FoldOp op);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitStepAddresses(FoldOp op, const StepAddresses &addresses,
                    mlir::Value step);
  mlir::LogicalResult emitStepCopies(const StepAddresses &addresses,
                                     mlir::ValueRange operands,
                                     mlir::Value slot);
  void emitStridedCopies(const RingPart &part, const CudaAccess &access,
                         const TileLayout &layout, mlir::Value target,
                         mlir::Value slotStart);
  void emitPlacedCopies(const RingPart &part, const CudaAccess &access,
                        const TileLayout &layout, mlir::Value target,
                        mlir::Value slotStart);
  void emitEmptyStates();
  void
  forStateRows(mlir::ValueRange state, mlir::Value number,
               llvm::function_ref<void(int64_t half, mlir::Value start)> body);
  void
  forStatePairs(mlir::ValueRange state, int64_t half, mlir::Value start,
                llvm::function_ref<void(int64_t first, mlir::Value at)> body);
  SoftmaxRow getRow(mlir::ValueRange state, int64_t half);
  void storeState(mlir::ValueRange state, mlir::Value number);
  void mergeIntoMemory(mlir::ValueRange state);
  llvm::SmallVector<mlir::Value> mergeStates(mlir::ValueRange a,
                                             mlir::ValueRange c);
  std::pair<SoftmaxRow, mlir::Value>
  mergeSplits(llvm::ArrayRef<mlir::Value> blocks, int64_t warp,
              mlir::Value rowStart, mlir::Value column);
  mlir::Value
  mergeWarps(llvm::ArrayRef<std::pair<SoftmaxRow, mlir::Value>> warps);
  mlir::Value statePointer();
  mlir::Value stateStart(mlir::Value state, mlir::Value warp);
  mlir::Value loadF32(mlir::Value pointer, mlir::Value at, int64_t count = 1);
  SoftmaxRow loadRowState(mlir::Value pointer, mlir::Value at);
  void storeRowState(const SoftmaxRow &row, mlir::Value pointer,
                     mlir::Value at);
  SoftmaxMerge mergeRows(const SoftmaxRow &a, const SoftmaxRow &c);
  mlir::Value mergeValues(const SoftmaxMerge &merge, mlir::Value a,
                          mlir::Value c);
  mlir::Value exp2Difference(mlir::Value a, mlir::Value c);
  mlir::Value constantF32(float value);

  // Order of memory accesses.
  void beforeRead(mlir::Value view);
  void beforeWrite(mlir::Value view, mlir::Operation *op);
  void enterLoop(mlir::Operation *loop);

  // Coordinates that layouts give, i32.
  mlir::Value bitsOf(mlir::Value value, unsigned bits, const BitField &field);
  mlir::Value along(const Layout &layout, Axis output, Axis input,
                    mlir::Value coordinate, int64_t scale = 1);

  // Memory.
  CudaView makeView(mlir::MemRefType type, mlir::Value pointer);
  void emitScratch(ScratchOp op);
  mlir::LogicalResult emitLoad(LoadOp op);
  mlir::LogicalResult emitStore(StoreOp op);
  /// Consecutive elements of a tile of one row that one access may have; 1: the
  /// view or the bounds do not allow more.
  int64_t vectorWidth(const CudaAccess &access, mlir::Value column,
                      const TileLayout &layout, mlir::Type element);
  void emitElementLoad(mlir::memref::LoadOp op);
  /// Distance of an element from the view's start, without null indices.
  mlir::Value linearize(const CudaView &view, mlir::ValueRange indices);
  CudaAccess makeAccess(mlir::Value view, mlir::ValueRange indices,
                        llvm::ArrayRef<int64_t> dims,
                        mlir::RankedTensorType tile);
  /// A count of rows or columns as i32, at most `size`.
  mlir::Value clampCount(mlir::Value count, int64_t size);
  /// `row`, or the last row inside if that comes first.
  mlir::Value clampRow(const CudaAccess &access, mlir::Value row);
  /// Elements that `index` counts in a dimension, a number of `type`.
  mlir::Value addressOf(const DimAddress &dim, mlir::Value index,
                        mlir::Value rowCount, mlir::Type type);
  /// Elements that a coordinate counts in dimension `dim` of the tile.
  mlir::Value offsetAlong(const CudaAccess &access, unsigned dim,
                          mlir::Value coordinate);
  mlir::Value offsetOf(const CudaAccess &access, mlir::ValueRange coordinates);
  mlir::Value advance(const CudaAccess &access, mlir::Value offset);

  // Elements through shared memory.
  CudaAccess stagingAt(mlir::Type element, int64_t rows, int64_t columns,
                       int64_t byteOffset = 0);
  /// Writes a tile; `column` gives the staged column of a tile's column.
  void stage(mlir::Value tile, const TileLayout &layout,
             const CudaAccess &staging,
             llvm::function_ref<mlir::Value(mlir::Value)> column);
  mlir::Value readStaged(const CudaAccess &staging, mlir::Type element,
                         mlir::Value row, mlir::Value column);
  void emitBroadcast(BroadcastOp op);
  void emitSlice(SliceOp op);
  void emitJoin(JoinOp op);

  // Reductions.
  mlir::LogicalResult emitReduce(ReduceOp op);
  mlir::Value combine(Reduction kind, mlir::Value a, mlir::Value c);
  mlir::Value identityOf(Reduction kind, mlir::Type element);
  mlir::Value reduceWarp(Reduction kind, mlir::Value value);
  llvm::SmallVector<mlir::Value> reduceAligned(ReduceOp op,
                                               const TileLayout &layout);
  llvm::SmallVector<mlir::Value> reduceByWarps(ReduceOp op,
                                               const TileLayout &layout);
  llvm::SmallVector<mlir::Value> reduceSerially(ReduceOp op,
                                                const TileLayout &layout);

  // Multiplication.
  struct MmaOperands;
  mlir::LogicalResult emitMma(MmaOp op);
  CudaAccess getMmaOperand(MmaOp op, unsigned number, int64_t &stagedBytes);
  void emitMmaGroups(const MmaOperands &operands, mlir::Value firstGroup,
                     int64_t offset, int64_t count,
                     llvm::MutableArrayRef<mlir::Value> accumulators);

  // Elementwise.
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  void emitSplat(SplatOp op);
  void emitIota(IotaOp op);

  // Helpers.
  TileLayout layoutOf(mlir::Type tile);
  /// A number's type, or that of a thread's registers of a tile.
  mlir::Type convert(mlir::Type type);
  llvm::SmallVector<mlir::Type> convert(mlir::TypeRange types);
  llvm::SmallVector<mlir::Value> lookup(mlir::ValueRange values);
  void bind(mlir::ValueRange from, mlir::ValueRange to);
  TilePosition positionOf(const TileLayout &layout, int64_t reg);
  TilePosition makePosition(const TileLayout &layout, int64_t reg);
  TilePosition makeWarpgroupPosition(const TileLayout &layout, int64_t reg);
  mlir::Value registerOf(mlir::Value tile, int64_t reg);
  mlir::Value pack(mlir::Type tile, llvm::ArrayRef<mlir::Value> registers);
  /// Emits `body` where the condition holds; everywhere without one.
  void guarded(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value both(mlir::Value a, mlir::Value c);
  mlir::Value toF32(mlir::Value value);
  mlir::Value number(int64_t value); ///< i32.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, int64_t factor);
  mlir::Value min(mlir::Value a, mlir::Value c);
  mlir::Value less(mlir::Value a, mlir::Value c);
  mlir::Value equal(mlir::Value a, mlir::Value c);

  mlir::ImplicitLocOpBuilder &b;
  KernelOp kernel;
  const CudaArch &arch;
  int64_t threads;         ///< That share a tile.
  int64_t blockThreads;    ///< Of all roles.
  int64_t clusterSize = 1; ///< Blocks that compute a work item together.
  bool isStreamed = false; ///< The kernel streams weights.
  /// Not empty: tiles of this shape are spread as their sums are accumulated.
  llvm::SmallVector<int64_t> keptShape;
  int64_t roleWarps = 0;                  ///< Of the roles so far.
  mlir::Block *otherRoles = nullptr;      ///< Where the next role goes.
  int64_t pipelineBytes = 0;              ///< Of channels and shares so far.
  mlir::Value thread;                     ///< i32.
  mlir::Operation *prologueEnd = nullptr; ///< Positions stand before it.
  int64_t scratchOffset = 0;              ///< Of the next scratch view.
  int64_t stagingOffset = 0;              ///< Behind all of them.
  int64_t stagingBytes = 0;               ///< Needed so far.
  mlir::Value staged;                     ///< The tile that slices have staged.
  PendingAccesses pending;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, CudaView> views;
  llvm::DenseMap<mlir::Value, CudaAccess> accesses;
  llvm::DenseMap<mlir::Value, CudaChannel> channels;
  llvm::DenseMap<mlir::Value, SlotPart> slotParts;
  /// Where the sums of a tile.share lie, see SumMemory.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> sharedSums;
  LanePosition lanes;               ///< See lanePosition().
  std::optional<FlashMemory> flash; ///< Of the kernel's softmax fold.
  std::optional<FlashStart> flashStart;
  mlir::Value flashSlot; ///< Of its current step, i32.
  std::map<std::array<int64_t, 3>, TilePosition> positions;
  std::map<int64_t, mlir::Value> numbers; ///< Constants of type i32.
};

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_LOWERTILETOCUDA_H
