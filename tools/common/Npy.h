//===- Npy.h - Tensors in NumPy's file format -----------------------------===//
//
// The format of numpy.save: https://numpy.org/neps/nep-0001-npy-format.html,
// versions 1.0 to 3.0, C order, little endian. NumPy has no bfloat16: a bf16
// tensor is stored as <u2, its raw bits
// (x.view(ml_dtypes.bfloat16) in Python turns it back).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_COMMON_NPY_H
#define WEFT_TOOLS_COMMON_NPY_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct NpyArray {
  rt::DType dtype = rt::DType::F32;
  std::vector<int64_t> shape; ///< Empty for a scalar.
  std::vector<std::byte> data;
};

/// `name` is what error messages call the bytes. Corrupt for bytes that are no
/// .npy array or whose size contradicts the header, Unsupported for Fortran
/// order, other byte orders and other element types; the message says what was
/// found.
rt::Result<NpyArray> parseNpy(std::span<const std::byte> bytes,
                              std::string_view name);

/// As parseNpy, and NotFound or Io from the operating system.
rt::Result<NpyArray> readNpy(const std::string &path);

/// The bytes of a version 1.0 file. `data` has the size of dtype x shape.
std::vector<std::byte> printNpy(rt::DType dtype, std::span<const int64_t> shape,
                                std::span<const std::byte> data);

/// Writes a file that appears whole or not at all.
rt::Status writeNpy(const std::string &path, rt::DType dtype,
                    std::span<const int64_t> shape,
                    std::span<const std::byte> data);

} // namespace weft

#endif // WEFT_TOOLS_COMMON_NPY_H
