//===- ModelJson.h - The "model" of tokenizer.json ------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_MODELJSON_H
#define WEFT_RUNTIME_LLM_TOKENIZER_MODELJSON_H

#include "runtime/Format/JsonReader.h"
#include "runtime/Llm/Tokenizer/Model.h"

namespace weft::rt {

/// Reads the model; `unkId` is set when the model has an unknown token.
Result<std::unique_ptr<Model>> readModel(const Json &value,
                                         std::optional<int32_t> &unkId);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_MODELJSON_H
