//===- TokenizerFiles.cpp - Files of a tokenizer beside a model -----------===//

#include "compiler/Import/TokenizerFiles.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace weft {

static constexpr size_t maxTokenizerBytes = 256 << 20;

static constexpr StringRef tokenizerNames[] = {
    "added_tokens.json", "chat_template.jinja",     "merges.txt",
    "tokenizer.json",    "tokenizer.model",         "tokenizer_config.json",
    "vocab.json",        "special_tokens_map.json", "vocab.txt"};

bool isTokenizerFile(StringRef name) {
  return is_contained(tokenizerNames, name);
}

std::string readOrReport(const Folder &folder, StringRef name, size_t maxBytes,
                         ImportReport &report, StringRef expected) {
  auto text = folder.readText(name, maxBytes);
  if (text)
    return std::move(*text);
  report.unreadable(folder.getPath() + "/" + name, text.takeError(), expected);
  return "";
}

TokenizerFiles readTokenizerFiles(const Folder &folder, ImportReport &report) {
  TokenizerFiles files;
  for (StringRef name : tokenizerNames)
    if (folder.exists(name))
      files.emplace_back(name.str(),
                         readOrReport(folder, name, maxTokenizerBytes, report,
                                      "a readable tokenizer file"));
  return files;
}

} // namespace weft
