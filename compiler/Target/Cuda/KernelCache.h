//===- KernelCache.h - Compiled CUDA kernels on disk ------------*- C++ -*-===//
//
// A folder of files named by a hash of everything that decides what NVRTC
// makes: source, options, version, architecture. An entry holds the cubin, the
// log and, if it was asked for, the PTX, behind a SHA-256 of its content; one
// that is damaged is as good as none. Files appear whole or not at all, so that
// processes may share a folder. The least recently used entries are removed
// when the folder grows beyond `maxBytes`; it may be deleted at any time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_TARGET_CUDA_KERNELCACHE_H
#define WEFT_COMPILER_TARGET_CUDA_KERNELCACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// What is kept of a kernel.
struct CacheEntry {
  std::vector<uint8_t> cubin;
  std::string log, ptx;

  bool operator==(const CacheEntry &) const = default;
};

/// The bytes of an entry's file, and back; `key` is the entry's name. Nothing
/// if the bytes are not those of an entry of that key, undamaged.
std::vector<uint8_t> encodeCacheEntry(llvm::StringRef key,
                                      const CacheEntry &entry);
std::optional<CacheEntry> decodeCacheEntry(llvm::StringRef key,
                                           llvm::ArrayRef<uint8_t> bytes);

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

  /// The name of what these inputs make: 64 hexadecimal digits.
  static std::string makeKey(llvm::StringRef source,
                             llvm::ArrayRef<std::string> arguments,
                             llvm::StringRef nvrtcVersion);

  /// The entry, or nothing. With `needPtx` one without PTX does not count.
  std::optional<CacheEntry> find(llvm::StringRef key, bool needPtx) const;

  /// Keeps an entry. A folder that cannot be written to only costs time: gives
  /// the reason, or nothing.
  std::optional<std::string> store(llvm::StringRef key,
                                   const CacheEntry &entry) const;

  /// Removes what is too much. Looks at the folder at most every 20 minutes.
  void prune() const;

private:
  std::string getPath(llvm::StringRef key) const;

  std::string folder;
};

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_KERNELCACHE_H
