//===- Config.h - Hugging Face config.json to ModelConfig -----------------===//
//
// Reads the configs of the supported families in the newest spelling
// (rope_parameters, dtype, layer_types) and the older ones (rope_theta,
// rope_scaling, torch_dtype, sliding_window_pattern, ...). Absent keys have the
// defaults of the family's config class in transformers 5. Every key is
// understood, known not to change what the model computes at inference, or
// an error.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIG_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIG_H

#include "models/common/ImportReport.h"
#include "models/common/ModelConfig.h"

#include "llvm/Support/JSON.h"

#include <optional>

namespace weft {

struct ConfigOptions {
  /// Longest sequence to compile for; 0: the model's own limit.
  int64_t contextLength = 0;
  /// Keys to ignore although they are not understood.
  std::vector<std::string> ignoredKeys = {};
};

/// The config that `config`, the content of config.json, and `generation`, that
/// of generation_config.json or null, describe. All problems go to the report;
/// nothing is returned if there was an error.
std::optional<ModelConfig>
parseHuggingFaceConfig(const llvm::json::Value &config,
                       const llvm::json::Value *generation,
                       const ConfigOptions &options, ImportReport &report);

/// The same from the texts of the files; no `generation`: no such file.
std::optional<ModelConfig>
parseHuggingFaceConfig(llvm::StringRef config,
                       std::optional<llvm::StringRef> generation,
                       const ConfigOptions &options, ImportReport &report);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIG_H
