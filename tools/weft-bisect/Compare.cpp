//===- Compare.cpp - weft-bisect: how far two tensors are apart -----------===//

#include "tools/weft-bisect/Compare.h"

#include "compiler/Artifact/ExportPlan.h"
#include "tools/common/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

template <typename T> static T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Element `index` as a number that holds it exactly (i64 is not used by
/// models).
double weft::bisect::getElement(const ReferenceTensor &tensor, size_t index) {
  Type type = tensor.elementType;
  const uint8_t *bytes = tensor.bytes.data() + index * getElementBytes(type);
  if (type.isF32())
    return load<float>(bytes);
  if (type.isF16())
    return static_cast<float>(load<_Float16>(bytes));
  if (type.isBF16())
    return llvm::bit_cast<float>(uint32_t(load<uint16_t>(bytes)) << 16);
  if (type.isF64())
    return load<double>(bytes);
  return type.isInteger(64) ? double(load<int64_t>(bytes))
                            : double(load<int32_t>(bytes));
}

/// 0 for equal elements, of which infinities and NaNs may be some.
static double getDistance(double expected, double found) {
  if (expected == found || (std::isnan(expected) && std::isnan(found)))
    return 0;
  double distance = std::abs(found - expected);
  return std::isfinite(distance) ? distance
                                 : std::numeric_limits<double>::infinity();
}

static std::vector<int64_t> getIndices(ArrayRef<int64_t> shape, size_t index) {
  std::vector<int64_t> indices(shape.size());
  for (size_t i = shape.size(); i-- > 0; index /= shape[i])
    indices[i] = index % shape[i];
  return indices;
}

Difference weft::bisect::compare(const ReferenceTensor &expected,
                                 const ReferenceTensor &found, double tolerance,
                                 StringRef name) {
  assert(expected.bytes.size() == found.bytes.size());
  Difference result;
  result.name = name.str();
  result.tolerance = isa<FloatType>(expected.elementType) ? tolerance : 0;
  result.elements =
      expected.bytes.size() / getElementBytes(expected.elementType);
  result.at.assign(expected.shape.size(), 0);
  if (expected.bytes == found.bytes)
    return result;
  double scale = 0;
  size_t worst = 0;
  for (size_t i = 0; i < result.elements; ++i) {
    double value = getElement(expected, i);
    if (std::isfinite(value))
      scale = std::max(scale, std::abs(value));
    double distance = getDistance(value, getElement(found, i));
    if (distance > result.absolute) {
      result.absolute = distance;
      worst = i;
    }
  }
  if (result.absolute == 0)
    return result;
  auto relate = [&](double distance) {
    return scale > 0 ? distance / scale
                     : std::numeric_limits<double>::infinity();
  };
  result.relative = relate(result.absolute);
  result.at = getIndices(expected.shape, worst);
  result.expected = getElement(expected, worst);
  result.found = getElement(found, worst);
  if (result.relative <= result.tolerance)
    return result;
  for (size_t i = 0; i < result.elements; ++i) {
    double distance =
        getDistance(getElement(expected, i), getElement(found, i));
    if (distance > 0 && relate(distance) > result.tolerance)
      ++result.badElements;
  }
  return result;
}

bool weft::bisect::isWorse(const Difference &difference,
                           const Difference &other) {
  return std::pair(other.isBad(), other.relative) >
         std::pair(difference.isBad(), difference.relative);
}

Difference weft::bisect::compareAll(ArrayRef<NamedTensor> expected,
                                    ArrayRef<NamedTensor> found,
                                    double tolerance) {
  Difference worst;
  worst.tolerance = tolerance;
  for (auto [a, b] : llvm::zip_equal(expected, found)) {
    Difference difference = compare(a.tensor, b.tensor, tolerance, a.name);
    if (isWorse(worst, difference))
      worst = std::move(difference);
  }
  return worst;
}

std::string Difference::describe(StringRef foundName,
                                 StringRef expectedName) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << name << ": " << badElements << " of " << elements
         << " elements differ by more than " << llvm::format("%g", tolerance)
         << " of the largest one; most at ["
         << llvm::join(
                llvm::map_range(
                    at, [](int64_t index) { return std::to_string(index); }),
                ", ")
         << "], " << foundName << llvm::format(" %.9g, ", found) << expectedName
         << llvm::format(" %.9g", expected);
  return text;
}

double weft::bisect::getTolerance(Operation *op) {
  double tolerance = 1e-4;
  auto add = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    if (element.isBF16())
      tolerance = std::max(tolerance, 2e-2);
    else if (element.isF16())
      tolerance = std::max(tolerance, 1e-2);
  };
  op->walk([&](Operation *inner) {
    llvm::for_each(inner->getOperandTypes(), add);
    llvm::for_each(inner->getResultTypes(), add);
  });
  return tolerance;
}

std::string weft::bisect::makeFileName(StringRef text) {
  std::string name = text.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && !StringRef("._-#").contains(c))
      c = '_';
  return name;
}

rt::Status weft::bisect::saveTensors(const std::string &folder,
                                     StringRef prefix,
                                     ArrayRef<NamedTensor> tensors) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return rt::Status(rt::StatusCode::Io,
                      "cannot create " + folder + ": " + error.message());
  for (const NamedTensor &named : tensors) {
    std::optional<rt::DType> dtype = getDType(named.tensor.elementType);
    assert(dtype && "tensors of plans have types that a plan can hold");
    std::string path =
        folder + "/" + prefix.str() + "." + makeFileName(named.name) + ".npy";
    ArrayRef<uint8_t> bytes = named.tensor.bytes;
    if (rt::Status s =
            writeNpy(path, *dtype, named.tensor.shape,
                     std::as_bytes(std::span(bytes.data(), bytes.size())));
        !s)
      return s;
  }
  return rt::Status::ok();
}
