//===- ModelOptions.h - Options that say which model to compile -*- C++ -*-===//
//
// MODEL, --synthesize, --target, --dtype, ...: the same in every tool that
// compiles a model.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_MODEL_MODELOPTIONS_H
#define WEFT_TOOLS_MODEL_MODELOPTIONS_H

#include "compiler/CompileOptions.h"
#include "compiler/Import/HuggingFace/Import.h"
#include "compiler/Import/Onnx/ImportOnnx.h"
#include "compiler/Phases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>

namespace weft::tools {

/// Prints "TOOL: error: MESSAGE" and where help is; returns exitUsage.
int reportUsage(llvm::StringRef tool, const llvm::Twine &message);
/// Prints "TOOL: error: MESSAGE"; returns exitDiagnosed.
int reportDiagnosed(llvm::StringRef tool, const llvm::Twine &message);

/// The usage error of an option that was given an empty text.
int reportEmpty(llvm::StringRef tool, const llvm::cl::Option &option);

/// An option that takes one value and was given several, of which all but one
/// would be ignored; null: there is none.
const llvm::cl::Option *findRepeated();
/// The usage error of it.
int reportRepeated(llvm::StringRef tool, const llvm::cl::Option &option);

/// Makes --version print Weft's version instead of LLVM's.
void setVersionPrinter(const std::string &tool);

/// The exit code after a compilation that failed and has explained itself. What
/// import let through must compile, so if a pass failed, which has then left
/// the reproducer of `run`, it says that this is a bug.
int reportFailedCompilation(llvm::StringRef tool, const PhaseRun &run);

/// Declares the options; make one before the command line is parsed.
class ModelOptions {
public:
  explicit ModelOptions(llvm::cl::OptionCategory &category);

  llvm::cl::opt<std::string> input, target, synthesize;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<std::string> dtype;
  llvm::cl::opt<int64_t> context;
  llvm::cl::opt<bool> noFuse, batchInvariant;
  llvm::cl::opt<std::string> sampling;
  llvm::cl::opt<bool> followLinks;
  llvm::cl::list<std::string> ignoreKeys, constants;

  /// The option of a text that was given as empty, such as that of an unset
  /// variable, which would be taken for its absence; null: none was. Looks at
  /// `others` and its own; no element type is called "".
  const llvm::cl::opt<std::string> *
  findEmpty(llvm::ArrayRef<const llvm::cl::opt<std::string> *> others) const;

  /// Options that the model at `path` has no use for; an error is a wrong
  /// command line.
  llvm::Error checkInput(llvm::StringRef path) const;

  /// What the options ask of the compiler; an error is a wrong command line.
  llvm::Expected<CompileOptions> getCompileOptions() const;

  /// Reads the checkpoint at `path`, or synthesizes one; what was found goes to
  /// standard error and, as JSON, to the file `report` unless it is empty.
  std::optional<ImportedModel> import(llvm::StringRef tool,
                                      llvm::StringRef path,
                                      llvm::StringRef report = "") const;

  /// Whether a path is that of an ONNX file, by its name.
  static bool isOnnx(llvm::StringRef path);

  /// Reads the ONNX file at `path`; reports as import does.
  std::optional<ImportedOnnx> importOnnx(llvm::StringRef tool,
                                         llvm::StringRef path,
                                         mlir::MLIRContext &context,
                                         llvm::StringRef report = "") const;

  /// The model as it was imported, in the asked element type; `options` are
  /// those of getCompileOptions.
  mlir::OwningOpRef<mlir::ModuleOp> build(mlir::MLIRContext &context,
                                          const ImportedModel &model,
                                          const CompileOptions &options) const;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_MODEL_MODELOPTIONS_H
