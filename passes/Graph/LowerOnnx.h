//===- LowerOnnx.h - Operators of ONNX as loops over elements ---*- C++ -*-===//
//
// Internal to the pass weft-lower-onnx. An operator becomes a few operations
// linalg.generic on tensors without names of sizes and of signless integers.
// What is said here is what the operator means: plain, not fast.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_LOWERONNX_H
#define WEFT_PASSES_GRAPH_LOWERONNX_H

#include "dialects/Onnx/OnnxDialect.h"
#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace weft::graph {

using mlir::Location;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using onnx::Shape;
using Indices = llvm::ArrayRef<mlir::Value>;

/// Scalar arithmetic; whether it is that of integers or of floating-point
/// numbers follows from the types of the operands.
class Scalars {
public:
  Scalars(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  OpBuilder &b;
  Location loc;

  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }

  Value index(int64_t value);
  /// A number of an integer, index or floating-point type.
  Value number(Type type, double value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y, bool isUnsigned = false);
  Value min(Value x, Value y, bool isUnsigned = false);
  Value max(Value x, Value y, bool isUnsigned = false);
  enum class Order { Equal, Less, LessOrEqual };
  Value compare(Order order, Value x, Value y, bool isUnsigned = false);
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value invert(Value x);
  Value select(Value condition, Value x, Value y);
  /// `then` if the condition holds, else `otherwise`, which is computed only
  /// then.
  Value branch(Value condition, Type type, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);
  /// An element of a tensor.
  Value read(Value tensor, Indices indices);
  Value toIndex(Value integer);
  Value fromIndex(Value index, Type type);
  /// A number converted as Cast does; integers are signed unless said.
  Value convert(Value value, Type to, bool fromUnsigned = false,
                bool toUnsigned = false);
  /// f16, bf16 and smaller as f32, f32 as such a type; others stay.
  Value widen(Value value);
  Value narrow(Value value, Type to);
  /// What a byte means that holds a floating-point number of at most 8 bits, as
  /// f32.
  Value decode(Value byte, mlir::FloatType type);
  /// The byte of an f32, rounded to the nearest, ties to even. What is too
  /// large becomes the largest number if `saturates`, else infinity or NaN.
  /// Source: Cast of the ONNX standard.
  Value encode(Value number, mlir::FloatType type, bool saturates);
  /// The same for the powers of two of f8E8M0FNU: `mode` is up, down or
  /// nearest.
  Value encodePower(Value number, bool saturates, llvm::StringRef mode);
  /// A byte whose low `bits` bits count, as a number of 8 bits.
  Value extendBits(Value byte, unsigned bits, bool isUnsigned);
};

/// The type that is computed in: f32 for smaller floating-point types.
Type getWideType(Type element);

/// Whether elements of a type of the dialect `onnx` have no sign.
bool isUnsigned(Type tensor);

/// What elements of a type of the dialect `onnx` are stored as: integers have
/// no sign, and numbers of less than 8 bits and floating-point numbers of at
/// most 8 are bytes.
Type getStoredElement(Type element);
/// The floating-point type that is stored as a byte; null for other types.
mlir::FloatType getByteFloat(Type tensor);
/// Bits of an integer type that takes less than its byte; 0 for others.
unsigned getPackedBits(Type tensor);

/// Lowers the operators of one function.
class OnnxLowering {
public:
  OnnxLowering(OpBuilder &builder, const onnx::SymbolicValues &symbolic,
               bool usesModelOps)
      : builder(builder), symbolic(symbolic), usesModelOps(usesModelOps),
        loc(builder.getUnknownLoc()) {}

  OpBuilder &builder;
  const onnx::SymbolicValues &symbolic;
  bool usesModelOps; ///< Operators become model operations where these exist.
  /// Values that have not become rows have none.
  bool onlyRows = false;
  Location loc; ///< Of the operator that is being lowered.

  /// What an operator's value has become. Values that are known are made where
  /// they are first asked for.
  Value get(Value value);
  void set(Value value, Value lowered) { lowerings[value] = lowered; }

  /// What an operator's value has become as the rows `[rows, ...]` of a model
  /// operation: all dimensions but the last `trailing` ones are joined, and
  /// these are numbers. Null if the value has no such form.
  Value getRows(Value value, size_t trailing = 1);
  /// Says that a value has become such rows. Its own shape is made where it is
  /// asked for.
  void setRows(Value value, Value rows) { rowsOf[value] = rows; }
  /// The rows that a value has become or was asked for as; null if there are
  /// none.
  Value findRows(Value value) const { return rowsOf.lookup(value); }
  /// The same rows with columns as heads, [rows, heads, size].
  Value getHeads(Value value, int64_t heads);
  /// Rows [rows, columns] as [rows, heads, size].
  Value splitColumns(Value rows, int64_t heads);
  /// Says that `to` has the elements of `from` in another shape; false if that
  /// is no matter of rows.
  bool shareRows(Value from, Value to);

