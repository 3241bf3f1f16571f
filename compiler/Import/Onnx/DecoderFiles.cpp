//===- DecoderFiles.cpp - Files beside the graph of a decoder -------------===//

#include "compiler/Import/Onnx/DecoderFiles.h"

#include "compiler/Import/Json.h"

using namespace llvm;
using namespace weft;

static constexpr size_t maxConfigBytes = 16 << 20;

/// Tokens that a sequence may have where no file says so.
static constexpr int64_t defaultContext = 2048;

/// The object in a file; nothing if there is no such file or, after an error,
/// none in it.
static std::optional<json::Object>
readObject(const Folder &folder, StringRef name, ImportReport &report) {
  if (!folder.exists(name))
    return std::nullopt;
  size_t errors = report.getErrorCount();
  std::string text =
      readOrReport(folder, name, maxConfigBytes, report, "a readable file");
  if (report.getErrorCount() != errors)
    return std::nullopt;
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    report.unreadable(name, value.takeError(), "JSON");
    return std::nullopt;
  }
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  report.error(name, printJson(*value), "an object");
  return std::nullopt;
}

/// Copies a number of at least `least` under another key; the first of `keys`
/// that is there.
static void copyInteger(const json::Object &from, ArrayRef<StringRef> keys,
                        json::Object &to, StringRef key, int64_t least) {
  for (StringRef name : keys)
    if (std::optional<int64_t> value = from.getInteger(name);
        value && *value >= least && *value <= INT32_MAX) {
      to[key] = *value;
      return;
    }
}

/// Ids that end a text: one or a list.
static void copyEnds(const json::Object &from, json::Object &to) {
  const json::Value *value = from.get("eos_token_id");
  json::Array ids;
  if (value && value->getAsInteger() && *value->getAsInteger() >= 0)
    ids.push_back(*value);
  else if (value && value->getAsArray())
    for (const json::Value &id : *value->getAsArray())
      if (id.getAsInteger() && *id.getAsInteger() >= 0)
        ids.push_back(id);
  if (!ids.empty())
    to["eos_token_ids"] = std::move(ids);
}

/// How tokens are chosen unless a user says otherwise.
static void copySampling(const json::Object &from, json::Object &facts) {
  json::Object generation;
  generation["do_sample"] = from.getBoolean("do_sample").value_or(false);
  for (StringRef key : {"temperature", "top_p", "min_p", "repetition_penalty"})
    if (std::optional<double> value = from.getNumber(key))
      generation[key] = *value;
  if (std::optional<int64_t> value = from.getInteger("top_k");
      value && *value >= 0)
    generation["top_k"] = *value;
  facts["generation"] = std::move(generation);
}

static void copyIds(const json::Object &from, json::Object &facts) {
  copyEnds(from, facts);
  copyInteger(from, {"bos_token_id"}, facts, "bos_token_id", 0);
  copyInteger(from, {"pad_token_id"}, facts, "pad_token_id", 0);
}

std::string weft::readDecoderFacts(const Folder &folder, StringRef name,
                                   ImportReport &report) {
  json::Object facts;
  facts["name"] = json::fixUTF8(name);
  facts["context_length"] = defaultContext;
  if (auto genai = readObject(folder, "genai_config.json", report)) {
    if (const json::Object *model = genai->getObject("model")) {
      copyInteger(*model, {"context_length"}, facts, "context_length", 1);
      copyIds(*model, facts);
    }
    if (const json::Object *search = genai->getObject("search"))
      copySampling(*search, facts);
  } else {
    if (auto config = readObject(folder, "config.json", report)) {
      copyInteger(*config, {"max_position_embeddings", "n_positions"}, facts,
                  "context_length", 1);
      copyIds(*config, facts);
    }
    if (auto generation =
            readObject(folder, "generation_config.json", report)) {
      copyIds(*generation, facts);
      copySampling(*generation, facts);
    }
  }
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(facts));
  return text;
}
