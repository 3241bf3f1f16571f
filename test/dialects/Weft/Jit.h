//===- Jit.h - Runs decompositions in a test --------------------*- C++ -*-===//
//
// A test writes an operation as text and gives tensors; `run` decomposes,
// lowers and compiles it in memory, and returns the result.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_DIALECTS_WEFT_JIT_H
#define WEFT_TEST_DIALECTS_WEFT_JIT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

/// A tensor whose elements are kept as doubles that its element type can hold.
class Tensor {
public:
  /// `type` is the MLIR type between `tensor<` and `>`, for example "?x64xf32";
  /// `shape` its sizes. Elements are rounded to the element type.
  Tensor(std::string type, std::vector<int64_t> shape,
         const std::vector<double> &values = {});

  const std::string &getType() const { return type; }
  std::string getElementType() const;
  const std::vector<int64_t> &getShape() const { return shape; }
  int64_t size() const { return static_cast<int64_t>(values.size()); }

  /// The element at the given indices.
  template <typename... Indices> double at(Indices... indices) const {
    return values[getOffset({static_cast<int64_t>(indices)...})];
  }
  template <typename... Indices> double &at(Indices... indices) {
    return values[getOffset({static_cast<int64_t>(indices)...})];
  }
  std::vector<double> values;

  /// Elements as they lie in memory, and back.
  std::vector<uint8_t> toBytes() const;
  void fromBytes(const std::vector<uint8_t> &bytes);

private:
  int64_t getOffset(const std::vector<int64_t> &indices) const;

  std::string type;
  std::vector<int64_t> shape;
};

/// Rounds to "f32", "f16", "bf16" or "i32", to nearest even.
double roundTo(double value, const std::string &elementType);

using Arguments = std::vector<std::pair<std::string, Tensor *>>;

/// Runs `body`, which uses the tensors `%name` of `inputs` and defines those
/// of `outputs`, whose shapes are given and whose values are replaced. Inputs
/// get back what the code left in their memory. Returns what went wrong, or an
/// empty text.
std::string run(const std::string &body, const Arguments &inputs,
                const Arguments &outputs);

} // namespace weft::test

#endif // WEFT_TEST_DIALECTS_WEFT_JIT_H
