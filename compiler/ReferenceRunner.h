//===- ReferenceRunner.h - Runs what a model means --------------*- C++ -*-===//
//
// Computes operations of an entry point by their decompositions, one operation
// at a time: each is put into a function of its own, lowered by the reference
// pipeline (Reference.h) and compiled in memory. Operations that read the same
// are compiled once, so the layers of a model cost one layer.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_REFERENCERUNNER_H
#define WEFT_COMPILER_REFERENCERUNNER_H

#include "models/common/WeightSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <vector>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace weft {

/// A tensor in memory, row-major and contiguous, aligned to its element type.
/// Copies share the bytes.
struct ReferenceTensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  llvm::ArrayRef<uint8_t> bytes;
  /// Keeps `bytes` alive; null if they belong to somebody else.
  std::shared_ptr<std::vector<uint8_t>> owner;

  /// Takes over bytes, which must be as many as the shape needs.
  static ReferenceTensor own(mlir::Type elementType,
                             llvm::ArrayRef<int64_t> shape,
                             std::vector<uint8_t> bytes);
};

/// Bytes of one element of a tensor: that of a float or integer type whose
/// width is a multiple of 8.
size_t getElementBytes(mlir::Type elementType);

/// A weight as the compiler stores it, or the literal of a tensor constant.
/// Errors are diagnostics on `op`.
mlir::FailureOr<ReferenceTensor> readConstant(mlir::Operation *op,
                                              const WeightSource &source);

/// Not thread-safe. Modules must be of the context, which must have all
/// dialects of registerAllDialects.
class ReferenceRunner {
public:
  /// Values of the symbols that name an entry's dynamic sizes.
  using Symbols = llvm::StringMap<int64_t>;
  /// Gives the tensor that a value stands for.
  using Lookup = llvm::function_ref<ReferenceTensor(mlir::Value)>;

  explicit ReferenceRunner(mlir::MLIRContext &context);
  ~ReferenceRunner();

  /// The tensor results of an operation (of a dispatch: of its body) in an
  /// entry point. `lookup` is asked for the tensors it reads; they are not
  /// written. Errors are diagnostics on `op`.
  mlir::FailureOr<std::vector<ReferenceTensor>>
  run(mlir::Operation *op, const Symbols &symbols, Lookup lookup);

  /// Sees an operation that has run; the lookup has its operands and results.
  using Observer = llvm::function_ref<void(mlir::Operation *, Lookup)>;

  /// What the entry point returns. Weights come from `weights`, constants from
  /// the IR. `observe` is called after each operation.
  mlir::FailureOr<std::vector<ReferenceTensor>> run(
      mlir::func::FuncOp entry, llvm::ArrayRef<ReferenceTensor> arguments,
      const Symbols &symbols, const WeightSource &weights,
      Observer observe = [](mlir::Operation *, Lookup) {});

  /// How many different operations have been compiled.
  size_t getCompiledCount() const { return engines.size(); }

private:
  mlir::FailureOr<mlir::ExecutionEngine *> compile(mlir::Operation *op,
                                                   mlir::ModuleOp module);

  mlir::MLIRContext &context;
  llvm::StringMap<std::unique_ptr<mlir::ExecutionEngine>> engines;
};

/// A tensor of zeros with the type and sizes of a value of an entry point.
/// Errors are diagnostics at the value.
mlir::FailureOr<ReferenceTensor>
allocateTensor(mlir::Value value, const ReferenceRunner::Symbols &symbols);

} // namespace weft

#endif // WEFT_COMPILER_REFERENCERUNNER_H
