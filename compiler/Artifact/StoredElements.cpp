//===- StoredElements.cpp - Elements of stored tensors --------------------===//

#include "compiler/Artifact/StoredElements.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cstring>

using namespace weft;

bool weft::isConvertible(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 ||
         type == ElementType::BF16;
}

ElementType weft::dropSign(ElementType type) {
  switch (type) {
  case ElementType::U8:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return ElementType::I8;
  case ElementType::U16:
    return ElementType::I16;
  case ElementType::U32:
    return ElementType::I32;
  case ElementType::U64:
    return ElementType::I64;
  default:
    return type;
  }
}

float weft::readFloat(const uint8_t *bytes, ElementType type) {
  if (type == ElementType::F32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, 2);
  if (type == ElementType::BF16)
    return llvm::bit_cast<float>(uint32_t(half) << 16);
  return static_cast<float>(llvm::bit_cast<_Float16>(half));
}

void weft::writeFloat(float value, uint8_t *bytes, ElementType type) {
  if (type == ElementType::F32) {
    std::memcpy(bytes, &value, 4);
    return;
  }
  uint16_t half;
  if (type == ElementType::BF16) {
    uint32_t bits = llvm::bit_cast<uint32_t>(value);
    bool isNan = (bits & 0x7fffffff) > 0x7f800000;
    half = isNan ? uint16_t(bits >> 16 | 0x40)
                 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  } else {
    half = llvm::bit_cast<uint16_t>(static_cast<_Float16>(value));
  }
  std::memcpy(bytes, &half, 2);
}
