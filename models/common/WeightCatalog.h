//===- WeightCatalog.h - Helper for describing a family's weights ---------===//

#ifndef WEFT_MODELS_COMMON_WEIGHTCATALOG_H
#define WEFT_MODELS_COMMON_WEIGHTCATALOG_H

#include "models/common/ModelWeights.h"

#include "llvm/ADT/StringSet.h"

namespace weft {

/// Makes Weights and notes the tensors that they use.
class WeightCatalog {
public:
  WeightCatalog(ModelWeights &weights, const WeightSource *source)
      : weights(weights), source(source) {}

  /// The first of these prefixes with which the checkpoint has `name`; the
  /// first one if it has none of them or there is no checkpoint.
  std::string findPrefix(llvm::ArrayRef<llvm::StringRef> prefixes,
                         llvm::StringRef name) const;

  /// A whole tensor.
  Weight use(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape,
             TensorRole role);
  /// A whole matrix [out, in], and with `hasBias` its bias, named
  /// `name`.weight and `name`.bias. `transposed`: stored [in, out].
  LinearWeights useLinear(const llvm::Twine &name, int64_t out, int64_t in,
                          bool hasBias, bool transposed = false);
  /// `count` blocks of `block` outputs of a stored linear layer with
  /// `storedOut` outputs.
  LinearWeights useRows(const llvm::Twine &name, RowRange range,
                        int64_t storedOut, int64_t in, bool hasBias);
  /// The norm `name`.weight, and with `hasBias` `name`.bias.
  NormWeights useNorm(const llvm::Twine &name, int64_t size, bool hasBias,
                      TensorRole role = TensorRole::Norm);
  /// A stack [count, out, in] of the matrices name(0), name(1), ...
  Weight useStack(llvm::function_ref<std::string(int64_t)> name, int64_t count,
                  int64_t out, int64_t in);

private:
  void note(std::string name, llvm::ArrayRef<int64_t> shape, TensorRole role);

  ModelWeights &weights;
  const WeightSource *source;
  llvm::StringSet<> noted;
};

/// The feed-forward networks and attention of the Llama line, whose names many
/// families share. `prefix` ends in a dot: "model.layers.3.".
void describeLlamaAttention(WeightCatalog &catalog, const ModelConfig &config,
                            const std::string &prefix, LayerWeights &layer);
void describeLlamaMlp(WeightCatalog &catalog, const ModelConfig &config,
                      const std::string &prefix, LayerWeights &layer);
/// Experts named prefix + "experts.{e}." + gate/up/down + ".weight".
void describeExperts(WeightCatalog &catalog, const ModelConfig &config,
                     const std::string &prefix, llvm::StringRef gate,
                     llvm::StringRef up, llvm::StringRef down,
                     LayerWeights &layer);
/// Everything but the layers of a decoder of the Llama line, then `addLayer`
/// for each layer with its prefix.
void describeLlamaDecoder(
    WeightCatalog &catalog, const ModelConfig &config, ModelWeights &weights,
    llvm::function_ref<void(int64_t index, const std::string &prefix,
                            LayerWeights &layer)>
        addLayer);
/// The output head: the token embedding if tied, else the named tensor.
Weight describeHead(WeightCatalog &catalog, const ModelConfig &config,
                    const ModelWeights &weights, const llvm::Twine &name);

/// The families, each in its folder.
void describeLlama(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeMixtral(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeQwen(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeGemma(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describePhi3(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeGpt2(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeGptNeox(WeightCatalog &, const ModelConfig &, ModelWeights &);
void describeBert(WeightCatalog &, const ModelConfig &, ModelWeights &);

} // namespace weft

#endif // WEFT_MODELS_COMMON_WEIGHTCATALOG_H
