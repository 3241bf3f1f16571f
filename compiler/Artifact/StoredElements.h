//===- StoredElements.h - Elements of stored tensors ------------*- C++ -*-===//

#ifndef WEFT_COMPILER_ARTIFACT_STOREDELEMENTS_H
#define WEFT_COMPILER_ARTIFACT_STOREDELEMENTS_H

#include "models/common/WeightSource.h"

namespace weft {

/// Whether elements of a type can be converted to others: f32, f16 and bf16.
bool isConvertible(ElementType type);

/// The type as it is in the IR after lowering, which has no unsigned types and
/// knows floating-point numbers of 8 bits as bytes.
ElementType dropSign(ElementType type);

/// A number of a convertible type, little-endian and not necessarily aligned.
float readFloat(const uint8_t *bytes, ElementType type);
/// The same written, rounded to the nearest, ties to even.
void writeFloat(float value, uint8_t *bytes, ElementType type);

} // namespace weft

#endif // WEFT_COMPILER_ARTIFACT_STOREDELEMENTS_H
