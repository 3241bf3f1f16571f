//===- Philox.h - Counter-based random numbers ----------------------------===//
//
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011). A draw is a pure function of (key, counter), so
// it is the same whatever else runs, on however many threads, in any order.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_PHILOX_H
#define WEFT_RUNTIME_LLM_PHILOX_H

#include <array>
#include <cstdint>

namespace weft::rt {

/// Four 32-bit words of randomness for one counter value.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t(0xD2511F53) * counter[0];
    uint64_t odd = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(odd >> 32) ^ counter[1] ^ key[0], uint32_t(odd),
               uint32_t(even >> 32) ^ counter[3] ^ key[1], uint32_t(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// A double in [0, 1) with 53 random bits for the token at `position` of
/// `request`. `position` is below 2^32 because a context is.
inline double uniformDraw(uint64_t seed, uint64_t request, uint32_t position) {
  std::array<uint32_t, 4> words =
      philox4x32({position, 0, uint32_t(request), uint32_t(request >> 32)},
                 {uint32_t(seed), uint32_t(seed >> 32)});
  uint64_t bits = (uint64_t(words[0]) << 32) | words[1];
  return double(bits >> 11) * 0x1p-53;
}

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_PHILOX_H
