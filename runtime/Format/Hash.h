//===- Hash.h - XXH64
//------------------------------------------------------===//
//
// The 64-bit xxHash of the artifact's checksums, as specified in
// "xxHash fast digest algorithm", revision 0.1.1 (Y. Collet). It finds damage;
// it is no protection against somebody who wants to deceive.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_HASH_H
#define WEFT_RUNTIME_FORMAT_HASH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::rt {

/// XXH64 with seed 0 of bytes that arrive in pieces.
class Xxh64 {
public:
  Xxh64();

  void update(std::span<const std::byte> bytes);
  /// The hash of everything so far; more may follow.
  uint64_t digest() const;

private:
  std::array<uint64_t, 4> lanes;
  std::array<std::byte, 32> pending = {};
  uint64_t total = 0;
};

uint64_t xxh64(std::span<const std::byte> bytes);

/// XXH64 of the first and the last MiB, one after the other; of everything if
/// there are at most two. For files that are too large to be read when opened.
uint64_t xxh64OfEnds(std::span<const std::byte> bytes);

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_HASH_H
