//===- CubinCache.h - Code that was compiled on this machine --------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUBINCACHE_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUBINCACHE_H

#include "runtime/Format/Bytes.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::rt::cuda {

/// A folder of files named after the content they were made from. Nothing that
/// goes wrong in it is an error: the code is then compiled again. Files appear
/// whole (they are renamed into place), so processes may share a folder, and
/// each carries its key and a checksum. It can be deleted at any time.
///
/// Threading: all methods may be called from any thread.
class CubinCache {
public:
  /// Two XXH64 of source, options and compiler.
  struct Key {
    uint64_t first = 0, second = 0;
  };

  static Key makeKey(const std::string &source,
                     std::span<const std::string> options,
                     const std::string &compilerVersion);

  /// Empty: keeps nothing.
  explicit CubinCache(std::string folder) : folder(std::move(folder)) {}

  std::optional<Bytes> find(const Key &key) const;
  void store(const Key &key, std::span<const uint8_t> cubin) const;

private:
  std::string getPath(const Key &key) const;

  std::string folder;
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUBINCACHE_H
