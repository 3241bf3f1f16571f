//===- Regex.h - The regular expressions of tokenizer.json ----------------===//
//
// tokenizer.json holds patterns in the Ruby syntax of Oniguruma. They are
// translated to PCRE2's syntax (RegexSyntax.h) and run by its JIT compiler.
// Every search is limited: a pattern that backtracks without bound on some
// text gives an error, not a hang.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_REGEX_H
#define WEFT_RUNTIME_LLM_TOKENIZER_REGEX_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft::rt {

/// A half-open range of bytes of a text.
struct TextRange {
  size_t begin = 0, end = 0;
};

/// A compiled pattern; immutable, so that threads can share it.
class Regex {
public:
  /// Compiles `pattern`, written in Oniguruma's Ruby syntax.
  static Result<Regex> compile(std::string_view pattern);

  /// All matches in one text from left to right, without overlaps. An empty
  /// match right behind the previous match is not reported (as Oniguruma's
  /// find_iter). Not thread-safe; the regex and the text must outlive it.
  class Matches {
  public:
    Matches(const Regex &regex);
    ~Matches();
    Matches(const Matches &) = delete;
    Matches &operator=(const Matches &) = delete;

    /// Starts over with another text, which must be valid UTF-8.
    void reset(std::string_view text);
    /// The next match, or nothing after the last one.
    Result<std::optional<TextRange>> next();

  private:
    Result<std::optional<TextRange>> search(size_t from);

    struct Buffers;
    const Regex &regex;
    std::unique_ptr<Buffers> buffers;
    std::string_view text;
    size_t from = 0;
    std::optional<size_t> lastEnd;
  };

private:
  struct Code;
  std::shared_ptr<const Code> code;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_REGEX_H
