//===- ImportReport.h - Everything an import could not take ---------------===//
//
// An import does not stop at the first problem: it collects all of them and
// reports them together, for people and as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_IMPORTREPORT_H
#define WEFT_MODELS_COMMON_IMPORTREPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace weft {

/// One thing that is wrong, in the words of the input.
struct ImportProblem {
  enum class Severity { Warning, Error };
  Severity severity = Severity::Error;
  std::string where;    ///< File, key or tensor: "config.json: rope_theta".
  std::string found;    ///< What stands there; empty with a reason.
  std::string reason;   ///< Why it could not be read, a clause; or empty.
  std::string expected; ///< What would have been accepted.
  std::string advice;   ///< What to do; may be empty.
};

/// Collects problems. Not thread-safe. Keeps at most `maxProblems` of them so
/// that a hostile file cannot fill memory; further ones are only counted.
class ImportReport {
public:
  static constexpr size_t maxProblems = 1000;

  void error(const llvm::Twine &where, const llvm::Twine &found,
             const llvm::Twine &expected, const llvm::Twine &advice = "");
  /// Something could not be read at all, for a reason that is a clause:
  /// "cannot open 'config.json': No such file or directory".
  void unreadable(const llvm::Twine &where, llvm::Error reason,
                  const llvm::Twine &expected, const llvm::Twine &advice = "");
  void warning(const llvm::Twine &where, const llvm::Twine &found,
               const llvm::Twine &expected, const llvm::Twine &advice = "");

  bool hasErrors() const { return errorCount != 0; }
  size_t getErrorCount() const { return errorCount; }
  llvm::ArrayRef<ImportProblem> getProblems() const { return problems; }

  /// One paragraph a problem: "error: WHERE: found F, expected E; ADVICE" or
  /// "error: WHERE: REASON; expected E; ADVICE". `prefix` starts each line.
  void print(llvm::raw_ostream &os, llvm::StringRef prefix = "") const;
  /// {"errors": n, "warnings": n, "problems": [{severity, where, found,
  /// reason, expected, advice}]}
  llvm::json::Value toJson() const;
  /// All errors as one llvm::Error; success if there are none.
  llvm::Error takeError() const;

private:
  void add(ImportProblem problem);

  std::vector<ImportProblem> problems;
  size_t errorCount = 0;
  size_t warningCount = 0;
};

} // namespace weft

#endif // WEFT_MODELS_COMMON_IMPORTREPORT_H
