//===- Import.h - A Hugging Face checkpoint folder as a whole -------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_IMPORT_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_IMPORT_H

#include "compiler/Import/HuggingFace/Config.h"
#include "models/common/ModelWeights.h"

#include <memory>
#include <string>
#include <vector>

namespace weft {

struct ImportOptions {
  ConfigOptions config;
  bool followLinks = false; ///< Open files through symbolic links.
};

/// A model, ready for buildModel.
struct ImportedModel {
  std::string name; ///< Of the folder or config.
  ModelConfig config;
  ModelWeights weights;
  std::unique_ptr<WeightSource> source;
  /// Those of the tokenizer's files that exist: (name, content).
  std::vector<std::pair<std::string, std::string>> tokenizerFiles;
};

/// Reads and checks a checkpoint folder: config.json, generation_config.json,
/// the safetensors files and the tokenizer's files. All problems, of config and
/// weights together, go to the report; nothing is returned if one is an error.
std::optional<ImportedModel> importCheckpoint(llvm::StringRef path,
                                              const ImportOptions &options,
                                              ImportReport &report);

/// The paths of the files in a folder that importCheckpoint may read; none for
/// a folder that cannot be read.
std::vector<std::string> listCheckpointFiles(llvm::StringRef path);

/// A model with random weights. `config` is the path of a config.json, of a
/// folder that has one (whose tokenizer is used too), or one of
/// getBuiltinConfigs().
std::optional<ImportedModel> synthesizeModel(llvm::StringRef config,
                                             uint64_t seed,
                                             const ImportOptions &options,
                                             ImportReport &report);

/// Names of the configs in bench/configs, which are compiled in.
std::vector<llvm::StringRef> getBuiltinConfigs();

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_IMPORT_H
