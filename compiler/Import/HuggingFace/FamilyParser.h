//===- FamilyParser.h - What the configs of all families share ------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYPARSER_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYPARSER_H

#include "compiler/Import/HuggingFace/Config.h"
#include "compiler/Import/HuggingFace/ConfigReader.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft {

/// Limits far above anything real, so that products of two sizes cannot
/// overflow.
inline constexpr int64_t maxConfigSize = int64_t(1) << 24;
inline constexpr int64_t maxConfigPositions = int64_t(1) << 31;
/// What the runtime takes.
inline constexpr int64_t maxContextLength = int64_t(1) << 30;
inline constexpr int64_t maxConfigLayers = 1024;
inline constexpr int64_t maxConfigExperts = 1024;

/// Defaults of a family's config class for the keys that all families have.
struct FamilyDefaults {
  int64_t vocabSize, hiddenSize, intermediateSize, layerCount, headCount;
  int64_t kvHeadCount; ///< 0: as many as query heads.
  int64_t headSize;    ///< 0: hidden size / heads.
  int64_t maxPositions;
  double epsilon;
  bool tied;
  std::optional<int64_t> bos, pad;
  std::vector<int64_t> eos;
};

/// The names under which a family's config keeps common values.
struct FamilyKeys {
  llvm::StringRef hidden = "hidden_size";
  llvm::StringRef intermediate = "intermediate_size";
  llvm::StringRef layers = "num_hidden_layers";
  llvm::StringRef heads = "num_attention_heads";
  llvm::StringRef positions = "max_position_embeddings";
  llvm::StringRef epsilon = "rms_norm_eps";
  llvm::StringRef activation = "hidden_act";
  llvm::StringRef defaultActivation = "silu";
};

/// Reads the keys that several families have. The families (FamilyConfigs.cpp)
/// add theirs.
class FamilyParser {
public:
  FamilyParser(ConfigReader &reader, const ConfigOptions &options)
      : reader(reader), options(options) {}

protected:
  /// Sizes, norms, activation, types, tokens; what every family has.
  void readSizes(const FamilyDefaults &defaults, const FamilyKeys &keys);
  void readActivation(llvm::StringRef key, llvm::StringRef absent);
  void readDtype();
  void readTokens(const FamilyDefaults &defaults);
  void readUnsupportedFlags();
  void readContextLength();
  void setAllLayers(std::optional<int64_t> window);
  /// layer_types, or for each layer `isSlidingByDefault`.
  void readLayerTypes(std::optional<int64_t> window,
                      llvm::function_ref<bool(int64_t)> isSlidingByDefault);
  void readMoe(llvm::StringRef intermediateKey, int64_t intermediateSize,
               int64_t expertCount, int64_t expertsPerToken, bool normalize);
  /// A softcap that is absent by null; zero is not a cap.
  double readSoftcap(llvm::StringRef key, std::optional<double> absent);
  llvm::StringRef pickName(llvm::StringRef own, llvm::StringRef common);
  void requireFalse(llvm::StringRef key, const llvm::Twine &advice);

  ConfigReader &reader;
  const ConfigOptions &options;
  ModelConfig config;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYPARSER_H
