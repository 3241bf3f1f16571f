//===- ModelWeights.h - Which tensor plays which part in a model ----------===//
//
// A family's part of an import: it says, for a config, which tensors the
// checkpoint must have and what each of them is. Everything else - checking a
// checkpoint, synthesizing one, building the IR - follows from that.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_MODELWEIGHTS_H
#define WEFT_MODELS_COMMON_MODELWEIGHTS_H

#include "models/common/ImportReport.h"
#include "models/common/ModelConfig.h"
#include "models/common/WeightSource.h"

#include <string>
#include <vector>

namespace weft {

/// What a tensor holds; says what a synthesized one is filled with.
enum class TensorRole {
  Matrix,
  Embedding,
  Bias,
  Norm,       ///< Factor of a norm, about 1.
  NormOffset, ///< Factor minus 1 (gemma), about 0.
};

/// A tensor that the checkpoint must have.
struct TensorUse {
  std::string name;
  llvm::SmallVector<int64_t, 2> shape; ///< As stored.
  TensorRole role = TensorRole::Matrix;
};

/// Rows of a stored tensor: `count` blocks of `block` rows, the first at row
/// `start`, then every `stride` rows; `count` 0: the whole tensor. With
/// `transposed` the tensor is stored [in, out] and rows count its columns.
struct RowRange {
  std::string name;
  int64_t start = 0, block = 0, stride = 0, count = 0;
  bool transposed = false;
};

/// A constant of the model: the rows of its sources, concatenated and read
/// with this shape. Without sources the model has no such constant.
struct Weight {
  std::vector<RowRange> sources;
  llvm::SmallVector<int64_t, 3> shape;

  explicit operator bool() const { return !sources.empty(); }
};

/// y = x matrixᵀ + bias; the matrix is [out, in].
struct LinearWeights {
  Weight matrix, bias;
  explicit operator bool() const { return bool(matrix); }
};

/// An RMS norm (no bias) or a layer norm.
struct NormWeights {
  Weight weight, bias;
  explicit operator bool() const { return bool(weight); }
};

struct LayerWeights {
  std::string name; ///< "layers.3", for labels.
  /// Before (in bert: after) attention and feed-forward network.
  NormWeights attentionNorm, mlpNorm;
  /// On the output of attention and network, before the residual (gemma).
  NormWeights attentionOutputNorm, mlpOutputNorm;
  LinearWeights query, key, value, output;
  Weight queryNorm, keyNorm; ///< RMS norm of each head, [head size].
  /// Dense network: gate is absent in networks without one.
  LinearWeights gate, up, down;
  /// Experts: router [E, H], stacks [E, out, in]. Absent in dense layers.
  Weight router, expertGate, expertUp, expertDown;
};

struct ModelWeights {
  Weight tokenEmbedding;
  Weight positionEmbedding;  ///< Learned positions only.
  Weight typeEmbedding;      ///< bert.
  NormWeights embeddingNorm; ///< bert.
  std::vector<LayerWeights> layers;
  NormWeights finalNorm;
  Weight head; ///< Decoders; the token embedding if tied.

  /// All tensors that are used, each once.
  std::vector<TensorUse> tensors;
  /// Patterns, with at most one '*', of names that a checkpoint may have but
  /// that are not used.
  std::vector<std::string> ignored;

  /// Number of elements of all tensors that are used.
  int64_t getParameterCount() const;
};

/// The weights of a model of this config. `source` decides between the
/// spellings that a family's names have (with or without prefix, ...); null
/// gives the newest one.
ModelWeights describeWeights(const ModelConfig &config,
                             const WeightSource *source);

/// Checks that the checkpoint has all tensors with the shapes that the config
/// gives them and in a type that can be used, and none that is neither used
/// nor ignored. Tied embeddings: a stored head that differs from the embedding
/// is a warning. All problems go to the report.
void checkWeights(const ModelConfig &config, const ModelWeights &weights,
                  const WeightSource &source, ImportReport &report);

} // namespace weft

#endif // WEFT_MODELS_COMMON_MODELWEIGHTS_H
