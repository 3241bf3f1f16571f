//===- Normalizer.h - Text to text, before it is split --------------------===//
//
// The normalizers of Hugging Face's tokenizer.json. The semantics are those of
// the tokenizers library, 0.23.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_NORMALIZER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_NORMALIZER_H

#include "runtime/Llm/Tokenizer/Regex.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::rt {

/// Text on its way to the model.
struct NormalizedText {
  std::string text; ///< Valid UTF-8.
  /// How many leading bytes stem from the first character of the whole input.
  /// Metaspace's "first" scheme prepends only to a piece that begins there, so
  /// not to one behind an added token.
  size_t startBytes = 0;
};

/// One step; immutable and shared by threads.
class Normalizer {
public:
  virtual ~Normalizer() = default;
  /// Rewrites `text`. Fails only when a regular expression hits a limit.
  virtual Status apply(NormalizedText &text) const = 0;
};

/// All steps one after the other.
class NormalizerSequence : public Normalizer {
public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps(std::move(steps)) {}
  Status apply(NormalizedText &text) const override;

private:
  std::vector<std::unique_ptr<Normalizer>> steps;
};

/// A normalizer that maps each character on its own to some characters.
class CharNormalizer : public Normalizer {
public:
  Status apply(NormalizedText &text) const override;

protected:
  virtual void map(char32_t c, std::string &out) const = 0;
};

class UnicodeNormalizer : public Normalizer {
public:
  explicit UnicodeNormalizer(NormalForm form) : form(form) {}
  Status apply(NormalizedText &text) const override;

private:
  NormalForm form;
};

class LowercaseNormalizer : public CharNormalizer {
  void map(char32_t c, std::string &out) const override;
};

/// Removes combining marks (it does not decompose first).
class StripAccentsNormalizer : public CharNormalizer {
  void map(char32_t c, std::string &out) const override;
};

/// SentencePiece's "nmt" rules for control characters and spaces.
class NmtNormalizer : public CharNormalizer {
  void map(char32_t c, std::string &out) const override;
};

/// Writes each byte as a character of GPT-2's alphabet.
class ByteLevelNormalizer : public CharNormalizer {
  void map(char32_t c, std::string &out) const override;
};

/// Removes white space at the ends.
class StripNormalizer : public Normalizer {
public:
  StripNormalizer(bool left, bool right) : left(left), right(right) {}
  Status apply(NormalizedText &text) const override;

private:
  bool left, right;
};

class PrependNormalizer : public Normalizer {
public:
  explicit PrependNormalizer(std::string prefix) : prefix(std::move(prefix)) {}
  Status apply(NormalizedText &text) const override;

private:
  std::string prefix;
};

class ReplaceNormalizer : public Normalizer {
public:
  ReplaceNormalizer(Regex pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  Status apply(NormalizedText &text) const override;

private:
  Regex pattern;
  std::string content;
};

class BertNormalizer : public Normalizer {
public:
  struct Options {
    bool cleanText = true, cjkSpaces = true, stripAccents = true,
         lowercase = true;
  };
  explicit BertNormalizer(Options options) : options(options) {}
  Status apply(NormalizedText &text) const override;

private:
  Options options;
};

/// SentencePiece's compiled replacement table: a double-array trie (darts) and
/// replacement strings separated by zero bytes.
class CharsmapNormalizer : public Normalizer {
public:
  /// `charsmap`: uint32 size of the trie in bytes, the trie, the strings.
  static Result<std::unique_ptr<Normalizer>> create(std::string_view charsmap);
  Status apply(NormalizedText &text) const override;

private:
  /// The replacement for the shortest key that `text` starts with.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> trie;
  std::string strings;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_NORMALIZER_H
