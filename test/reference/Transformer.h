//===- Transformer.h - An independent forward pass, the tests' oracle -----===//
//
// Loops over float64 sums; no compiler, no cache, no batching, no threads. It
// shares neither code nor decompositions with Weft, so agreement between the
// two says something. docs/families.md has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_REFERENCE_TRANSFORMER_H
#define WEFT_TEST_REFERENCE_TRANSFORMER_H

#include "test/reference/Checkpoint.h"
#include "test/reference/Config.h"

#include <filesystem>
#include <span>
#include <vector>

namespace weft::reference {

/// What activations are stored as; every sum is float64 either way.
enum class Precision { Float32, Float64 };

/// A row-major matrix of results.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;

  std::span<const double> row(int64_t i) const {
    return {values.data() + i * columns, size_t(columns)};
  }
};

/// y = x W^T + b. `weight` is [out, in]; `bias` is empty or [out].
struct Linear {
  int64_t in = 0;
  int64_t out = 0;
  std::vector<float> weight;
  std::vector<float> bias;
};

/// Weight and, for layer normalisation, bias; both [size]. Empty: no norm.
struct Norm {
  std::vector<float> weight;
  std::vector<float> bias;
};

/// A feed-forward network; `gate` is empty where the family has none.
struct FeedForward {
  Linear gate, up, down;
};

struct Layer {
  Norm attentionNorm;      ///< Before attention; bert: after its residual.
  Norm postAttention;      ///< gemma: on the output of attention.
  Norm feedForwardNorm;    ///< Before the network; bert: after its residual.
  Norm postFeedForward;    ///< gemma: on the output of the network.
  Norm queryNorm, keyNorm; ///< Per head.
  Linear query, key, value, output;
  FeedForward network; ///< Of a dense layer.
  Linear router;
  std::vector<FeedForward> experts;
};

/// A model in memory. Const member functions may be called from several
/// threads. Everything that can go wrong throws Error.
class Transformer {
public:
  explicit Transformer(const Checkpoint &checkpoint)
      : Transformer(checkpoint, parseConfig(checkpoint.config())) {}
  /// With a config that a test changed.
  Transformer(const Checkpoint &checkpoint, Config config);
  static Transformer load(const std::filesystem::path &folder) {
    return Transformer(Checkpoint::open(folder));
  }

  const Config &config() const { return settings; }
  /// Whether a tied checkpoint also stores a head that differs from the
  /// embedding; the embedding is used.
  bool hasIgnoredHead() const { return ignoredHead; }

  /// The last hidden state, after the final norm: [ids, hidden]. Positions
  /// count from 0. `tokenTypes` (bert) is empty, meaning zeros, or as long as
  /// `ids`.
  Matrix hidden(std::span<const int32_t> ids,
                Precision precision = Precision::Float64,
                std::span<const int32_t> tokenTypes = {}) const;

  /// Logits of every position of a decoder: [ids, vocabulary].
  Matrix logits(std::span<const int32_t> ids,
                Precision precision = Precision::Float64) const;

  /// The `count` ids that greedy decoding continues with; each step recomputes
  /// everything. Equal scores go to the lowest id.
  std::vector<int32_t> greedy(std::span<const int32_t> ids, int64_t count,
                              Precision precision = Precision::Float64) const;

  /// Mean negative log-likelihood in nats of ids[1..] given what precedes.
  double loss(std::span<const int32_t> ids,
              Precision precision = Precision::Float64) const;

private:
  template <typename Real>
  std::vector<Real> forward(std::span<const int32_t> ids,
                            std::span<const int32_t> tokenTypes) const;
  Matrix logitsOfRows(std::span<const int32_t> ids, int64_t firstRow,
                      Precision precision) const;

  Config settings;
  bool ignoredHead = false;
  Tensor embedding;         ///< [vocabulary, hidden]
  Tensor positionEmbedding; ///< gpt2, bert: [positions, hidden]
  Tensor typeEmbedding;     ///< bert: [types, hidden]
  Norm embeddingNorm;       ///< bert
  std::vector<Layer> layers;
  Norm finalNorm;
  Linear head;
};

/// Index of the largest value; of equal ones, the first.
int32_t argmax(std::span<const double> values);

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_TRANSFORMER_H
