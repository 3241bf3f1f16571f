//===- TestData.h - Vocabularies and vectors of the tokenizer tests -------===//
//
// Files are looked for in data/ beside the tests (plain or .xz) and then in
// $WEFT_TEST_DATA/tokenizers, which may hold vocabularies whose licence does
// not allow them in this repository. Both have the same layout.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_RUNTIME_LLM_TOKENIZER_TESTDATA_H
#define WEFT_TEST_RUNTIME_LLM_TOKENIZER_TESTDATA_H

#include "runtime/Llm/Tokenizer/Tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::rt::test {

/// The content of a test file; nothing when it is nowhere.
std::optional<std::string> findData(const std::string &path);
/// Whether findData would find it.
bool hasData(const std::string &path);
/// The content of a file of this repository.
std::string readRepositoryFile(const std::string &path);

/// Loads a tokenizer from (name, content) pairs; fails the test on error and
/// returns null.
std::unique_ptr<Tokenizer>
loadTokenizer(const std::vector<std::pair<std::string, std::string>> &files);
/// The error of loading such files; fails the test when there is none.
Status loadError(const std::vector<std::pair<std::string, std::string>> &files);

/// Integers separated by anything else.
std::vector<int32_t> parseIds(const std::string &line);
std::vector<std::string> splitLines(const std::string &text);

} // namespace weft::rt::test

#endif // WEFT_TEST_RUNTIME_LLM_TOKENIZER_TESTDATA_H
