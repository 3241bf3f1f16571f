//===- ModelMeta.cpp - What the LLM layer knows about a model -------------===//

#include "runtime/Llm/ModelMeta.h"

#include "runtime/Format/Json.h"

#include <algorithm>
#include <cmath>

using namespace weft::rt;
using Json = nlohmann::json;

namespace {

/// Reads typed members of one JSON object and keeps the first error.
class Members {
public:
  Members(const Json &object, std::string prefix)
      : object(object), prefix(std::move(prefix)) {}

  bool has(const char *key) const {
    auto it = object.find(key);
    return it != object.end() && !it->is_null();
  }

  int64_t integer(const char *key, int64_t low, int64_t high) {
    return readInteger(object.at(key), prefix + key, low, high);
  }

  /// `fallback` if the key is absent or null.
  int64_t integer(const char *key, int64_t low, int64_t high,
                  int64_t fallback) {
    return has(key) ? integer(key, low, high) : fallback;
  }

  int64_t required(const char *key, int64_t low, int64_t high) {
    if (has(key))
      return integer(key, low, high);
    fail(prefix + key + " is missing");
    return low;
  }

  double number(const char *key, double fallback) {
    if (!has(key))
      return fallback;
    const Json &value = object.at(key);
    if (value.is_number())
      return value.get<double>();
    fail(prefix + key + " is " + value.dump() + ", not a number");
    return fallback;
  }

  std::string text(const char *key) {
    if (!has(key))
      return "";
    const Json &value = object.at(key);
    if (value.is_string())
      return value.get<std::string>();
    fail(prefix + key + " is " + value.dump() + ", not a string");
    return "";
  }

  bool boolean(const char *key, bool fallback) {
    if (!has(key))
      return fallback;
    const Json &value = object.at(key);
    if (value.is_boolean())
      return value.get<bool>();
    fail(prefix + key + " is " + value.dump() + ", not true or false");
    return fallback;
  }

  int64_t readInteger(const Json &value, const std::string &name, int64_t low,
                      int64_t high) {
    bool fits = value.is_number_integer() &&
                !(value.is_number_unsigned() &&
                  value.get<uint64_t>() > uint64_t(INT64_MAX));
    if (fits && value.get<int64_t>() >= low && value.get<int64_t>() <= high)
      return value.get<int64_t>();
    fail(name + " is " + value.dump() + ", not an integer between " +
         std::to_string(low) + " and " + std::to_string(high));
    return low;
  }

  void fail(std::string message) {
    if (error.isOk())
      error = Status::corrupt("model facts (META): " + std::move(message) +
                              "; compile the model again");
  }
  const Status &getError() const { return error; }

private:
  const Json &object;
  std::string prefix;
  Status error;
};

} // namespace

/// Sizes far above any real model, small enough that products do not overflow.
static constexpr int64_t kLargestSize = int64_t(1) << 30;

static SamplingOptions parseGeneration(const Json &object, int64_t vocabulary,
                                       Status &error) {
  Members members(object, "generation.");
  SamplingOptions options;
  options.temperature = members.number("temperature", 1);
  options.topK = members.integer("top_k", 0, kLargestSize, 0);
  options.topP = members.number("top_p", 1);
  options.minP = members.number("min_p", 0);
  options.repetitionPenalty = members.number("repetition_penalty", 1);
  if (!members.boolean("do_sample", false))
    options.temperature = 0;
  if (Status s = options.verify(vocabulary); !s)
    members.fail("generation: " + s.getMessage());
  error = members.getError();
  return options;
}

Result<ModelMeta> ModelMeta::parse(std::string_view text) {
  Result<Json> parsed = parseJson(text);
  if (!parsed || !parsed->is_object())
    return Status::corrupt(
        "model facts (META) are " +
        (parsed ? "JSON but no object" : parsed.getStatus().getMessage()) +
        "; the file was not made for text generation or is damaged");

  const Json &json = *parsed;
  Members members(json, "");
  ModelMeta meta;
  if (members.required("format", 1, INT32_MAX) != 1)
    return Status::unsupported(
        "model facts (META) have format " + json.at("format").dump() +
        "; this runtime reads format 1: use a newer runtime or compile the "
        "model again");
  std::string kind = members.text("kind");
  if (kind == "encoder")
    meta.kind = Kind::Encoder;
  else if (kind != "decoder" && !kind.empty())
    members.fail("kind is \"" + kind + "\", not \"decoder\" or \"encoder\"");
  meta.family = members.text("family");
  meta.name = members.text("name");
  meta.weightsDtype = members.text("weights_dtype");
  meta.vocabularySize = members.required("vocab_size", 1, kLargestSize);
  meta.contextLength = members.required("context_length", 1, kLargestSize);
  meta.blockSize = members.integer("block_size", 1, 1 << 20, 64);
  meta.hiddenSize = members.integer("hidden_size", 1, kLargestSize, 0);
  meta.layers = members.integer("layers", 1, kLargestSize, 0);
  meta.parameters = members.integer("parameters", 0, INT64_MAX, 0);

  // Not limited by the vocabulary: small checkpoints inherit the special ids
  // of larger ones. Such an id never comes out, and goes in as an error.
  constexpr int64_t largestId = INT32_MAX;
  if (members.has("bos_token_id"))
    meta.bosId = int32_t(members.integer("bos_token_id", 0, largestId));
  if (members.has("pad_token_id"))
    meta.padId = int32_t(members.integer("pad_token_id", 0, largestId));
  if (members.has("add_bos"))
    meta.addBos = members.boolean("add_bos", false);
  if (meta.addBos.value_or(false) && !meta.bosId)
    members.fail("add_bos is true but bos_token_id is missing");
  if (members.has("rope_switch_length"))
    meta.ropeSwitchLength =
        members.integer("rope_switch_length", 1, kLargestSize);
  if (members.has("eos_token_ids")) {
    const Json &ids = json.at("eos_token_ids");
    if (!ids.is_array())
      members.fail("eos_token_ids is " + ids.dump() + ", not a list");
    else
      for (const Json &id : ids)
        meta.eosIds.push_back(
            int32_t(members.readInteger(id, "eos_token_ids", 0, largestId)));
  }
  if (members.has("generation")) {
    const Json &generation = json.at("generation");
    Status error;
    if (!generation.is_object())
      members.fail("generation is " + generation.dump() + ", not an object");
    else
      meta.generation = parseGeneration(generation, meta.vocabularySize, error);
    if (!error)
      return error;
  }
  if (!members.getError())
    return members.getError();
  return meta;
}

bool ModelMeta::isEos(int32_t id) const {
  return std::find(eosIds.begin(), eosIds.end(), id) != eosIds.end();
}
