//===- TokenizerJson.cpp - Reads tokenizer.json ---------------------------===//
//
// The format is what the tokenizers library 0.23 writes and reads. Every key
// is understood or refused; only "truncation" and "padding" are left out on
// purpose, because they say how a batch is cut and filled, not what the ids of
// a text are (transformers resets them, too).
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/ComponentJson.h"
#include "runtime/Llm/Tokenizer/ModelJson.h"

namespace weft::rt {

namespace {

std::vector<AddedToken> readAddedTokens(JsonReader &owner,
                                        const Vocabulary &vocabulary,
                                        Status &error) {
  std::vector<AddedToken> result;
  std::unordered_map<std::string, int32_t> seen;
  const Json &items = owner.array("added_tokens");
  for (size_t i = 0; i < items.size() && error; ++i) {
    JsonReader reader(items[i], itemPath("added_tokens", i), error);
    AddedToken token;
    token.id =
        static_cast<int32_t>(reader.integer("id", 0, Vocabulary::idLimit - 1));
    token.content = reader.string("content");
    token.singleWord = reader.boolean("single_word");
    token.lstrip = reader.boolean("lstrip");
    token.rstrip = reader.boolean("rstrip");
    token.normalized = reader.boolean("normalized");
    token.special = reader.boolean("special");
    reader.finish();
    if (!error)
      break;
    if (token.content.empty())
      continue; // the library drops these, too
    auto inModel = vocabulary.find(token.content);
    if (inModel && *inModel != token.id)
      reader.reject("id", "the vocabulary gives \"" + token.content +
                              "\" the id " + std::to_string(*inModel));
    auto [entry, isNew] = seen.try_emplace(token.content, token.id);
    if (!isNew && entry->second != token.id)
      reader.reject("id", "\"" + token.content +
                              "\" was added before with id " +
                              std::to_string(entry->second));
    if (isNew)
      result.push_back(std::move(token));
  }
  return result;
}

} // namespace

Result<std::unique_ptr<TokenizerParts>>
loadTokenizerJson(std::string_view text) {
  // Room for the largest vocabularies and for steps within steps.
  Result<Json> json =
      parseJson(text, {.maxDepth = 256, .maxValues = 16'000'000});
  if (!json)
    return json.getStatus();
  Status error;
  JsonReader reader(*json, "", error);
  auto version = reader.optString("version");
  if (version && *version != "1.0")
    reader.reject("version", "1.0 is supported");
  reader.skip("truncation");
  reader.skip("padding");
  auto parts = std::make_unique<TokenizerParts>();

  const Json *modelJson = reader.get("model");
  if (!modelJson)
    reader.reject("model", "an object is expected");
  if (!error)
    return error;
  auto model = readModel(*modelJson, parts->special.unk);
  if (!model)
    return model.getStatus();
  parts->model = model.take();

  if (const Json *value = reader.get("normalizer")) {
    auto steps = readNormalizers(*value, error);
    parts->normalizer = std::make_unique<NormalizerSequence>(std::move(steps));
  }
  if (const Json *value = reader.get("pre_tokenizer")) {
    auto steps = readPreTokenizers(*value, error);
    parts->preTokenizer =
        std::make_unique<PreTokenizerSequence>(std::move(steps));
  }
  if (const Json *value = reader.get("post_processor"))
    readPostProcessors(*value, error, *parts);
  std::vector<std::unique_ptr<DecodeStep>> decodeSteps;
  if (const Json *value = reader.get("decoder")) {
    decodeSteps = readDecoders(*value, error);
  } else {
    decodeSteps.push_back(std::make_unique<SpacedDecoder>());
  }
  parts->decoder = std::make_unique<Decoder>(std::move(decodeSteps));
  std::vector<AddedToken> added =
      readAddedTokens(reader, parts->model->getVocabulary(), error);
  reader.finish();
  if (!error)
    return error;
  auto tokens = AddedTokens::create(std::move(added), parts->normalizer.get());
  if (!tokens)
    return tokens.getStatus();
  parts->added = tokens.take();
  return parts;
}

} // namespace weft::rt
