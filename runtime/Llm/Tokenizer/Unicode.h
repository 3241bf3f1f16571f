//===- Unicode.h - UTF-8 and the character classes tokenizers use ---------===//
//
// Character properties come from utf8proc (Unicode 15). Where Hugging Face's
// tokenizers rely on a Rust or Oniguruma definition, the comment says which.
// That library mixes tables of Unicode 8 to 16: accents (strip_accents) and
// compatibility forms (NFKC) of characters newer than its tables differ here.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_UNICODE_H
#define WEFT_RUNTIME_LLM_TOKENIZER_UNICODE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::rt {

/// Bytes of the character that starts with `lead`, in valid UTF-8.
inline size_t utf8Length(char lead) {
  auto b = static_cast<uint8_t>(lead);
  return b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
}

/// The character at `at` of valid UTF-8; `at` moves behind it.
char32_t nextChar(std::string_view text, size_t &at);
/// The character that ends before `at` of valid UTF-8; `at` moves to its start.
char32_t previousChar(std::string_view text, size_t &at);
/// Appends the UTF-8 form of a valid code point.
void appendChar(std::string &out, char32_t c);
/// Offset of the first byte that is not part of valid UTF-8, if there is one.
std::optional<size_t> findInvalidUtf8(std::string_view text);

/// The bytes that base64 text (RFC 4648) stands for; nothing when it is not
/// base64. Padding may be absent.
std::optional<std::string> decodeBase64(std::string_view text);

/// Makes valid UTF-8 of bytes that arrive in arbitrary pieces. Each maximal
/// ill-formed part becomes one U+FFFD (Unicode 15, section 3.9, "substitution
/// of maximal subparts"). A character is only given out when it is complete.
class Utf8Assembler {
public:
  /// Takes `bytes` and appends what is complete by now to `out`.
  void push(std::string_view bytes, std::string &out);
  /// The input ends (or is cut) here: an unfinished character is ill-formed.
  void finish(std::string &out);

private:
  std::string pending; ///< A well-formed, unfinished start of one character.
};

/// Unicode White_Space: Rust's char::is_whitespace, Oniguruma's \s.
bool isWhitespace(char32_t c);
/// Nd, Nl, No: Rust's char::is_numeric.
bool isNumeric(char32_t c);
/// ASCII punctuation and symbols, and P* as of Unicode 8.
bool isPunctuation(char32_t c);
/// Mn.
bool isNonspacingMark(char32_t c);
/// Mn, Mc, Me.
bool isCombiningMark(char32_t c);
/// Cc, Co, and Cf as of Unicode 8: what BERT removes as control characters.
bool isControl(char32_t c);
/// \w of Rust's regex: Alphabetic, M, Nd, Pc and Join_Control.
bool isWordChar(char32_t c);
/// The blocks that BERT surrounds by spaces.
bool isBertCjk(char32_t c);
/// Lower case of one character, without context; appends to `out`.
void appendLower(std::string &out, char32_t c);

enum class NormalForm : uint8_t { Nfc, Nfd, Nfkc, Nfkd };
/// Unicode normal form of valid UTF-8 (UAX #15), in linear time and memory.
std::string normalizeUnicode(std::string_view text, NormalForm form);

/// End of the extended grapheme cluster (UAX #29) that starts at `at`.
size_t graphemeEnd(std::string_view text, size_t at);

/// GPT-2's alphabet that writes each byte as one printable character
/// (openai/gpt-2, src/encoder.py, bytes_to_unicode).
char32_t byteToAlphabet(uint8_t byte);
/// The inverse; nothing for a character outside of the alphabet.
std::optional<uint8_t> alphabetToByte(char32_t c);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_UNICODE_H
