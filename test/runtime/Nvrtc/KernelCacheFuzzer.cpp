//===- KernelCacheFuzzer.cpp - libFuzzer target for cache entries ---------===//

#include "runtime/Nvrtc/KernelCache.h"

#include "runtime/Format/Hash.h"

#include <cstring>

using namespace weft::rt;

/// The input is the content of an entry, behind the magic and the hash, which
/// is made right, so that the sizes are reached.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t magicBytes = 8, hashBytes = 8;
  std::vector<uint8_t> bytes = encodeCacheEntry("key", {});
  bytes.resize(magicBytes + hashBytes);
  bytes.insert(bytes.end(), data, data + size);
  Xxh64 hash;
  hash.update(std::as_bytes(std::span("key", 3)));
  hash.update(std::as_bytes(std::span(data, size)));
  const uint64_t digest = hash.digest();
  std::memcpy(bytes.data() + magicBytes, &digest, hashBytes);
  if (auto entry = decodeCacheEntry("key", bytes))
    if (encodeCacheEntry("key", *entry) != bytes)
      __builtin_trap();
  return 0;
}
