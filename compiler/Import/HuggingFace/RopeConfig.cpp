//===- RopeConfig.cpp - The RoPE part of a config -------------------------===//

#include "compiler/Import/HuggingFace/RopeConfig.h"

#include "compiler/Import/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace llvm;

namespace weft {

static constexpr int64_t maxPositionLimit = int64_t(1) << 31;

static std::optional<RopeType> parseType(StringRef name, bool isPhi3) {
  auto type = StringSwitch<std::optional<RopeType>>(name)
                  .Case("default", RopeType::Default)
                  .Case("linear", RopeType::Linear)
                  .Case("dynamic", RopeType::Dynamic)
                  .Case("yarn", RopeType::Yarn)
                  .Case("llama3", RopeType::Llama3)
                  .Cases({"longrope", "su"}, RopeType::Longrope)
                  .Default(std::nullopt);
  return isPhi3 && type == RopeType::Yarn ? RopeType::Longrope : type;
}

static void requirePositive(ConfigReader &reader, StringRef key, double value) {
  if (!isPositiveFloat(value))
    reader.reject(key, "a positive number that float32 holds");
}

/// The factor; an absent one is an error unless there is a fallback.
static double readFactor(ConfigReader &reader, std::optional<double> absent) {
  std::optional<double> factor = reader.getOptionalDouble("factor", absent);
  if (!factor)
    factor = absent;
  requirePositive(reader, "factor", factor.value_or(0));
  return factor.value_or(1);
}

static void readOriginalMaxPositions(ConfigReader &reader,
                                     const RopeDefaults &defaults,
                                     RopeParameters &parameters) {
  // phi3's value beside the RoPE parameters wins, as in transformers.
  int64_t inner = reader.getInt("original_max_position_embeddings",
                                parameters.maxPositions, 2, maxPositionLimit);
  parameters.originalMaxPositions =
      defaults.originalMaxPositions.value_or(inner);
}

static std::vector<double> readFactors(ConfigReader &reader, StringRef key,
                                       int64_t count) {
  std::vector<double> factors = reader.getDoubles(key);
  bool valid = static_cast<int64_t>(factors.size()) == count &&
               all_of(factors, isPositiveFloat);
  if (!valid)
    reader.reject(key, "a list of " + Twine(count) +
                           " positive numbers, one for each pair of rotated "
                           "elements of a head");
  return factors;
}

static void readYarn(ConfigReader &reader, const RopeDefaults &defaults,
                     RopeParameters &p) {
  readOriginalMaxPositions(reader, defaults, p);
  bool ratio = reader.isPresent("factor") && !reader.has("factor");
  p.factor =
      readFactor(reader, ratio ? std::optional<double>(double(p.maxPositions) /
                                                       p.originalMaxPositions)
                               : std::nullopt);
  p.attentionFactor = reader.getOptionalPositive("attention_factor", {});
  // Zero means the default, as null does.
  p.betaFast = reader.getDouble("beta_fast", 0);
  p.betaSlow = reader.getDouble("beta_slow", 0);
  p.betaFast = p.betaFast == 0 ? 32.0 : p.betaFast;
  p.betaSlow = p.betaSlow == 0 ? 1.0 : p.betaSlow;
  requirePositive(reader, "beta_slow", p.betaSlow);
  if (!(p.betaFast >= p.betaSlow))
    reader.reject("beta_fast", "a number not less than beta_slow");
  p.mscale = reader.getDouble("mscale", 0);
  p.mscaleAllDim = reader.getDouble("mscale_all_dim", 0);
  p.truncate = reader.getBool("truncate", true);
  // Says how a checkpoint was made.
  reader.markKnown({"finetuned"});
}

static void readLlama3(ConfigReader &reader, const RopeDefaults &defaults,
                       RopeParameters &p) {
  readOriginalMaxPositions(reader, defaults, p);
  p.factor = readFactor(reader, std::nullopt);
  p.lowFrequencyFactor = reader.getDouble("low_freq_factor", 0);
  p.highFrequencyFactor = reader.getDouble("high_freq_factor", 0);
  requirePositive(reader, "low_freq_factor", p.lowFrequencyFactor);
  if (!(p.highFrequencyFactor > p.lowFrequencyFactor))
    reader.reject("high_freq_factor", "a number greater than low_freq_factor");
}

static void readLongrope(ConfigReader &reader, const RopeDefaults &defaults,
                         RopeParameters &p) {
  readOriginalMaxPositions(reader, defaults, p);
  p.factor =
      readFactor(reader, double(p.maxPositions) / p.originalMaxPositions);
  p.attentionFactor = reader.getOptionalPositive("attention_factor", {});
  p.shortFactors = readFactors(reader, "short_factor", p.rotarySize / 2);
  p.longFactors = readFactors(reader, "long_factor", p.rotarySize / 2);
}

/// Reads one object of RoPE parameters. `theta` and `partial` are the values
/// from outside the object, which apply where it has none.
static RopeTable parseTable(ConfigReader &reader, const RopeDefaults &defaults,
                            const ModelConfig &config, double theta,
                            double partial) {
  size_t errorsBefore = reader.getReport().getErrorCount();
  RopeParameters p;
  p.maxPositions = config.maxPositions;
  p.contextLength = config.contextLength;

  StringRef typeKey = reader.has("rope_type") ? "rope_type" : "type";
  std::string typeName = reader.getString(typeKey, "default");
  std::optional<RopeType> type =
      parseType(typeName, defaults.originalMaxPositions.has_value());
  if (!type) {
    reader.reject(typeKey,
                  "one of default linear dynamic yarn llama3 longrope");
    return {};
  }
  p.type = *type;
  // The older of the two names, where both are given.
  reader.markKnown({"type", "rope_type"});

  p.theta = reader.getDouble("rope_theta", theta);
  // The value may come from outside the object.
  if (!(p.theta > 1) || !std::isfinite(p.theta))
    reader.getReport().error(reader.getWhere() + ": rope_theta",
                             printJson(p.theta), "a number greater than 1");
  partial = reader.getDouble("partial_rotary_factor", partial);
  bool isShare = partial > 0 && partial <= 1;
  p.rotarySize = isShare ? static_cast<int64_t>(config.headSize * partial) : 0;
  if (p.rotarySize < 2 || p.rotarySize % 2 != 0 ||
      (partial != 1 && !defaults.allowsPartial)) {
    reader.getReport().error(
        reader.getWhere() + ": rotary elements of a head",
        Twine(p.rotarySize) + " of " + Twine(config.headSize),
        defaults.allowsPartial ? "an even number from 2 to all of them"
                               : "all of them, an even number",
        "check head_dim and " + defaults.partialKey);
    return {};
  }

  switch (p.type) {
  case RopeType::Default:
    break;
  case RopeType::Linear:
    p.factor = readFactor(reader, std::nullopt);
    break;
  case RopeType::Dynamic:
    p.factor = readFactor(reader, std::nullopt);
    if (reader.getInt("original_max_position_embeddings", p.maxPositions, 1,
                      maxPositionLimit) != p.maxPositions)
      reader.getReport().warning(
          reader.getWhere() + ": original_max_position_embeddings",
          "a value other than max_position_embeddings", Twine(p.maxPositions),
          "it has no effect on rope_type dynamic");
    break;
  case RopeType::Yarn:
    readYarn(reader, defaults, p);
    break;
  case RopeType::Llama3:
    readLlama3(reader, defaults, p);
    break;
  case RopeType::Longrope:
    readLongrope(reader, defaults, p);
    break;
  }
  reader.reportUnknown(Twine("rope_type ") + getName(p.type) +
                       " has no such parameter");
  if (reader.getReport().getErrorCount() != errorsBefore)
    return {};
  RopeTable table = computeRopeTable(p);
  if (!isPositiveFloat(table.scale)) {
    reader.getReport().error(reader.getWhere() + ": mscale, mscale_all_dim",
                             "a scale of " + printJson(table.scale),
                             "a positive number that float32 holds");
    return {};
  }
  // No sequence of this compilation can be long enough for the second table.
  if (table.hasLongTable() && p.contextLength <= table.switchLength)
    table.longInverseFrequencies.clear();
  if (p.contextLength > p.maxPositions && p.type != RopeType::Yarn)
    reader.getReport().warning(
        "context length", Twine(p.contextLength),
        "at most " + Twine(p.maxPositions) + ", the model's own limit",
        p.type == RopeType::Dynamic
            ? "rope_type dynamic has another table for each length beyond it; "
              "that of the whole context is used for shorter sequences, too"
            : "the model was not made for longer sequences");
  return table;
}

void parseRope(ConfigReader &reader, const RopeDefaults &defaults,
               ModelConfig &config) {
  double theta = reader.getDouble(defaults.thetaKey, defaults.theta);
  double partial =
      reader.getDouble(defaults.partialKey, defaults.partialFactor);
  double slidingTheta =
      defaults.hasLocalTheta
          ? reader.getDouble("rope_local_base_freq", defaults.slidingTheta)
          : theta;

  const json::Object *parameters = reader.getObject("rope_parameters");
  const json::Object *scaling = reader.getObject("rope_scaling");
  if (parameters && scaling && !scaling->empty() && *parameters != *scaling)
    reader.getReport().warning(reader.getWhere() + ": rope_parameters",
                               "rope_scaling beside it", "one of the two",
                               "rope_scaling is used, as transformers does");
  bool useScaling = scaling && (!parameters || !scaling->empty());
  StringRef key = useScaling ? "rope_scaling" : "rope_parameters";
  const json::Object *source = useScaling ? scaling : parameters;
  static const json::Object empty;
  auto makeReader = [&](const json::Object *object, const Twine &name) {
    return ConfigReader(object ? *object : empty,
                        (reader.getWhere() + ": " + name).str(),
                        reader.getReport());
  };

  // One object for each kind of layer?
  bool nested = source && (source->get("full_attention") ||
                           source->get("sliding_attention"));
  if (!nested) {
    if (!useScaling && parameters && defaults.hasLocalTheta) {
      reader.reject(key, "an object for each of full_attention and "
                         "sliding_attention");
      return;
    }
    ConfigReader inner = makeReader(source, key);
    config.rope = parseTable(inner, defaults, config, theta, partial);
    if (defaults.hasLocalTheta) {
      ConfigReader none = makeReader(nullptr, "rope_local_base_freq");
      config.slidingRope =
          parseTable(none, defaults, config, slidingTheta, partial);
    }
  } else if (!defaults.hasLocalTheta) {
    reader.reject(key, "one object for all layers",
                  "layers of this family have one RoPE");
    return;
  } else {
    ConfigReader outer = makeReader(source, key);
    ConfigReader full =
        makeReader(outer.getObject("full_attention"), key + ".full_attention");
    ConfigReader sliding = makeReader(outer.getObject("sliding_attention"),
                                      key + ".sliding_attention");
    config.rope = parseTable(full, defaults, config, theta, partial);
    config.slidingRope =
        parseTable(sliding, defaults, config, slidingTheta, partial);
    outer.reportUnknown("expected full_attention and sliding_attention");
  }

  bool hasSliding = is_contained(config.layerKinds, LayerKind::Sliding);
  if (!hasSliding || config.slidingRope == config.rope)
    config.slidingRope.reset();
}

} // namespace weft
