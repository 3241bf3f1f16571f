//===- Recommendations.h - How a model wants its tokens chosen --*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_RECOMMENDATIONS_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_RECOMMENDATIONS_H

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "models/common/ModelConfig.h"

namespace weft {

/// Reads `do_sample`, `temperature`, `top_k` and their like, which
/// generation_config.json and the part `search` of genai_config.json have. One
/// that the runtime would refuse is left out with a warning, since it does not
/// change what the model computes; so is one that the runtime has nothing for.
GenerationDefaults readRecommendations(ConfigReader &reader);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_RECOMMENDATIONS_H
