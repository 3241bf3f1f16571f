//===- TokenizerParts.h - What a tokenizer is made of ---------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZERPARTS_H
#define WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZERPARTS_H

#include "runtime/Llm/Tokenizer/AddedTokens.h"
#include "runtime/Llm/Tokenizer/Decoder.h"
#include "runtime/Llm/Tokenizer/Model.h"
#include "runtime/Llm/Tokenizer/Normalizer.h"
#include "runtime/Llm/Tokenizer/PreTokenizer.h"
#include "runtime/Llm/Tokenizer/Tokenizer.h"

namespace weft::rt {

/// The pipeline in the order in which text runs through it, and back.
struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer; ///< May be null.
  AddedTokens added;
  std::unique_ptr<PreTokenizer> preTokenizer; ///< May be null.
  std::unique_ptr<Model> model;
  /// Ids around a text when special tokens are asked for.
  std::vector<int32_t> prefix, suffix;
  std::unique_ptr<Decoder> decoder;
  /// Token strings that decoding uses in place of the vocabulary's.
  std::unordered_map<int32_t, std::string> decodedForms;
  SpecialIds special;
};

/// Loaders; each is in a file of its own. Errors name the key and the value.
Result<std::unique_ptr<TokenizerParts>>
loadTokenizerJson(std::string_view json);
/// `controlTokens` of tokenizer_config.json come on top of the model's own.
Result<std::unique_ptr<TokenizerParts>>
loadSentencePiece(std::string_view model,
                  std::vector<AddedToken> controlTokens);
Result<std::unique_ptr<TokenizerParts>> loadTiktoken(std::string_view ranks);
/// Whether the bytes look like a tiktoken rank file ("base64 rank" lines).
bool isTiktoken(std::string_view bytes);

/// What tokenizer_config.json, special_tokens_map.json and
/// generation_config.json say. Absent values stay empty.
struct TokenizerConfig {
  std::string tokenizerClass;
  std::optional<std::string> bos, eos, unk, pad;
  std::optional<bool> addBos, addEos;
  std::vector<AddedToken> addedTokens;
  std::optional<int32_t> bosId, padId;
  std::vector<int32_t> eosIds;
};
/// Each adds what its file says to `config`.
Status readTokenizerConfig(std::string_view json, TokenizerConfig &config);
Status readSpecialTokensMap(std::string_view json, TokenizerConfig &config);
Status readGenerationConfig(std::string_view json, TokenizerConfig &config);

/// A token string to an id: added tokens first, then the model's.
std::optional<int32_t> findToken(const TokenizerParts &parts,
                                 std::string_view token);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_TOKENIZERPARTS_H
