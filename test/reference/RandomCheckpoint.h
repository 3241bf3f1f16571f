//===- RandomCheckpoint.h - Tiny random Hugging Face folders --------------===//
//
// Writes config.json and safetensors files for any family and geometry, the
// same bytes for the same options on every machine, in the newest or the older
// spelling of config.json. docs/families.md has names, shapes and keys.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_REFERENCE_RANDOMCHECKPOINT_H
#define WEFT_TEST_REFERENCE_RANDOMCHECKPOINT_H

#include "test/reference/Checkpoint.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft::reference {

/// What to write. Values that a family does not have are ignored (experts of
/// llama, kvHeads of gpt2).
struct RandomOptions {
  std::string family = "llama"; ///< model_type
  int64_t vocabulary = 320;
  int64_t hidden = 64;
  int64_t layers = 2;
  int64_t heads = 4;
  int64_t kvHeads = 2;
  int64_t headSize = 16; ///< gpt2, gpt_neox, bert: hidden / heads instead.
  int64_t intermediate = 160;
  int64_t maxPositions = 256;
  int64_t window = 0; ///< 0: none; gemma: maxPositions.
  int64_t experts = 4;
  int64_t expertsPerToken = 2;
  int64_t expertIntermediate = 48; ///< qwen3_moe
  bool normalizeExpertWeights = true;
  bool attentionBias = false;
  bool mlpBias = false;
  bool tied = false;
  /// Whether to store a head tensor; by default if and only if not tied. A
  /// head stored beside a tied embedding differs from it.
  std::optional<bool> storeHead;
  /// RoPE dict in the newest spelling, for example {"rope_type": "yarn",
  /// "factor": 4}; written in the older one if asked. gemma3_text: the dict
  /// of the global layers.
  nlohmann::json rope = nlohmann::json::object();
  bool oldSpelling = false;
  ElementType elementType = ElementType::F32;
  int64_t shards = 1; ///< More than 1: files with an index.
  uint64_t seed = 1;
  /// Put over the finished config.json; a null removes the key.
  nlohmann::json config = nlohmann::json::object();

  /// Reads the members above by their names. Throws Error for an unknown name
  /// or a wrong type.
  static RandomOptions parse(const nlohmann::json &json);
};

/// A tensor to be written.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// config.json for the options.
nlohmann::json makeConfig(const RandomOptions &options);

/// All tensors for the options. Matrices have the standard deviation
/// 1/sqrt(in), biases 0.1, norm weights lie around 1 (gemma: 0).
std::vector<NamedTensor> makeTensors(const RandomOptions &options);

/// Writes one safetensors file, rounding to the element type.
void writeSafetensors(const std::filesystem::path &file,
                      const std::vector<NamedTensor> &tensors,
                      ElementType elementType);

/// Writes a file; throws Error if the system refuses.
void writeFile(const std::filesystem::path &file, std::string_view bytes);

/// Writes the whole folder, creating it. Throws Error.
void writeRandomCheckpoint(const std::filesystem::path &folder,
                           const RandomOptions &options);

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_RANDOMCHECKPOINT_H
