//===- KernelCache.h - Compiled CUDA kernels on disk ------------*- C++ -*-===//
//
// A folder of files named by a hash of everything that decides what NVRTC
// makes: source, options, version, architecture. An entry holds the cubin, the
// log and, if it was asked for, the PTX, behind a checksum; one that is damaged
// is as good as none. Files appear whole or not at all, so that processes may
// share a folder. The least recently used entries are removed when the folder
// grows beyond `maxBytes`; it may be deleted at any time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_NVRTC_KERNELCACHE_H
#define WEFT_RUNTIME_NVRTC_KERNELCACHE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

/// What is kept of a kernel.
struct CacheEntry {
  std::vector<uint8_t> cubin;
  std::string log, ptx;

  bool operator==(const CacheEntry &) const = default;
};

/// The bytes of an entry's file, and back; `key` is the entry's name. Nothing
/// if the bytes are not those of an entry of that key, undamaged.
std::vector<uint8_t> encodeCacheEntry(std::string_view key,
                                      const CacheEntry &entry);
std::optional<CacheEntry> decodeCacheEntry(std::string_view key,
                                           std::span<const uint8_t> bytes);

/// Threading: all functions may be called from several threads and processes.
class KernelCache {
public:
  static constexpr uint64_t maxBytes = uint64_t(2) << 30;

  /// A cache in `folder`, which is created when something is stored. An empty
  /// name is a cache that keeps nothing.
  explicit KernelCache(std::string folder) : folder(std::move(folder)) {}

  /// $XDG_CACHE_HOME/weft/kernels, or ~/.cache/weft/kernels; empty if there is
  /// no home. Source: XDG Base Directory Specification.
  static std::string getDefaultFolder();

  /// The name of what these inputs make: 32 hexadecimal digits, two XXH64.
  static std::string makeKey(std::string_view source,
                             std::span<const std::string> arguments,
                             std::string_view nvrtcVersion);

  /// The entry, or nothing. With `needPtx` one without PTX does not count.
  std::optional<CacheEntry> find(std::string_view key, bool needPtx) const;

  /// Keeps an entry. A folder that cannot be written to only costs time: gives
  /// the reason, or nothing.
  std::optional<std::string> store(std::string_view key,
                                   const CacheEntry &entry) const;

  /// Removes the entries that were not used longest until at most `most` bytes
  /// are left.
  void prune(uint64_t most = maxBytes) const;

private:
  std::string getPath(std::string_view key) const;

  std::string folder;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_NVRTC_KERNELCACHE_H
