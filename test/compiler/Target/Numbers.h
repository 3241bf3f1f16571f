//===- Numbers.h - Half-precision numbers by formula, for tests -*- C++ -*-===//

#ifndef WEFT_TEST_COMPILER_TARGET_NUMBERS_H
#define WEFT_TEST_COMPILER_TARGET_NUMBERS_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace weft::test {

/// IEEE 754 binary16 (5 exponent bits) and bfloat16 (8) from their definition.
inline double decode(uint16_t bits, int exponentBits) {
  int fractionBits = 15 - exponentBits;
  int exponent = (bits >> fractionBits) & ((1 << exponentBits) - 1);
  double fraction = bits & ((1 << fractionBits) - 1);
  int bias = (1 << (exponentBits - 1)) - 1;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + (1 << fractionBits),
                           exponent - bias - fractionBits);
}

/// Nearest, ties to even. NaN becomes any NaN.
inline uint16_t encode(double value, int exponentBits) {
  int fractionBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = ((1 << exponentBits) - 1) << fractionBits;
  if (std::isnan(value))
    return sign | infinity | (1 << (fractionBits - 1));
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | infinity;
  int exponent = magnitude == 0 ? -10000 : std::ilogb(magnitude);
  exponent = std::max(exponent, 1 - bias);
  double units = std::nearbyint(std::ldexp(magnitude, fractionBits - exponent));
  // `units` is in units of the last place; carries move into the exponent.
  int64_t bits = static_cast<int64_t>(units) +
                 (int64_t(exponent + bias - 1) << fractionBits);
  return sign | static_cast<uint16_t>(std::min<int64_t>(bits, infinity));
}

enum class Element { F32, F16, BF16 };

inline const char *name(Element element) {
  return element == Element::F32 ? "f32"
                                 : (element == Element::F16 ? "f16" : "bf16");
}

/// An array in one of the element types.
struct Array {
  Element element;
  std::vector<uint32_t> words; ///< Storage, so that it is aligned.
  size_t size;

  Array(Element element, size_t size)
      : element(element), words(size + 32), size(size) {}

  void *data() { return words.data(); }

  void set(size_t i, double value) {
    if (element == Element::F32) {
      float number = static_cast<float>(value);
      std::memcpy(&words[i], &number, 4);
      return;
    }
    uint16_t bits = encode(value, element == Element::F16 ? 5 : 8);
    std::memcpy(reinterpret_cast<uint16_t *>(words.data()) + i, &bits, 2);
  }

  double get(size_t i) const {
    if (element == Element::F32) {
      float number;
      std::memcpy(&number, &words[i], 4);
      return number;
    }
    uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<const uint16_t *>(words.data()) + i, 2);
    return decode(bits, element == Element::F16 ? 5 : 8);
  }
};

inline Array randomArray(Element element, size_t size, uint32_t seed) {
  Array array(element, size);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (size_t i = 0; i < size; ++i)
    array.set(i, distribution(generator));
  return array;
}

} // namespace weft::test

#endif // WEFT_TEST_COMPILER_TARGET_NUMBERS_H
