//===- Synthesize.h - Random weights in place of a checkpoint -------------===//
//
// For benchmarks and for tests of large shapes: tensors with seeded random
// values instead of files. A value depends only on the seed, the tensor's name
// and the element's index, so that any part can be made at any time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_SYNTHESIZE_H
#define WEFT_COMPILER_IMPORT_SYNTHESIZE_H

#include "models/common/ModelWeights.h"
#include "models/common/WeightSource.h"

#include <memory>
#include <vector>

namespace weft {

/// What one synthesized tensor is filled with.
struct SynthesizedTensor {
  std::string name;
  llvm::SmallVector<int64_t, 4> shape;
  double mean = 0;
  /// Of a normal distribution, which is approximated by its 4096 equally
  /// likely quantiles; 0: all elements are `mean`.
  double deviation = 0.02;
};

class SynthesizedWeights : public WeightSource {
public:
  /// `type` must be f32, f16 or bf16; names must be unique.
  static llvm::Expected<std::unique_ptr<SynthesizedWeights>>
  create(std::vector<SynthesizedTensor> tensors, ElementType type,
         uint64_t seed);

  /// All tensors of a model, in the config's type: matrices, embeddings and
  /// biases with deviation 0.02, norms such that they only normalise.
  static llvm::Expected<std::unique_ptr<SynthesizedWeights>>
  create(const ModelConfig &config, const ModelWeights &weights, uint64_t seed);

  llvm::ArrayRef<TensorInfo> getTensors() const override { return infos; }
  std::optional<llvm::ArrayRef<uint8_t>>
  getMapped(const TensorInfo &) const override {
    return std::nullopt;
  }

protected:
  void readChecked(const TensorInfo &tensor, uint64_t offset,
                   llvm::MutableArrayRef<uint8_t> bytes) const override;

private:
  /// The quantiles of one (mean, deviation) in the element type, as bits.
  struct Table {
    double mean, deviation;
    std::vector<uint32_t> values;
  };

  SynthesizedWeights() = default;
  unsigned getTable(double mean, double deviation);

  std::vector<TensorInfo> infos;
  std::vector<unsigned> tableOfTensor; ///< Parallel to `infos`.
  std::vector<Table> tables;
  ElementType type = ElementType::F32;
  uint64_t seed = 0;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_SYNTHESIZE_H
