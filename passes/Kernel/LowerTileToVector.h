//===- LowerTileToVector.h - Emits one kernel as vector code ----*- C++ -*-===//
//
// Internal to the pass weft-lower-tile-to-vector. A tile [R, C] becomes R rows
// of pieces: vectors of one register's width in f32 lanes, then smaller powers
// of two for the rest of the columns, so that every piece is a type that
// instruction selection handles without widening. f16 and bf16 elements are
// held as i16 until they are extended, because LLVM's own handling of these
// types calls library functions on older processors.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_LOWERTILETOVECTOR_H
#define WEFT_PASSES_KERNEL_LOWERTILETOVECTOR_H

#include "dialects/Tile/TileDialect.h"
#include "passes/Kernel/CpuLevel.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft::tile {

/// Widths of the pieces of a row: full registers, then powers of two.
llvm::SmallVector<int64_t> splitColumns(int64_t columns, int64_t lanes);

/// A tile as vectors.
struct VectorTile {
  int64_t rows = 0, columns = 0;
  llvm::SmallVector<int64_t> widths;     ///< Of the pieces of one row.
  llvm::SmallVector<mlir::Value> pieces; ///< rows x widths.size().

  int64_t count() const { return widths.size(); }
  llvm::ArrayRef<mlir::Value> row(int64_t r) const {
    return llvm::ArrayRef(pieces).slice(r * count(), count());
  }
};

/// Memory that a kernel sees.
struct View {
  mlir::Value pointer; ///< !llvm.ptr to element 0.
  mlir::Type element;  ///< As in the memref: f16 and bf16 too.
  llvm::SmallVector<int64_t> strides;
};

/// Where a tile lies in memory.
struct TileAccess {
  mlir::Value pointer; ///< !llvm.ptr to the tile's first element.
  mlir::Type element;
  llvm::SmallVector<int64_t> strides; ///< Per dimension of the tile.
  mlir::Value rows; ///< Rows that are inside, of index type; null: all.
};

class TileEmitter {
public:
  TileEmitter(mlir::ImplicitLocOpBuilder &builder, KernelOp kernel,
              const CpuLevel &level)
      : b(builder), kernel(kernel), level(level) {}

  /// Emits the kernel's body at the insertion point, which is in a function of
  /// the kernel ABI with these arguments. Diagnoses what it cannot lower.
  mlir::LogicalResult emitKernel(mlir::ValueRange abiArguments);

private:
  // Structure.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitFold(FoldOp op);
  mlir::LogicalResult emitLoop(mlir::Operation *op, mlir::Value lower,
                               mlir::Value upper, mlir::Value step,
                               mlir::ValueRange init, mlir::Block &body);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  llvm::SmallVector<mlir::Value> flatten(mlir::ValueRange values);
  llvm::SmallVector<mlir::Type> flattenTypes(mlir::TypeRange types);
  void bind(mlir::ValueRange values, llvm::ArrayRef<mlir::Value> flat);

  // Memory.
  void emitArguments(mlir::ValueRange abiArguments);
  void emitScratch(ScratchOp op);
  mlir::LogicalResult emitLoad(LoadOp op);
  mlir::LogicalResult emitStore(StoreOp op);
  void emitElementLoad(mlir::memref::LoadOp op);
  void emitElementStore(mlir::memref::StoreOp op);
  TileAccess makeAccess(mlir::Value view, mlir::ValueRange indices,
                        llvm::ArrayRef<int64_t> dims, mlir::Value rows);
  /// Pointer to an element that lies some elements behind `pointer`.
  mlir::Value advance(mlir::Value pointer, mlir::Type element,
                      int64_t elements);
  mlir::Value advance(mlir::Value pointer, mlir::Type element,
                      mlir::Value elements);
  /// Pointer to row `row`, or to the last row inside if that comes first.
  mlir::Value rowPointer(const TileAccess &access, mlir::Value row);
  mlir::Value rowPointer(const TileAccess &access, int64_t row);
  mlir::Value loadVector(mlir::Value pointer, mlir::Type type);
  void storeRow(mlir::Value pointer, const TileAccess &access,
                const VectorTile &tile, int64_t row, mlir::Value columns);
  void guarded(mlir::Value count, int64_t position,
               llvm::function_ref<void()> body);

  // Multiplication.
  struct MmaOperands;
  mlir::LogicalResult emitMma(MmaOp op);
  mlir::LogicalResult checkUnchanged(LoadOp load, MmaOp op);
  void emitMmaChunk(const MmaOperands &operands,
                    llvm::MutableArrayRef<mlir::Value> accumulators);
  void emitMmaGroups(const MmaOperands &operands, mlir::Value firstGroup,
                     int64_t offset, int64_t count,
                     llvm::MutableArrayRef<mlir::Value> accumulators);
  llvm::SmallVector<mlir::Value> loadMmaRight(const MmaOperands &operands,
                                              mlir::Value group, int64_t offset,
                                              int64_t piece);
  llvm::SmallVector<mlir::Value> stageLeft(llvm::ArrayRef<mlir::Value> rows,
                                           mlir::Type element, int64_t first,
                                           int64_t count);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value x, mlir::Value c);
  mlir::Value dotBf16(mlir::Value pair, mlir::Value x, mlir::Value c);

  // Elementwise.
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  mlir::FailureOr<mlir::Value>
  emitElement(mlir::Operation *op, mlir::ValueRange operands, int64_t width);
  mlir::Value extend(mlir::Value value, mlir::Type from, mlir::Type to);
  mlir::Value truncate(mlir::Value value, mlir::Type from, mlir::Type to);
  mlir::Value extendF16(mlir::Value bits);
  mlir::Value truncateF16(mlir::Value value);
  mlir::Value truncateBf16(mlir::Value value);

  // Columns.
  void emitSplat(SplatOp op);
  void emitBroadcast(BroadcastOp op);
  void emitIota(IotaOp op);
  void emitSlice(SliceOp op);
  void emitJoin(JoinOp op);
  mlir::LogicalResult emitReduce(ReduceOp op);
  /// A vector of the given elements of other vectors, at most two of which may
  /// differ in width from the result.
  mlir::Value gather(llvm::ArrayRef<std::pair<mlir::Value, int64_t>> elements);
  mlir::Value shuffle(mlir::Value a, mlir::Value c,
                      llvm::ArrayRef<int64_t> mask);

  // Helpers.
  VectorTile makeTile(mlir::Type type);
  mlir::Value index(int64_t value);
  mlir::Value splatInt(mlir::Type type, int64_t value);
  mlir::Value splatFloat(mlir::Type type, double value);
  /// A number, or a vector of one, in every element of a vector type.
  mlir::Value broadcast(mlir::Value scalar, mlir::Type type);
  mlir::Value addIndex(mlir::Value a, mlir::Value c);
  mlir::Value scaleIndex(mlir::Value a, int64_t factor);
  mlir::Type vectorOf(mlir::Type element, int64_t width);

  mlir::ImplicitLocOpBuilder &b;
  KernelOp kernel;
  const CpuLevel &level;
  mlir::Block *entry = nullptr; ///< Of the function.
  mlir::Value scratch;          ///< Pointer to what scratch memory is left.
  int64_t scratchOffset = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, VectorTile> tiles;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Value, TileAccess> accesses;
};

/// f16 and bf16 are held as i16; every other type as itself.
mlir::Type getHeldType(mlir::Type element);
bool isHalf(mlir::Type element);

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_LOWERTILETOVECTOR_H
