//===- PreTokenizer.h - Text to pieces that are encoded on their own ------===//
//
// The pre-tokenizers of Hugging Face's tokenizer.json. The semantics are those
// of the tokenizers library, 0.23.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_PRETOKENIZER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_PRETOKENIZER_H

#include "runtime/Llm/Tokenizer/Regex.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::rt {

/// A part of Pieces::text that is encoded on its own, or an added token.
struct Piece {
  size_t begin = 0, end = 0;
  /// Leading bytes that stem from the input's first character
  /// (NormalizedText::startBytes).
  size_t startBytes = 0;
  /// The id of an added token, which is not split further; -1 for text.
  int32_t token = -1;

  size_t size() const { return end - begin; }
};

/// Pieces in order. Text between pieces was removed.
struct Pieces {
  std::string text; ///< Valid UTF-8.
  std::vector<Piece> list;

  std::string_view get(const Piece &piece) const {
    return std::string_view(text).substr(piece.begin, piece.size());
  }
};

/// One step; immutable and shared by threads.
class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  /// Splits and rewrites the text pieces. Fails only when a regular expression
  /// hits a limit.
  virtual Status apply(Pieces &pieces) const = 0;
};

/// What happens to a delimiter and its neighbours.
enum class SplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

class PreTokenizerSequence : public PreTokenizer {
public:
  explicit PreTokenizerSequence(
      std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps(std::move(steps)) {}
  Status apply(Pieces &pieces) const override;

private:
  std::vector<std::unique_ptr<PreTokenizer>> steps;
};

/// Splits at the matches of a pattern, or (invert) at what lies between.
class SplitPreTokenizer : public PreTokenizer {
public:
  SplitPreTokenizer(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern(std::move(pattern)), behavior(behavior), invert(invert) {}
  Status apply(Pieces &pieces) const override;

private:
  Regex pattern;
  SplitBehavior behavior;
  bool invert;
};

/// Splits at characters of a class.
class CharSplitPreTokenizer : public PreTokenizer {
public:
  enum class Class : uint8_t { Whitespace, Punctuation, Digit, One };
  /// `one` is the character for Class::One.
  CharSplitPreTokenizer(Class charClass, SplitBehavior behavior,
                        char32_t one = 0)
      : charClass(charClass), behavior(behavior), one(one) {}
  Status apply(Pieces &pieces) const override;

private:
  Class charClass;
  SplitBehavior behavior;
  char32_t one;
};

/// Words (\w+) and runs of other characters ([^\w\s]+), without white space.
class WhitespacePreTokenizer : public PreTokenizer {
public:
  Status apply(Pieces &pieces) const override;
};

/// Pieces of `length` characters.
class FixedLengthPreTokenizer : public PreTokenizer {
public:
  explicit FixedLengthPreTokenizer(size_t length) : length(length) {}
  Status apply(Pieces &pieces) const override;

private:
  size_t length;
};

/// Optionally puts a space before each piece, optionally splits by GPT-2's
/// pattern, and writes each byte as a character of GPT-2's alphabet.
class ByteLevelPreTokenizer : public PreTokenizer {
public:
  /// `pattern`: gpt2Pattern() compiled, or nothing for use_regex false.
  ByteLevelPreTokenizer(bool addPrefixSpace, std::optional<Regex> pattern)
      : addPrefixSpace(addPrefixSpace), pattern(std::move(pattern)) {}
  Status apply(Pieces &pieces) const override;

  /// openai/gpt-2, src/encoder.py.
  static std::string_view gpt2Pattern();

private:
  bool addPrefixSpace;
  std::optional<Regex> pattern;
};

/// Replaces spaces by a visible character, may put one in front, may split
/// before each.
class MetaspacePreTokenizer : public PreTokenizer {
public:
  enum class Prepend : uint8_t { Never, First, Always };
  MetaspacePreTokenizer(char32_t replacement, Prepend prepend, bool split)
      : replacement(replacement), prepend(prepend), split(split) {}
  Status apply(Pieces &pieces) const override;

private:
  char32_t replacement;
  Prepend prepend;
  bool split;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_PRETOKENIZER_H
