//===- ModelMeta.cpp - What the LLM layer knows about a model -------------===//

#include "runtime/Llm/ModelMeta.h"

#include "runtime/Format/JsonReader.h"

#include <algorithm>
#include <cmath>

using namespace weft::rt;

/// Sizes far above any real model, small enough that products do not overflow.
static constexpr int64_t kLargestSize = int64_t(1) << 30;

/// Any id: special ids are not limited by the vocabulary, because small
/// checkpoints inherit those of larger ones. Such an id never comes out, and
/// goes in as an error.
static constexpr int64_t kLargestId = INT32_MAX;

static SamplingOptions parseGeneration(JsonReader &reader, int64_t vocabulary) {
  SamplingOptions options;
  options.temperature = reader.optNumber("temperature").value_or(1);
  options.topK = reader.optInteger("top_k", 0, kLargestSize).value_or(0);
  options.topP = reader.optNumber("top_p").value_or(1);
  options.minP = reader.optNumber("min_p").value_or(0);
  options.repetitionPenalty =
      reader.optNumber("repetition_penalty").value_or(1);
  if (!reader.boolean("do_sample", false))
    options.temperature = 0;
  if (Status s = options.verify(vocabulary); !s)
    reader.fail(Status::corrupt("generation: " + s.getMessage()));
  return options;
}

static ModelMeta readMeta(JsonReader &reader, Status &error) {
  ModelMeta meta;
  std::string kind = reader.optString("kind").value_or("");
  if (kind == "encoder")
    meta.kind = ModelMeta::Kind::Encoder;
  else if (kind != "decoder" && !kind.empty())
    reader.reject("kind", "\"decoder\" or \"encoder\" is expected");
  meta.family = reader.optString("family").value_or("");
  meta.name = reader.optString("name").value_or("");
  meta.weightsDtype = reader.optString("weights_dtype").value_or("");
  meta.vocabularySize = reader.integer("vocab_size", 1, kLargestSize);
  meta.contextLength = reader.integer("context_length", 1, kLargestSize);
  meta.blockSize = reader.optInteger("block_size", 1, 1 << 20).value_or(64);
  meta.hiddenSize =
      reader.optInteger("hidden_size", 1, kLargestSize).value_or(0);
  meta.layers = reader.optInteger("layers", 1, kLargestSize).value_or(0);
  meta.parameters = reader.optInteger("parameters", 0, INT64_MAX).value_or(0);
  meta.bosId = reader.optInteger("bos_token_id", 0, kLargestId);
  meta.padId = reader.optInteger("pad_token_id", 0, kLargestId);
  meta.addBos = reader.optBool("add_bos");
  if (meta.addBos.value_or(false) && !meta.bosId)
    reader.fail(Status::corrupt("add_bos is true but bos_token_id is missing"));
  meta.ropeSwitchLength =
      reader.optInteger("rope_switch_length", 1, kLargestSize);
  for (int64_t id : reader.integers("eos_token_ids", 0, kLargestId))
    meta.eosIds.push_back(static_cast<int32_t>(id));
  if (const Json *generation = reader.get("generation")) {
    JsonReader members(*generation, "generation", error);
    meta.generation = parseGeneration(members, meta.vocabularySize);
  }
  return meta;
}

Result<ModelMeta> ModelMeta::parse(std::string_view text) {
  if (text.empty())
    return Status::unsupported(
        "the plan is not that of a language model: its entries run on tensors "
        "only (weft-run --entry, weft_session_run)");
  Result<Json> json = parseJson(text);
  if (!json || !json->is_object())
    return Status::corrupt(
        "model facts (META) are " +
        (json ? "JSON but no object" : json.getStatus().getMessage()) +
        "; the file was not made for text generation or is damaged");

  Status error;
  JsonReader reader(*json, "", error);
  const int64_t format = reader.integer("format", 1, INT32_MAX);
  if (error && format != 1)
    return Status::unsupported(
        "model facts (META) have format " + std::to_string(format) +
        "; this runtime reads format 1: use a newer runtime or compile the "
        "model again");
  ModelMeta meta = readMeta(reader, error);
  if (!error)
    return Status::corrupt("model facts (META): " + error.getMessage() +
                           "; compile the model again");
  return meta;
}

bool ModelMeta::isEos(int32_t id) const {
  return std::find(eosIds.begin(), eosIds.end(), id) != eosIds.end();
}
