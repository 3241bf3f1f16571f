//===- AddedTokens.h - Tokens that are found before the model runs --------===//
//
// Added tokens are strings like "<|im_end|>" that are looked for in the text
// itself: those with `normalized` false in the raw text, the others in the
// normalized text. The semantics are those of the tokenizers library, 0.23.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_ADDEDTOKENS_H
#define WEFT_RUNTIME_LLM_TOKENIZER_ADDEDTOKENS_H

#include "runtime/Llm/Tokenizer/Normalizer.h"
#include "runtime/Llm/Tokenizer/PreTokenizer.h"
#include "runtime/Llm/Tokenizer/Vocabulary.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace weft::rt {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool singleWord = false; ///< Only between characters that are no word.
  bool lstrip = false;     ///< Takes the white space before it.
  bool rstrip = false;     ///< Takes the white space behind it.
  bool normalized = false; ///< Matches in the normalized text.
  bool special = false;    ///< Control token: skipped by decoding on request.
};

/// Immutable after create().
class AddedTokens {
public:
  AddedTokens() = default;
  /// `normalizer` may be null.
  static Result<AddedTokens> create(std::vector<AddedToken> tokens,
                                    const Normalizer *normalizer);

  /// Normalizes `text` and splits it at added tokens. Special ones are taken
  /// for plain text unless `parseSpecial`.
  Result<Pieces> split(std::string_view text, const Normalizer *normalizer,
                       bool parseSpecial) const;

  /// Null when `id` is not an added token.
  const AddedToken *find(int32_t id) const {
    auto entry = byId.find(id);
    return entry == byId.end() ? nullptr : &tokens[entry->second];
  }
  /// Null when `content` is not an added token.
  const AddedToken *find(std::string_view content) const;
  /// What an added token's id stands for when it is decoded: for a normalized
  /// token the normalized form, which the decoder turns back.
  const std::string &decodedForm(const AddedToken &token) const {
    return normalizedForms[static_cast<size_t>(&token - tokens.data())];
  }
  const std::vector<AddedToken> &list() const { return tokens; }

private:
  void splitText(std::string_view text, const ByteTrie &trie, bool parseSpecial,
                 std::vector<Piece> &pieces) const;

  std::vector<AddedToken> tokens;
  std::vector<std::string> normalizedForms; ///< By index of the token.
  std::unordered_map<int32_t, size_t> byId;
  ByteTrie rawTrie, normalizedTrie; ///< Values are indices of tokens.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_ADDEDTOKENS_H
