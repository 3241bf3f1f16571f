//===- KernelCache.cpp - Compiled CUDA kernels on disk --------------------===//

#include "compiler/Target/Cuda/KernelCache.h"

#include "runtime/Format/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <cstdlib>

using namespace llvm;
using namespace weft;

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Changes whenever the layout below or what decides a kernel does.
static constexpr StringRef formatName = "weft-kernel-1\n";
static constexpr size_t digestBytes = 32;
static constexpr size_t headerBytes =
    formatName.size() + digestBytes + 3 * sizeof(uint64_t);

/// Of the key too, so that a file under a wrong name does not pass.
static std::array<uint8_t, digestBytes> getDigest(StringRef key,
                                                  ArrayRef<uint8_t> content) {
  SHA256 hash;
  hash.update(key);
  hash.update(content);
  return hash.final();
}

// Name, digest of the rest, three sizes (little-endian), then the three parts.
std::vector<uint8_t> weft::encodeCacheEntry(StringRef key,
                                            const CacheEntry &entry) {
  std::vector<uint8_t> bytes(headerBytes);
  uint8_t *sizes = bytes.data() + formatName.size() + digestBytes;
  for (size_t size : {entry.cubin.size(), entry.log.size(), entry.ptx.size()}) {
    support::endian::write64le(sizes, size);
    sizes += sizeof(uint64_t);
  }
  append_range(bytes, entry.cubin);
  append_range(bytes, entry.log);
  append_range(bytes, entry.ptx);
  copy(formatName, bytes.begin());
  auto digest = getDigest(
      key, ArrayRef(bytes).drop_front(formatName.size() + digestBytes));
  copy(digest, bytes.begin() + formatName.size());
  return bytes;
}

std::optional<CacheEntry> weft::decodeCacheEntry(StringRef key,
                                                 ArrayRef<uint8_t> bytes) {
  if (bytes.size() < headerBytes ||
      toStringRef(bytes.take_front(formatName.size())) != formatName)
    return std::nullopt;
  bytes = bytes.drop_front(formatName.size());
  ArrayRef<uint8_t> digest = bytes.take_front(digestBytes);
  bytes = bytes.drop_front(digestBytes);
  if (digest != ArrayRef<uint8_t>(getDigest(key, bytes)))
    return std::nullopt;
  std::array<uint64_t, 3> sizes;
  for (uint64_t &size : sizes) {
    size = support::endian::read64le(bytes.data());
    bytes = bytes.drop_front(sizeof(uint64_t));
  }
  auto take = [&](uint64_t size) -> std::optional<ArrayRef<uint8_t>> {
    if (size > bytes.size())
      return std::nullopt;
    ArrayRef<uint8_t> part = bytes.take_front(size);
    bytes = bytes.drop_front(size);
    return part;
  };
  auto cubin = take(sizes[0]), log = take(sizes[1]), ptx = take(sizes[2]);
  if (!cubin || !log || !ptx || !bytes.empty() || cubin->empty())
    return std::nullopt;
  return CacheEntry{cubin->vec(), toStringRef(*log).str(),
                    toStringRef(*ptx).str()};
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::string KernelCache::getDefaultFolder() {
  SmallString<128> folder;
  // The specification has paths that are not absolute ignored.
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && sys::path::is_absolute(cache))
    sys::path::append(folder, cache);
  else if (home && sys::path::is_absolute(home))
    sys::path::append(folder, home, ".cache");
  else
    return "";
  sys::path::append(folder, "weft", "kernels");
  return folder.str().str();
}

std::string KernelCache::makeKey(StringRef source,
                                 ArrayRef<std::string> arguments,
                                 StringRef nvrtcVersion) {
  SHA256 hash;
  // Sizes first, so that no two lists run together to the same bytes.
  auto add = [&](StringRef text) {
    uint8_t size[sizeof(uint64_t)];
    support::endian::write64le(size, text.size());
    hash.update(ArrayRef(size));
    hash.update(text);
  };
  add(formatName);
  add(nvrtcVersion);
  add(source);
  for (const std::string &argument : arguments)
    add(argument);
  return toHex(hash.final(), /*LowerCase=*/true);
}

std::string KernelCache::getPath(StringRef key) const {
  // The prefix is what LLVM's pruning looks at.
  SmallString<128> path(folder);
  sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

std::optional<CacheEntry> KernelCache::find(StringRef key, bool needPtx) const {
  if (folder.empty())
    return std::nullopt;
  auto file = MemoryBuffer::getFile(getPath(key), /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  std::optional<CacheEntry> entry =
      decodeCacheEntry(key, arrayRefFromStringRef((*file)->getBuffer()));
  if (entry && needPtx && entry->ptx.empty())
    return std::nullopt;
  return entry;
}

std::optional<std::string> KernelCache::store(StringRef key,
                                              const CacheEntry &entry) const {
  if (folder.empty())
    return std::nullopt;
  if (std::error_code error = sys::fs::create_directories(folder))
    return "cannot create '" + folder + "': " + error.message();
  std::vector<uint8_t> bytes = encodeCacheEntry(key, entry);
  auto file = rt::OutputFile::create(getPath(key), bytes.size());
  if (!file)
    return file.getStatus().getMessage();
  for (rt::Status status :
       {file->write(0, std::as_bytes(std::span(bytes))), file->commit()})
    if (!status)
      return status.getMessage();
  return std::nullopt;
}

void KernelCache::prune() const {
  CachePruningPolicy policy;
  policy.MaxSizeBytes = maxBytes;
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 50;
  if (!folder.empty())
    pruneCache(folder, policy);
}
