//===- DecoderFiles.cpp - Files beside the graph of a decoder -------------===//

#include "compiler/Import/Onnx/DecoderFiles.h"

#include "compiler/Import/HuggingFace/FamilyParser.h"
#include "compiler/Import/HuggingFace/Recommendations.h"
#include "compiler/Import/Json.h"
#include "models/common/Meta.h"

using namespace llvm;
using namespace weft;

static constexpr size_t maxConfigBytes = 16 << 20;

/// Tokens that a sequence may have where no file says so.
static constexpr int64_t defaultContext = 2048;

static constexpr StringLiteral genAiName = "genai_config.json",
                               configName = "config.json",
                               generationName = "generation_config.json";

bool weft::isDecoderFile(StringRef name) {
  return name == genAiName || name == configName || name == generationName;
}

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

/// Longest sequence; nothing if the keys are not there.
static void readContext(ConfigReader &reader, ArrayRef<StringRef> keys,
                        json::Object &facts) {
  for (StringRef key : keys)
    if (auto length =
            reader.getOptionalInt(key, std::nullopt, 1, maxContextLength)) {
      facts["context_length"] = *length;
      return;
    }
}

/// Ids that end a text, begin it and fill it up; negative: there is none.
static void readIds(ConfigReader &reader, json::Object &facts) {
  if (auto ids = reader.getIntOrInts("eos_token_id", -1, INT32_MAX)) {
    json::Array ends;
    for (int64_t id : *ids)
      if (id >= 0)
        ends.push_back(id);
    facts["eos_token_ids"] = std::move(ends);
  }
  for (StringRef key : {"bos_token_id", "pad_token_id"})
    if (auto id = reader.getOptionalInt(key, std::nullopt, -1, INT32_MAX);
        id && *id >= 0)
      facts[key] = *id;
}

static void readGenAi(const json::Object &object, json::Object &facts,
                      ImportReport &report) {
  ConfigReader reader(object, genAiName.str(), report);
  if (const json::Object *model = reader.getObject("model")) {
    ConfigReader members(*model, (genAiName + ": model").str(), report);
    readContext(members, {"context_length"}, facts);
    readIds(members, facts);
  } else if (!reader.has("model")) {
    reader.reject("model", "an object");
  }
  if (const json::Object *search = reader.getObject("search")) {
    ConfigReader members(*search, (genAiName + ": search").str(), report);
    facts["generation"] = makeGeneration(readRecommendations(members));
  }
}

static void readHuggingFace(const Folder &folder, json::Object &facts,
                            ImportReport &report) {
  if (auto object = readObject(folder, configName, report)) {
    ConfigReader reader(*object, configName.str(), report);
    readContext(reader, {"max_position_embeddings", "n_positions"}, facts);
    readIds(reader, facts);
  }
  if (auto object = readObject(folder, generationName, report)) {
    ConfigReader reader(*object, generationName.str(), report);
    readIds(reader, facts);
    facts["generation"] = makeGeneration(readRecommendations(reader));
  }
}

std::string weft::readDecoderFacts(const Folder &folder, StringRef name,
                                   ImportReport &report) {
  json::Object facts;
  facts["name"] = json::fixUTF8(name);
  facts["context_length"] = defaultContext;
  if (auto genai = readObject(folder, genAiName, report))
    readGenAi(*genai, facts, report);
  else
    readHuggingFace(folder, facts, report);
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(facts));
  return text;
}
