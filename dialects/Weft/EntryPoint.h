//===- EntryPoint.h - Functions that a runtime calls ------------*- C++ -*-===//
//
// Importers make entry points with these; docs/architecture.md says what the
// inputs of the step of a decoder mean.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_WEFT_ENTRYPOINT_H
#define WEFT_DIALECTS_WEFT_ENTRYPOINT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

namespace weft {

/// An argument of an entry point: its name, its named dynamic sizes, then a
/// number of columns if it has any. Of i32 or f32.
struct EntryInput {
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef, 2> symbols;
  int64_t columns = 0;
  bool isFloat = false;
};

/// A result of an entry point, or a state, which is argument and result.
struct EntryTensor {
  std::string name;
  mlir::RankedTensorType type;
};

/// A function under construction, without its return.
struct EntryPoint {
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> inputs;   ///< By name.
  llvm::SmallVector<mlir::Value> states; ///< In order.
};

/// Makes an entry point, into whose body the builder is put. Its results are
/// the outputs, then the states, whose leading dimension is `cache_blocks`.
EntryPoint makeEntryPoint(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::StringRef name,
                          llvm::ArrayRef<EntryInput> inputs,
                          llvm::ArrayRef<EntryTensor> outputs,
                          llvm::ArrayRef<EntryTensor> states = {});

/// What the step of a decoder is made of.
struct StepShape {
  struct Layer {
    int64_t keyHeads = 0, headSize = 0;
  };
  int64_t vocabularySize = 0;
  llvm::SmallVector<Layer> layers;
  mlir::Type cacheType;
  int64_t blockSize = 64;     ///< Positions of a cache block.
  bool hasRopeChoice = false; ///< There are two RoPE tables.
  bool samples = false;       ///< The step chooses ids by its logits.
};

/// The entry `step`. Layer i has states 2 i, of keys, and 2 i + 1, of values.
EntryPoint makeStepEntry(mlir::OpBuilder &builder, mlir::Location loc,
                         const StepShape &shape);

/// Ends a step: chooses ids if `shape` says so, and returns logits, ids and
/// the states as they are after the step.
void finishStep(mlir::OpBuilder &builder, const StepShape &shape,
                const EntryPoint &entry, mlir::Value logits,
                mlir::ValueRange states);

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_ENTRYPOINT_H
