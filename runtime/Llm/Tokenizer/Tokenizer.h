//===- Tokenizer.h - Text to token ids and back ---------------------------===//
//
// One class for all kinds of tokenizer files:
//   tokenizer.json            Hugging Face: BPE, Unigram, WordPiece, WordLevel
//   tokenizer.model           SentencePiece, or a tiktoken rank file
//   *.tiktoken                a tiktoken rank file
// Ids and text equal those of the tokenizers library 0.23 (for tokenizer.json),
// SentencePiece 0.1.97 and tiktoken, except where Decoder.h says otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZER_H

#include "runtime/Format/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::rt {

struct TokenizerParts;

struct EncodeOptions {
  /// Add what the model expects around a text (BOS, [CLS] ... [SEP]).
  bool addSpecialTokens = true;
  /// Take special tokens written in the text ("<|im_end|>") for the tokens they
  /// name. False encodes them as plain text: for what a user typed.
  bool parseSpecialTokens = true;
};

struct DecodeOptions {
  /// Leave special tokens out of the text.
  bool skipSpecialTokens = true;
};

/// Ids with a meaning, from tokenizer_config.json, special_tokens_map.json,
/// generation_config.json and the tokenizer file itself.
struct SpecialIds {
  std::optional<int32_t> bos, unk, pad;
  /// Each of these ends a generation; sorted, without doubles.
  std::vector<int32_t> eos;
};

/// Immutable and thread-safe after loading.
class Tokenizer {
public:
  /// A file as it was in the checkpoint: its name (without folder), its bytes.
  struct File {
    std::string_view name;
    std::span<const uint8_t> bytes;
  };

  /// Loads a tokenizer from the files of a checkpoint; the bytes are not needed
  /// afterwards. Takes tokenizer.json when present, else tokenizer.model, else
  /// the first *.model or *.tiktoken file. Files of other names that it knows
  /// nothing about are not looked at.
  static Result<std::unique_ptr<Tokenizer>>
  fromFiles(std::span<const File> files);
  /// The same for Plan::tokenizerFiles.
  static Result<std::unique_ptr<Tokenizer>> fromFiles(
      const std::vector<std::pair<std::string, std::vector<uint8_t>>> &files);

  explicit Tokenizer(std::unique_ptr<TokenizerParts> parts);
  ~Tokenizer();

  /// The ids of `text`. Fails for text that is not valid UTF-8, and when the
  /// tokenizer has no way to write some character.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      EncodeOptions options = {}) const;

  /// The text of `ids`, always valid UTF-8: ill-formed bytes become U+FFFD.
  /// Ids without a token (gaps) have no text. Fails for ids that are negative
  /// or not below vocabularySize().
  Result<std::string> decode(std::span<const int32_t> ids,
                             DecodeOptions options = {}) const;

  /// One more than the largest id that has a token.
  int32_t vocabularySize() const;
  /// The token as the vocabulary writes it ("Ġthe", "▁the", "<0x0A>"); nothing
  /// for a gap or an id out of range. The view lives as long as the tokenizer.
  std::optional<std::string_view> idToToken(int32_t id) const;
  std::optional<int32_t> tokenToId(std::string_view token) const;
  /// Whether `id` is a control token rather than text.
  bool isSpecial(int32_t id) const;

  const SpecialIds &specialIds() const;
  std::optional<int32_t> bosId() const { return specialIds().bos; }
  const std::vector<int32_t> &eosIds() const { return specialIds().eos; }
  std::optional<int32_t> unkId() const { return specialIds().unk; }
  std::optional<int32_t> padId() const { return specialIds().pad; }
  /// Whether encode() with addSpecialTokens starts every text with bosId():
  /// a chat template that writes BOS itself must then turn it off.
  bool addsBos() const;

private:
  friend class StreamDecoder;

  std::unique_ptr<const TokenizerParts> parts;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZER_H
