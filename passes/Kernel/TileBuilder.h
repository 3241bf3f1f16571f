//===- TileBuilder.h - Short hand for building tile kernels -----*- C++ -*-===//
//
// A thin layer over OpBuilder for code that builds the bodies of tile kernels:
// index arithmetic that folds constants, tiles of one element type, loops with
// lambdas, and the pointwise functions of the model dialect on f32 tiles.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_TILEBUILDER_H
#define WEFT_PASSES_KERNEL_TILEBUILDER_H

#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/WeftDialect.h"

#include "mlir/IR/Builders.h"

namespace weft::kernel {

class TileBuilder {
public:
  TileBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename Op, typename... Args> auto create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...);
  }

  // Index arithmetic; constants are folded.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// Element of a view of i32, as an index.
  mlir::Value loadIndex(mlir::Value view, mlir::ValueRange indices);
  mlir::Value toI32(mlir::Value index);

  // Tiles.
  mlir::RankedTensorType tileType(mlir::ArrayRef<int64_t> shape,
                                  mlir::Type element);
  mlir::Value constant(mlir::ArrayRef<int64_t> shape, double value);
  /// Of an f32 tile type, which may have an encoding.
  mlir::Value constantLike(mlir::Type type, double value);
  mlir::Value constantI32(mlir::ArrayRef<int64_t> shape, int32_t value);
  /// The tile as f32, and an f32 tile rounded to `element`.
  mlir::Value toF32(mlir::Value tile);
  mlir::Value roundTo(mlir::Value tile, mlir::Type element);
  /// A load with any number of indices; shape gives the tile dimensions.
  mlir::Value load(mlir::Value view, mlir::ValueRange indices,
                   mlir::ArrayRef<int64_t> shape, mlir::Value rows = {},
                   mlir::ArrayRef<int64_t> dims = {}, mlir::Value columns = {});
  void store(mlir::Value tile, mlir::Value view, mlir::ValueRange indices,
             mlir::Value rows = {}, mlir::ArrayRef<int64_t> dims = {},
             mlir::Value columns = {});
  mlir::Value broadcast(mlir::Value tile, mlir::ArrayRef<int64_t> shape);
  mlir::Value reduce(tile::Reduction kind, mlir::Value tile);
  /// The number of a tile of one element, and a tile of one number.
  mlir::Value extract(mlir::Value tile);
  mlir::Value splat(mlir::Value number, mlir::ArrayRef<int64_t> shape);
  /// x * factor, x + y with a number.
  mlir::Value scale(mlir::Value tile, double factor);

  // Control flow.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);
  void forLoop(mlir::Value lower, mlir::Value upper, int64_t step,
               llvm::function_ref<void(mlir::Value)> body);
  llvm::SmallVector<mlir::Value>
  fold(mlir::Value lower, mlir::Value upper, int64_t step, tile::Merge merge,
       mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);
  /// Runs `body(offset, width)` for pieces of [0, size) of `width` columns
  /// and a last, narrower one; a loop if there is more than one full piece.
  void forColumns(int64_t size, int64_t width,
                  llvm::function_ref<void(mlir::Value, int64_t)> body);

  // Pointwise functions of f32 tiles.
  mlir::Value activation(Activation function, mlir::Value x);
  mlir::Value softcap(mlir::Value x, double cap);
};

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_TILEBUILDER_H