  /// A size as an index: a constant or weft.size.
  Value size(const Polynomial &size);
  /// The same of each dimension; constants as attributes.
  llvm::SmallVector<mlir::OpFoldResult> sizes(llvm::ArrayRef<Polynomial> shape);
  /// The type of a tensor after lowering.
  static RankedTensorType getType(llvm::ArrayRef<Polynomial> shape,
                                  Type element);
  Value makeEmpty(llvm::ArrayRef<Polynomial> shape, Type element);
  Value index(int64_t value);
  /// A tensor of one number.
  Value makeScalar(Type element, double value);

  using MapBody = llvm::function_ref<Value(Scalars &, ValueRange)>;
  using PlaceBody = llvm::function_ref<Value(Scalars &, Indices)>;
  using FoldBody =
      llvm::function_ref<Value(Scalars &, Indices, Indices, Value)>;

  /// result[i] = body(inputs[i]...), inputs broadcast to the shape. `inputs`
  /// are values of the dialect `onnx` or, where `shapes` says their shapes,
  /// lowered ones.
  Value map(llvm::ArrayRef<Polynomial> shape, Type element, ValueRange inputs,
            MapBody body);
  Value map(llvm::ArrayRef<Polynomial> shape, Type element,
            llvm::ArrayRef<std::pair<Value, Shape>> inputs, MapBody body);
  /// result[i] = body(i)
  Value generate(llvm::ArrayRef<Polynomial> shape, Type element,
                 PlaceBody body);
  /// result[i] = init, then body(i, j, result[i]) for all j of `folded` in
  /// order. `init` is a scalar or a tensor of the result's type.
  Value fold(llvm::ArrayRef<Polynomial> shape,
             llvm::ArrayRef<Polynomial> folded, Value init, FoldBody body);
  /// The same elements in another shape.
  Value reshape(Value tensor, llvm::ArrayRef<Polynomial> from,
                llvm::ArrayRef<Polynomial> to);
  /// The elements converted; a tensor of the type stays.
  Value convert(Value tensor, llvm::ArrayRef<Polynomial> shape, Type to);

  /// Lowers an operator; false if there is no lowering for it.
  bool lower(Operation *op);
  /// The same with model operations only.
  bool lowerToModelOp(Operation *op);

  /// The elements of a constant as they are stored.
  static mlir::DenseElementsAttr toStored(mlir::DenseElementsAttr value);

  /// Softmax of the wide type over one dimension; a row whose largest element
  /// is -infinity becomes 0 if `zeroMasked`, else what the formula gives.
  Value softmax(Value tensor, llvm::ArrayRef<Polynomial> shape, int64_t axis,
                Type element, bool zeroMasked = false);

  /// Places (i64) of the largest or smallest elements along an axis, in order;
  /// of equal ones the first comes first. `result` has as many as are wanted.
  Value topPlaces(Value tensor, llvm::ArrayRef<Polynomial> shape,
                  llvm::ArrayRef<Polynomial> result, int64_t axis,
                  bool isLargest, bool hasNoSign);

private:
  Value makeKnown(Value value, const onnx::SymbolicValues::Elements &elements);

  Value reshapeTrailing(Value rows, llvm::ArrayRef<int64_t> trailing);
  Value expandRows(Value rows, llvm::ArrayRef<Polynomial> shape);

  // One function for each family; false if the operator is of another.
  bool lowerStructure(Operation *op);
  Value unpack(Value packed, onnx::InitializerOp initializer);
  bool lowerElementwise(Operation *op);
  bool lowerReduction(Operation *op);
  bool lowerShape(Operation *op);
  bool lowerPlaces(Operation *op);
  bool lowerProduct(Operation *op);
  bool lowerNorm(Operation *op);
  bool lowerWindow(Operation *op);
  bool lowerQuantization(Operation *op);
  bool lowerPacked(Operation *op);
  bool lowerExperts(Operation *op);
  bool lowerResize(Operation *op);
  bool lowerAttention(Operation *op);

  llvm::DenseMap<Value, Value> lowerings, rowsOf;
};

/// Sizes of an operator's value.
inline Shape shapeOf(Value value) { return onnx::getShape(value.getType()); }
/// Its element type as it is stored.
Type elementOf(Value value);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_LOWERONNX_H
