//===- KernelCacheFuzzer.cpp - libFuzzer target for cache entries ---------===//

#include "compiler/Target/Cuda/KernelCache.h"

#include "llvm/Support/SHA256.h"

using namespace weft;

/// The input is the content of an entry, behind the name of the format; the
/// digest is made right, so that the sizes are reached.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t nameBytes = 14, digestBytes = 32;
  std::vector<uint8_t> bytes = encodeCacheEntry("key", {});
  bytes.resize(nameBytes + digestBytes);
  bytes.insert(bytes.end(), data, data + size);
  llvm::SHA256 hash;
  hash.update("key");
  hash.update(llvm::ArrayRef(data, size));
  llvm::copy(hash.final(), bytes.begin() + nameBytes);
  if (auto entry = decodeCacheEntry("key", bytes))
    if (encodeCacheEntry("key", *entry) != bytes)
      __builtin_trap();
  return 0;
}
