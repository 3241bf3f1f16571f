//===- StreamDecoder.h - Text of a token stream, as it grows --------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_STREAMDECODER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_STREAMDECODER_H

#include "runtime/Llm/Tokenizer/Decoder.h"
#include "runtime/Llm/Tokenizer/Tokenizer.h"

namespace weft::rt {

/// Decodes ids one by one. All texts together equal Tokenizer::decode() of all
/// ids, and each is valid UTF-8: a character whose bytes are spread over tokens
/// comes out when it is complete. Takes amortised constant time per token.
/// Not thread-safe; the tokenizer must outlive it.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer,
                         DecodeOptions options = {});

  /// Takes ids that come before the stream (the prompt) without giving out
  /// their text, so that the stream continues it: a word that begins with a
  /// space keeps the space. Fails like push().
  Status skip(std::span<const int32_t> ids);
  /// Takes one id and returns the text that follows from it, often empty.
  /// Fails, with no other effect, for an id that decode() refuses.
  Result<std::string> push(int32_t id);
  /// Ends the stream: an unfinished character becomes one U+FFFD. Afterwards
  /// the decoder is as new.
  std::string finish();

private:
  const Tokenizer &tokenizer;
  DecodeOptions options;
  Decoder::State state;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_STREAMDECODER_H
