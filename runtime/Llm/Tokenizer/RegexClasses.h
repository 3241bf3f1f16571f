//===- RegexClasses.h - Oniguruma's character classes in PCRE2's terms ----===//
//
// Which characters names and letters of classes stand for, after Oniguruma's
// doc/RE, as what PCRE2 takes between brackets ("items").
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_REGEXCLASSES_H
#define WEFT_RUNTIME_LLM_TOKENIZER_REGEXCLASSES_H

#include <optional>
#include <string>
#include <string_view>

namespace weft::rt {

/// Items of \s, \w, \d and \h, by their letter; \w has more outside of
/// brackets. Nothing for other letters.
std::optional<std::string> getShorthandItems(char letter, bool inBrackets);

/// Items of a POSIX bracket or of a general category by its long name, where
/// PCRE2 10.42 lacks the name or understands it differently. Names are in lower
/// case, without spaces, '-' and '_'.
std::optional<std::string_view> findPropertyItems(std::string_view name);

/// Whether both know a binary property of this name, in the same spelling.
bool isBinaryProperty(std::string_view name);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_REGEXCLASSES_H
