//===- Handmade.h - Checkpoints whose outputs are known in closed form ----===//

#ifndef WEFT_TEST_E2E_HANDMADE_H
#define WEFT_TEST_E2E_HANDMADE_H

#include "test/reference/RandomCheckpoint.h"

namespace weft::e2e {

/// A checkpoint of a given geometry in which every tensor is zero except the
/// norms' weights, which are 1, and what `set` has put in.
class HandmadeCheckpoint {
public:
  explicit HandmadeCheckpoint(reference::RandomOptions options);

  /// The values of a tensor; throws reference::Error if there is none.
  reference::NamedTensor &operator[](const std::string &name);
  /// Puts a value into a matrix.
  void set(const std::string &name, int64_t row, int64_t column, float value) {
    reference::NamedTensor &tensor = (*this)[name];
    tensor.values.at(size_t(row * tensor.shape.at(1) + column)) = value;
  }
  void write(const std::filesystem::path &folder) const;

private:
  reference::RandomOptions options;
  std::vector<reference::NamedTensor> tensors;
};

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_HANDMADE_H
