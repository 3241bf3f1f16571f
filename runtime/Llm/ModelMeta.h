//===- ModelMeta.h - What the LLM layer knows about a model ---------------===//
//
// The META section of an artifact: JSON written by the compiler, parsed and
// validated here. docs/generation.md lists the keys.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_MODELMETA_H
#define WEFT_RUNTIME_LLM_MODELMETA_H

#include "runtime/Format/Status.h"
#include "runtime/Llm/Sampler.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

struct ModelMeta {
  enum class Kind : uint8_t { Decoder, Encoder };

  Kind kind = Kind::Decoder;
  std::string family, name;
  int64_t vocabularySize = 0;                         ///< Width of the logits.
  int64_t hiddenSize = 0, layers = 0, parameters = 0; ///< 0: not told.
  int64_t contextLength = 0; ///< Positions the model was made for.
  int64_t blockSize = 64;    ///< Positions per cache block.
  std::optional<int32_t> bosId, padId;
  std::vector<int32_t> eosIds;
  /// Whether a prompt starts with BOS; nothing: the tokenizer decides.
  std::optional<bool> addBos;
  /// Longer sequences than this use the long RoPE table from token 0 on.
  std::optional<int64_t> ropeSwitchLength;
  std::string weightsDtype;
  /// The checkpoint's own recommendation; greedy if it has none.
  SamplingOptions generation;

  /// Corrupt, naming the key, for JSON that is malformed, incomplete or
  /// contradicts itself. Keys that are not known are ignored: a newer compiler
  /// may add some.
  static Result<ModelMeta> parse(std::string_view json);

  bool isEos(int32_t id) const;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_MODELMETA_H
