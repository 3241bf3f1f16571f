//===- Decoder.h - Token strings back to text, as a stream ----------------===//
//
// A decoder is a chain of steps. Each step takes token strings one by one and
// hands token strings on, so that one-shot decoding and streaming are the same
// code. The semantics are those of the tokenizers library, 0.23, with one
// difference: a run of byte tokens ("<0xE2>") that is not valid UTF-8 becomes
// one U+FFFD per ill-formed part, where that library gives one per byte of the
// whole run. Only so can text be streamed before the run ends.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_DECODER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_DECODER_H

#include "runtime/Llm/Tokenizer/Regex.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::rt {

/// What one step remembers between tokens.
struct DecodeState {
  uint64_t count = 0;      ///< Tokens (or characters) seen so far.
  std::string held;        ///< Text that must wait for what follows.
  Utf8Assembler assembler; ///< Bytes that must wait for what follows.
};

/// Immutable and shared by threads; what changes is in the state.
class DecodeStep {
public:
  using Tokens = std::vector<std::string>;

  virtual ~DecodeStep() = default;
  /// Takes one token and appends what follows from it to `out`.
  virtual void push(DecodeState &state, std::string token,
                    Tokens &out) const = 0;
  /// There are no more tokens: appends what was held.
  virtual void finish(DecodeState &state, Tokens &out) const {}
};

/// The chain. After a fusing step (Fuse, ByteLevel) the tokens handed on are
/// parts of one token, and the steps behind it must be made for that.
class Decoder {
public:
  explicit Decoder(std::vector<std::unique_ptr<DecodeStep>> steps)
      : steps(std::move(steps)) {}

  /// The state of one stream through the whole chain.
  using State = std::vector<DecodeState>;
  State makeState() const { return State(steps.size()); }

  /// Takes one token and appends the text that follows from it to `out`.
  void push(State &state, std::string token, std::string &out) const;
  /// Appends what is still held to `out`.
  void finish(State &state, std::string &out) const;

private:
  void run(State &state, size_t first, DecodeStep::Tokens tokens,
           std::string &out) const;

  std::vector<std::unique_ptr<DecodeStep>> steps;
};

/// Tokens that write bytes in GPT-2's alphabet. Fuses.
class ByteLevelDecoder : public DecodeStep {
public:
  void push(DecodeState &state, std::string token, Tokens &out) const override;
  void finish(DecodeState &state, Tokens &out) const override;
};

/// "<0xE2>" becomes the byte. Hands on whole characters.
class ByteFallbackDecoder : public DecodeStep {
public:
  void push(DecodeState &state, std::string token, Tokens &out) const override;
  void finish(DecodeState &state, Tokens &out) const override;
};

/// Puts a space before tokens that do not continue a word; may remove spaces
/// before punctuation and English contractions.
class WordPieceDecoder : public DecodeStep {
public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix(std::move(prefix)), cleanup(cleanup) {}
  void push(DecodeState &state, std::string token, Tokens &out) const override;

private:
  std::string prefix;
  bool cleanup;
};

/// The visible space becomes a space; those of the first token are dropped
/// unless the pre-tokenizer never prepends.
class MetaspaceDecoder : public DecodeStep {
public:
  MetaspaceDecoder(char32_t replacement, bool dropFirst, bool fused);
  void push(DecodeState &state, std::string token, Tokens &out) const override;

private:
  std::string mark;
  bool dropFirst, fused;
};

/// Replaces a string or pattern in each token.
class ReplaceDecoder : public DecodeStep {
public:
  ReplaceDecoder(Regex pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  void push(DecodeState &state, std::string token, Tokens &out) const override;

private:
  Regex pattern;
  std::string content;
};

/// Replaces a string in the fused token.
class FusedReplaceDecoder : public DecodeStep {
public:
  FusedReplaceDecoder(std::string pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  void push(DecodeState &state, std::string token, Tokens &out) const override;
  void finish(DecodeState &state, Tokens &out) const override;

private:
  std::string pattern, content;
};

/// Removes up to `start` and `stop` times a character at the ends of each
/// token.
class StripDecoder : public DecodeStep {
public:
  StripDecoder(char32_t content, size_t start, size_t stop);
  void push(DecodeState &state, std::string token, Tokens &out) const override;

private:
  std::string content;
  size_t start, stop;
};

/// The same for the fused token.
class FusedStripDecoder : public DecodeStep {
public:
  FusedStripDecoder(char32_t content, size_t start, size_t stop);
  void push(DecodeState &state, std::string token, Tokens &out) const override;
  void finish(DecodeState &state, Tokens &out) const override;

private:
  std::string content;
  size_t start, stop;
};

/// A word suffix becomes a space, except in the last token.
class BpeSuffixDecoder : public DecodeStep {
public:
  explicit BpeSuffixDecoder(std::string suffix) : suffix(std::move(suffix)) {}
  void push(DecodeState &state, std::string token, Tokens &out) const override;
  void finish(DecodeState &state, Tokens &out) const override;

private:
  std::string suffix;
};

/// Drops repeated tokens and padding (connectionist temporal classification).
class CtcDecoder : public DecodeStep {
public:
  CtcDecoder(std::string pad, std::string delimiter, bool cleanup)
      : pad(std::move(pad)), delimiter(std::move(delimiter)), cleanup(cleanup) {
  }
  void push(DecodeState &state, std::string token, Tokens &out) const override;

private:
  std::string pad, delimiter;
  bool cleanup;
};

/// What a tokenizer without a decoder does: a space between tokens.
class SpacedDecoder : public DecodeStep {
public:
  void push(DecodeState &state, std::string token, Tokens &out) const override;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_DECODER_H
