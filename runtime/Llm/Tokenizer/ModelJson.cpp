//===- ModelJson.cpp - The "model" of tokenizer.json ----------------------===//

#include "runtime/Llm/Tokenizer/ModelJson.h"

namespace weft::rt {

namespace {

using ModelResult = Result<std::unique_ptr<Model>>;

/// The token-to-id object of BPE, WordPiece and WordLevel.
Vocabulary readVocabulary(JsonReader &reader) {
  Vocabulary vocabulary;
  const Json *object = reader.get("vocab");
  if (!object || !object->is_object()) {
    reader.reject("vocab", "an object from tokens to ids is expected");
    return vocabulary;
  }
  vocabulary.reserve(object->size());
  for (const auto &[token, id] : object->items()) {
    Status status = id.is_number_unsigned()
                        ? vocabulary.add(token, id.get<int64_t>())
                        : Status::corrupt("token \"" + token +
                                          "\" has the id " + describeJson(id));
    if (!status) {
      reader.fail(Status(status.getCode(),
                         reader.pathOf("vocab") + ": " + status.getMessage()));
      break;
    }
  }
  return vocabulary;
}

/// One merge rule: "left right", or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>>
readPair(const Json &rule) {
  using Pair = std::pair<std::string_view, std::string_view>;
  auto view = [](const Json &value) {
    return std::string_view(value.get_ref<const std::string &>());
  };
  if (rule.is_array() && rule.size() == 2 && rule[0].is_string() &&
      rule[1].is_string())
    return Pair(view(rule[0]), view(rule[1]));
  if (rule.is_string()) {
    std::string_view text = view(rule);
    size_t space = text.find(' ');
    if (space != text.npos && text.find(' ', space + 1) == text.npos)
      return Pair(text.substr(0, space), text.substr(space + 1));
  }
  return Status::corrupt("is " + describeJson(rule) +
                         "; two tokens with one space between are expected");
}

std::vector<BpeModel::Merge> readMerges(JsonReader &reader,
                                        const Vocabulary &vocabulary,
                                        size_t prefixLength) {
  std::vector<BpeModel::Merge> merges;
  if (!reader.get("merges"))
    reader.reject("merges", "an array is expected");
  const Json &rules = reader.array("merges");
  merges.reserve(rules.size());
  std::string result;
  uint32_t rank = 0;
  for (size_t i = 0; i < rules.size() && reader.ok(); ++i) {
    auto fail = [&](const std::string &message) {
      reader.fail(Status::corrupt(reader.pathOf("merges") + "[" +
                                  std::to_string(i) + "] " + message));
    };
    if (rules[i].is_string() &&
        rules[i].get_ref<const std::string &>().starts_with("#version"))
      continue;
    auto pair = readPair(rules[i]);
    if (!pair) {
      fail(pair.getStatus().getMessage());
      break;
    }
    auto [left, right] = *pair;
    auto leftId = vocabulary.find(left), rightId = vocabulary.find(right);
    result = left;
    if (right.size() >= prefixLength)
      result += right.substr(prefixLength);
    auto resultId = vocabulary.find(result);
    if (!leftId || !rightId || !resultId) {
      fail("needs the token \"" +
           std::string(!leftId    ? left
                       : !rightId ? right
                                  : result) +
           "\", which is not in the vocabulary");
      break;
    }
    merges.push_back({*leftId, *rightId, *resultId, rank++});
  }
  return merges;
}

ModelResult readBpe(JsonReader &reader, Status &error,
                    std::optional<int32_t> &unkId) {
  const Json *dropout = reader.get("dropout");
  if (dropout && !(dropout->is_number() && dropout->get<double>() == 0))
    reader.reject("dropout", "only null is supported, because merges must not "
                             "be dropped at random when a model runs");
  BpeModel::Options options;
  options.unkToken = reader.optString("unk_token");
  options.continuingPrefix = reader.optString("continuing_subword_prefix");
  options.wordSuffix = reader.optString("end_of_word_suffix");
  options.fuseUnk = reader.boolean("fuse_unk", false);
  options.byteFallback = reader.boolean("byte_fallback", false);
  options.ignoreMerges = reader.boolean("ignore_merges", false);
  for (auto *decoration : {&options.continuingPrefix, &options.wordSuffix})
    if (*decoration && (*decoration)->empty())
      decoration->reset();
  Vocabulary vocabulary = readVocabulary(reader);
  std::vector<BpeModel::Merge> merges = readMerges(
      reader, vocabulary,
      options.continuingPrefix ? options.continuingPrefix->size() : 0);
  reader.finish();
  if (!error)
    return error;
  if (options.unkToken)
    unkId = vocabulary.find(*options.unkToken);
  return BpeModel::create(std::move(vocabulary), merges, std::move(options));
}

ModelResult readUnigram(JsonReader &reader, Status &error,
                        std::optional<int32_t> &unkId) {
  Vocabulary vocabulary;
  std::vector<double> scores;
  if (!reader.get("vocab"))
    reader.reject("vocab", "an array of tokens and scores is expected");
  for (const Json &entry : reader.array("vocab")) {
    std::string where =
        reader.pathOf("vocab") + "[" + std::to_string(scores.size()) + "]";
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
        !entry[1].is_number()) {
      reader.fail(Status::corrupt(where + " is " + describeJson(entry) +
                                  "; a token and its score are expected"));
      break;
    }
    // Equal tokens do occur; the later one is used.
    Status status = vocabulary.add(entry[0].get_ref<const std::string &>(),
                                   static_cast<int64_t>(scores.size()), true);
    if (!status) {
      reader.fail(Status(status.getCode(), where + ": " + status.getMessage()));
      break;
    }
    scores.push_back(entry[1].get<double>());
  }
  if (auto id = reader.optInteger("unk_id", 0, Vocabulary::idLimit))
    unkId = static_cast<int32_t>(*id);
  bool byteFallback = reader.boolean("byte_fallback", false);
  reader.finish();
  if (!error)
    return error;
  return UnigramModel::create(std::move(vocabulary), std::move(scores), unkId,
                              byteFallback);
}

ModelResult readWordPiece(JsonReader &reader, Status &error,
                          std::optional<int32_t> &unkId) {
  std::string unkToken = reader.string("unk_token");
  std::string prefix = reader.string("continuing_subword_prefix");
  int64_t maxChars = reader.integer("max_input_chars_per_word", 0, INT32_MAX);
  Vocabulary vocabulary = readVocabulary(reader);
  reader.finish();
  if (!error)
    return error;
  unkId = vocabulary.find(unkToken);
  return WordPieceModel::create(std::move(vocabulary), unkToken, prefix,
                                static_cast<size_t>(maxChars));
}

ModelResult readWordLevel(JsonReader &reader, Status &error,
                          std::optional<int32_t> &unkId) {
  std::string unkToken = reader.string("unk_token");
  Vocabulary vocabulary = readVocabulary(reader);
  reader.finish();
  if (!error)
    return error;
  unkId = vocabulary.find(unkToken);
  return std::unique_ptr<Model>(
      std::make_unique<WordLevelModel>(std::move(vocabulary), unkId));
}

} // namespace

ModelResult readModel(const Json &value, std::optional<int32_t> &unkId) {
  Status error;
  JsonReader reader(value, "model", error);
  if (!error)
    return error;
  std::string type = reader.optString("type").value_or("");
  // Files from before the key "type" are told apart by their other keys.
  if (type.empty())
    type = reader.get("merges")                     ? "BPE"
           : reader.get("max_input_chars_per_word") ? "WordPiece"
           : reader.get("unk_token")                ? "WordLevel"
                                                    : "Unigram";
  JsonReader model(value, "model", error);
  model.skip("type");
  if (type == "BPE")
    return readBpe(model, error, unkId);
  if (type == "Unigram")
    return readUnigram(model, error, unkId);
  if (type == "WordPiece")
    return readWordPiece(model, error, unkId);
  if (type == "WordLevel")
    return readWordLevel(model, error, unkId);
  reader.reject("type", "BPE, Unigram, WordPiece and WordLevel are supported");
  return error;
}

} // namespace weft::rt
