//===- EmitSourcePrinter.h - Prints the body of a kernel --------*- C++ -*-===//
//
// Internal to EmitSource.cpp. Operations without effects become C++
// expressions; one that is used once, in the same block, is written where it is
// used. Vectors are arrays in registers: consecutive elementwise operations
// become one unrolled loop over the element `e`.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_TARGET_CUDA_EMITSOURCEPRINTER_H
#define WEFT_COMPILER_TARGET_CUDA_EMITSOURCEPRINTER_H

#include "compiler/Target/Cuda/Prelude.h"
#include "dialects/Cuda/CudaDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>

namespace weft::cuda {

/// How tightly the outermost operator of an expression binds.
enum class Level {
  Ternary,
  Or,
  And,
  Bits, ///< & | ^ << >>: operands that are no names get parentheses.
  Equality,
  Relational,
  Additive,
  Multiplicative,
  Unary,
  Primary,
};

struct Expr {
  std::string text;
  Level level = Level::Primary;
  /// The same number as u32 or u64, where `text` is a cast of this to the
  /// signed type; otherwise empty.
  std::string bits = {};
  Level bitsLevel = Level::Primary;

  /// The text, in parentheses if it binds less tightly than `least`.
  std::string as(Level least) const {
    return level < least ? "(" + text + ")" : text;
  }
};

class SourcePrinter {
public:
  explicit SourcePrinter(KernelOp kernel) : kernel(kernel) {}

  /// Prints the function and collects the helpers that it uses. Diagnoses what
  /// it cannot print.
  mlir::LogicalResult print(llvm::StringRef symbol);

  const std::string &getText() const { return text; }
  const Prelude &getPrelude() const { return prelude; }

private:
  // Structure.
  void printSignature(llvm::StringRef symbol);
  mlir::LogicalResult printBlock(mlir::Block &block);
  mlir::LogicalResult printOp(mlir::Operation *op);
  mlir::LogicalResult printFor(mlir::scf::ForOp op);
  mlir::LogicalResult printWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult printIf(mlir::scf::IfOp op);
  /// Prints a block in braces, one level deeper, then `end` at its end.
  mlir::LogicalResult printBody(mlir::Block &block,
                                llvm::function_ref<void()> end = {});
  /// Assigns all values to the names at once.
  void assign(llvm::ArrayRef<std::string> names, mlir::ValueRange values);
  bool refersTo(mlir::Value value, const llvm::StringSet<> &names);
  /// Declares variables with these values; each gets a name.
  llvm::SmallVector<std::string> declare(mlir::ValueRange variables,
                                         mlir::ValueRange initial,
                                         llvm::StringRef hint);
  void line(const llvm::Twine &content);

  // Names.
  std::string makeName(llvm::StringRef wish);
  std::string nameValue(mlir::Value value, llvm::StringRef hint);
  static std::string getHint(mlir::Operation *op);
  std::string printType(mlir::Type type);
  /// Type of a variable for the value: pointers to what is only read are const.
  std::string printType(mlir::Value value);

  // Which operations are written where they are used.
  bool decideInline(mlir::Operation *op);
  void printDefinition(mlir::Operation *op);
  void printLanes(mlir::Operation *op);
  void flushLanes();

  // Expressions.
  /// The value; of a vector its element `element`, or all of it if that is
  /// empty.
  Expr value(mlir::Value value, llvm::StringRef element = {});
  Expr define(mlir::OpResult result, llvm::StringRef element);
  Expr constant(mlir::Operation *op, mlir::Attribute attribute, mlir::Type type,
                bool typed);
  /// An operand of a function: literals have their exact type.
  std::string argument(mlir::Value operand, llvm::StringRef element = {});
  Expr binary(mlir::Operation *op, llvm::StringRef symbol, Level level,
              llvm::StringRef element);
  Expr call(const llvm::Twine &function, mlir::Operation *op,
            llvm::StringRef element);
  std::optional<Expr> integerOp(mlir::OpResult result, llvm::StringRef element);
  /// With operands cast to unsigned, whose overflow wraps.
  Expr wrapped(mlir::Operation *op, llvm::StringRef symbol, Level level,
               llvm::StringRef element);
  Expr unsignedCast(mlir::Value operand, llvm::StringRef element);
  std::optional<Expr> floatOp(mlir::Operation *op, llvm::StringRef element);
  std::optional<Expr> castOp(mlir::Operation *op, llvm::StringRef element);
  std::optional<Expr> vectorOp(mlir::OpResult result, llvm::StringRef element);
  std::optional<Expr> cudaOp(mlir::Operation *op);
  Expr compare(mlir::arith::CmpIOp op, llvm::StringRef element);
  Expr compare(mlir::arith::CmpFOp op, llvm::StringRef element);
  /// Diagnoses that `op` cannot be printed, once.
  Expr refuse(mlir::Operation *op, const llvm::Twine &why = {});

  // Statements.
  /// Prints an operation with effects; false if it is none of the dialect's.
  bool printStatement(mlir::Operation *op);
  void printCopy(mlir::Operation *op);
  bool printVectorStatement(mlir::Operation *op);
  bool printWarpgroupStatement(mlir::Operation *op);
  void printReduction(mlir::vector::ReductionOp op);
  /// `pointer + index`, for shared memory in bytes.
  std::string address(mlir::Value pointer, mlir::Value index);
  void printResult(mlir::Operation *op, const llvm::Twine &content);

  KernelOp kernel;
  Prelude prelude;
  std::string text;
  unsigned indent = 1;
  bool isRefused = false;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseSet<mlir::Operation *> inlined;
  llvm::DenseMap<mlir::Operation *, int> weights;
  /// Names in use, by scope from the outermost on.
  llvm::SmallVector<llvm::StringSet<>> scopes;
  /// Statements of the loop over elements that is being collected.
  llvm::SmallVector<std::string> lanes;
  int64_t laneCount = 0;
};

} // namespace weft::cuda

#endif // WEFT_COMPILER_TARGET_CUDA_EMITSOURCEPRINTER_H
