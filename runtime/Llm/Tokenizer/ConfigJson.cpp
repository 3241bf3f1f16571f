//===- ConfigJson.cpp - The small JSON files beside a tokenizer -----------===//
//
// These files hold much that is about other programs (class names, chat
// templates, sampling defaults), so only known keys are looked at here.
//
//===----------------------------------------------------------------------===//

#include "runtime/Format/JsonReader.h"
#include "runtime/Llm/Tokenizer/TokenizerParts.h"

#include <charconv>

namespace weft::rt {

namespace {

/// A token is a string, or an object whose "content" is the string.
void readToken(JsonReader &reader, const char *key,
               std::optional<std::string> &token) {
  const Json *value = reader.get(key);
  if (!value)
    return;
  if (value->is_object())
    value = value->contains("content") ? &(*value)["content"] : value;
  if (value->is_string())
    token = value->get<std::string>();
  else
    reader.reject(key, "a token is expected");
}

void readTokens(JsonReader &reader, TokenizerConfig &config) {
  readToken(reader, "bos_token", config.bos);
  readToken(reader, "eos_token", config.eos);
  readToken(reader, "unk_token", config.unk);
  readToken(reader, "pad_token", config.pad);
}

/// Runs read(reader, error) on the object in `text`.
template <typename Read> Status withReader(std::string_view text, Read read) {
  Result<Json> json = parseJson(text);
  if (!json)
    return json.getStatus();
  Status error;
  JsonReader reader(*json, "", error);
  read(reader, error);
  return error;
}

void readAddedTokensDecoder(const Json &tokens, Status &error,
                            std::vector<AddedToken> &result) {
  if (!tokens.is_object())
    return;
  for (const auto &[key, value] : tokens.items()) {
    std::string path = "added_tokens_decoder." + key;
    AddedToken token;
    auto [end, problem] =
        std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (problem != std::errc() || end != key.data() + key.size() ||
        token.id < 0 || token.id >= Vocabulary::idLimit) {
      error = Status::corrupt(path + ": the key is not a token id");
      return;
    }
    JsonReader reader(value, path, error);
    token.content = reader.string("content");
    token.singleWord = reader.boolean("single_word", false);
    token.lstrip = reader.boolean("lstrip", false);
    token.rstrip = reader.boolean("rstrip", false);
    token.normalized = reader.boolean("normalized", false);
    token.special = reader.boolean("special", false);
    if (!error)
      return;
    if (!token.content.empty())
      result.push_back(std::move(token));
  }
}

} // namespace

Status readTokenizerConfig(std::string_view json, TokenizerConfig &config) {
  return withReader(json, [&](JsonReader &reader, Status &error) {
    readTokens(reader, config);
    if (auto name = reader.optString("tokenizer_class"))
      config.tokenizerClass = *name;
    config.addBos = reader.optBool("add_bos_token");
    config.addEos = reader.optBool("add_eos_token");
    if (const Json *tokens = reader.get("added_tokens_decoder"))
      readAddedTokensDecoder(*tokens, error, config.addedTokens);
  });
}

Status readSpecialTokensMap(std::string_view json, TokenizerConfig &config) {
  return withReader(
      json, [&](JsonReader &reader, Status &) { readTokens(reader, config); });
}

Status readGenerationConfig(std::string_view json, TokenizerConfig &config) {
  return withReader(json, [&](JsonReader &reader, Status &) {
    auto readId = [&](const char *key, std::optional<int32_t> &id) {
      // -1 is written for "none" by some.
      if (auto value = reader.optInteger(key, -1, Vocabulary::idLimit);
          value >= 0)
        id = static_cast<int32_t>(*value);
    };
    readId("bos_token_id", config.bosId);
    readId("pad_token_id", config.padId);
    const Json *eos = reader.get("eos_token_id");
    if (!eos)
      return;
    if (!eos->is_array()) {
      std::optional<int32_t> id;
      readId("eos_token_id", id);
      if (id)
        config.eosIds.push_back(*id);
      return;
    }
    for (const Json &id : *eos) {
      if (!id.is_number_unsigned() ||
          id.get<uint64_t>() >= Vocabulary::idLimit) {
        reader.reject("eos_token_id", "token ids are expected");
        return;
      }
      config.eosIds.push_back(id.get<int32_t>());
    }
  });
}

} // namespace weft::rt
