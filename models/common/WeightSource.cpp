//===- WeightSource.cpp - Where a model's tensors come from ---------------===//

#include "models/common/WeightSource.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft {

unsigned getByteSize(ElementType type) {
  switch (type) {
  case ElementType::Bool:
  case ElementType::U8:
  case ElementType::I8:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return 1;
  case ElementType::U16:
  case ElementType::I16:
  case ElementType::F16:
  case ElementType::BF16:
    return 2;
  case ElementType::U32:
  case ElementType::I32:
  case ElementType::F32:
    return 4;
  case ElementType::U64:
  case ElementType::I64:
  case ElementType::F64:
    return 8;
  }
  llvm_unreachable("not an ElementType");
}

StringRef getName(ElementType type) {
  static constexpr StringRef names[] = {
      "bool", "u8",  "i8",  "f8e4m3", "f8e5m2", "u16", "i16", "f16",
      "bf16", "u32", "i32", "f32",    "u64",    "i64", "f64"};
  return names[static_cast<unsigned>(type)];
}

std::string printShape(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << "[";
  interleaveComma(shape, os);
  os << "]";
  return text;
}

std::optional<uint64_t> computeByteSize(ArrayRef<int64_t> shape,
                                        ElementType type) {
  // A dimension of zero must not hide that the others overflow, so that the
  // order of the dimensions does not matter; nothing real needs such shapes.
  uint64_t size = getByteSize(type);
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    bool overflow = false;
    size = SaturatingMultiply<uint64_t>(size, dim, &overflow);
    if (overflow || size > static_cast<uint64_t>(INT64_MAX))
      return std::nullopt;
  }
  return empty ? 0 : size;
}

WeightSource::~WeightSource() = default;

const TensorInfo *WeightSource::find(StringRef name) const {
  ArrayRef<TensorInfo> tensors = getTensors();
  const TensorInfo *it =
      partition_point(tensors, [&](const TensorInfo &tensor) {
        return StringRef(tensor.name) < name;
      });
  return it != tensors.end() && it->name == name ? it : nullptr;
}

Error WeightSource::read(const TensorInfo &tensor, uint64_t offset,
                         MutableArrayRef<uint8_t> bytes) const {
  uint64_t element = getByteSize(tensor.type);
  if (offset > tensor.byteSize || bytes.size() > tensor.byteSize - offset ||
      offset % element != 0 || bytes.size() % element != 0)
    return createStringError(
        inconvertibleErrorCode(),
        "cannot read bytes [%llu, +%llu) of tensor '%s', which has %llu bytes "
        "in elements of %llu",
        static_cast<unsigned long long>(offset),
        static_cast<unsigned long long>(bytes.size()), tensor.name.c_str(),
        static_cast<unsigned long long>(tensor.byteSize),
        static_cast<unsigned long long>(element));
  readChecked(tensor, offset, bytes);
  return Error::success();
}

} // namespace weft
