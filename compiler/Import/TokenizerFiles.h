//===- TokenizerFiles.h - Files of a tokenizer beside a model ---*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_TOKENIZERFILES_H
#define WEFT_COMPILER_IMPORT_TOKENIZERFILES_H

#include "compiler/Import/Folder.h"
#include "models/common/ImportReport.h"

#include <string>
#include <utility>
#include <vector>

namespace weft {

/// Names and contents.
using TokenizerFiles = std::vector<std::pair<std::string, std::string>>;

/// Whether a file of this name belongs to a tokenizer.
bool isTokenizerFile(llvm::StringRef name);

/// Those of a tokenizer's files that the folder has. One that cannot be read is
/// an error in the report.
TokenizerFiles readTokenizerFiles(const Folder &folder, ImportReport &report);

/// The text of a file of a folder; an error goes to the report.
std::string readOrReport(const Folder &folder, llvm::StringRef name,
                         size_t maxBytes, ImportReport &report,
                         llvm::StringRef expected);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_TOKENIZERFILES_H
