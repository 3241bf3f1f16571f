//===- Meta.h - Model facts for the runtime -------------------------------===//

#ifndef WEFT_MODELS_COMMON_META_H
#define WEFT_MODELS_COMMON_META_H

#include "models/common/ModelConfig.h"

#include "llvm/Support/JSON.h"

namespace weft {

/// What the META section of an artifact says; runtime/Llm/ModelMeta.h reads it.
/// `weightType` is that of the plan's matrices.
llvm::json::Value makeMeta(const ModelConfig &config, ElementType weightType,
                           int64_t parameterCount, int64_t blockSize,
                           llvm::StringRef name);

/// Its member `generation`.
llvm::json::Value makeGeneration(const GenerationDefaults &defaults);

} // namespace weft

#endif // WEFT_MODELS_COMMON_META_H
