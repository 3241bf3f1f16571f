//===- RandomValues.cpp ---------------------------------------------------===//

#include "runtime/Device/RandomValues.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

using namespace weft::rt;

namespace {

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators" (OOPSLA 2014).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

/// Round to nearest, ties to even; the values are finite.
uint16_t toBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// Likewise; values that are too small become 0 and too large ones the largest.
uint16_t toF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = uint16_t((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  constexpr uint32_t smallest = 113u << 23, largest = 0x477FE000;
  if (magnitude < smallest)
    return sign;
  magnitude = std::min(magnitude, largest);
  magnitude += 0xFFF + ((magnitude >> 13) & 1) - (112u << 23);
  return uint16_t(sign | (magnitude >> 13));
}

} // namespace

size_t weft::rt::getRandomOffset(uint64_t seed) {
  constexpr size_t step = 4096;
  return mix(seed + 0x9E3779B97F4A7C15) % (randomBlockBytes / step) * step;
}

void weft::rt::makeRandomBlock(std::span<std::byte> block, DType dtype,
                               double deviation) {
  // A sum of four numbers in [0, 65536) has a deviation of 65536 / sqrt(3).
  const auto scale = float(deviation * std::sqrt(3.0) / 65536);
  const size_t size = getByteSize(dtype);
  for (size_t i = 0; i < block.size() / size; ++i) {
    const uint64_t bits = mix((i + 1) * 0x9E3779B97F4A7C15);
    const int sum = int(bits & 0xFFFF) + int(bits >> 16 & 0xFFFF) +
                    int(bits >> 32 & 0xFFFF) + int(bits >> 48) - 2 * 65535;
    const float value = float(sum) * scale;
    std::byte *at = block.data() + i * size;
    if (dtype == DType::F32) {
      std::memcpy(at, &value, sizeof(value));
      continue;
    }
    const uint16_t half = dtype == DType::BF16 ? toBf16(value) : toF16(value);
    std::memcpy(at, &half, sizeof(half));
  }
}

void weft::rt::fillRandom(std::span<std::byte> tensor, DType dtype,
                          const GeneratedValues &values) {
  std::vector<std::byte> block(randomBlockBytes);
  makeRandomBlock(block, dtype, values.deviation);
  size_t from = getRandomOffset(values.seed);
  while (!tensor.empty()) {
    const size_t size = std::min(tensor.size(), block.size() - from);
    std::memcpy(tensor.data(), block.data() + from, size);
    tensor = tensor.subspan(size);
    from = 0;
  }
}
