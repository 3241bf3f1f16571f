//===- KernelCache.cpp - Compiled CUDA kernels on disk --------------------===//

#include "runtime/Nvrtc/KernelCache.h"

#include "runtime/Format/Hash.h"
#include "runtime/Format/MappedFile.h"
#include "runtime/Format/OutputFile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace weft::rt;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

namespace {

constexpr std::string_view filePrefix = "kernel-";

/// What a file starts with, little-endian like the artifact; cubin, log and PTX
/// follow.
struct Header {
  /// Changes whenever the layout or what decides a kernel does.
  std::array<char, 8> magic = {'W', 'E', 'F', 'T', 'K', 'R', 'N', '2'};
  uint64_t hash = 0; ///< XXH64 of the key and everything behind this field.
  uint64_t cubinBytes = 0, logBytes = 0, ptxBytes = 0;
};
static_assert(sizeof(Header) == 40);
constexpr size_t hashedFrom = 16;

template <typename Range> std::span<const std::byte> asBytes(const Range &r) {
  return std::as_bytes(std::span(r.data(), r.size()));
}

/// Of the key too, so that a file under a wrong name does not pass.
uint64_t hashEntry(std::string_view key, std::span<const uint8_t> bytes) {
  Xxh64 hash;
  hash.update(asBytes(key));
  hash.update(asBytes(bytes.subspan(hashedFrom)));
  return hash.digest();
}

} // namespace

std::vector<uint8_t> weft::rt::encodeCacheEntry(std::string_view key,
                                                const CacheEntry &entry) {
  Header header;
  header.cubinBytes = entry.cubin.size();
  header.logBytes = entry.log.size();
  header.ptxBytes = entry.ptx.size();
  std::vector<uint8_t> bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes.insert(bytes.end(), entry.cubin.begin(), entry.cubin.end());
  bytes.insert(bytes.end(), entry.log.begin(), entry.log.end());
  bytes.insert(bytes.end(), entry.ptx.begin(), entry.ptx.end());
  header.hash = hashEntry(key, bytes);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::optional<CacheEntry>
weft::rt::decodeCacheEntry(std::string_view key,
                           std::span<const uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != Header().magic || header.hash != hashEntry(key, bytes))
    return std::nullopt;
  bytes = bytes.subspan(sizeof(header));
  auto take = [&](uint64_t size) -> std::optional<std::span<const uint8_t>> {
    if (size > bytes.size())
      return std::nullopt;
    std::span<const uint8_t> part = bytes.first(size);
    bytes = bytes.subspan(size);
    return part;
  };
  auto cubin = take(header.cubinBytes), log = take(header.logBytes),
       ptx = take(header.ptxBytes);
  if (!cubin || !log || !ptx || !bytes.empty() || cubin->empty())
    return std::nullopt;
  return CacheEntry{{cubin->begin(), cubin->end()},
                    {log->begin(), log->end()},
                    {ptx->begin(), ptx->end()}};
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::string KernelCache::getDefaultFolder() {
  // The specification has paths that are not absolute ignored.
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/')
    return (fs::path(cache) / "weft" / "kernels").string();
  const char *home = std::getenv("HOME");
  if (home && *home == '/')
    return (fs::path(home) / ".cache" / "weft" / "kernels").string();
  return "";
}

std::string KernelCache::makeKey(std::string_view source,
                                 std::span<const std::string> arguments,
                                 std::string_view nvrtcVersion) {
  // Sizes first, so that no two lists run together to the same bytes.
  std::string text;
  auto add = [&](std::string_view part) {
    text += std::to_string(part.size()) + " ";
    text += part;
  };
  add(nvrtcVersion);
  add(source);
  for (const std::string &argument : arguments)
    add(argument);
  char key[33];
  std::snprintf(key, sizeof(key), "%016llx%016llx",
                static_cast<unsigned long long>(xxh64(asBytes(text))),
                static_cast<unsigned long long>(xxh64(asBytes("w" + text))));
  return key;
}

std::string KernelCache::getPath(std::string_view key) const {
  return (fs::path(folder) / (std::string(filePrefix) + std::string(key)))
      .string();
}

std::optional<CacheEntry> KernelCache::find(std::string_view key,
                                            bool needPtx) const {
  if (folder.empty())
    return std::nullopt;
  std::string path = getPath(key);
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return std::nullopt;
  std::span<const std::byte> bytes = file->getBytes();
  std::optional<CacheEntry> entry = decodeCacheEntry(
      key, {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (entry && needPtx && entry->ptx.empty())
    return std::nullopt;
  // What pruning goes by; a folder that cannot be written to is not pruned.
  std::error_code ignored;
  if (entry)
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return entry;
}

std::optional<std::string> KernelCache::store(std::string_view key,
                                              const CacheEntry &entry) const {
  if (folder.empty())
    return std::nullopt;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return "cannot create '" + folder + "': " + error.message();
  std::vector<uint8_t> bytes = encodeCacheEntry(key, entry);
  Result<OutputFile> file = OutputFile::create(getPath(key), bytes.size());
  if (!file)
    return file.getStatus().getMessage();
  Status status = file->write(0, asBytes(bytes));
  if (status)
    status = file->commit();
  return status ? std::nullopt : std::optional(status.getMessage());
}

void KernelCache::prune(uint64_t most) const {
  if (folder.empty())
    return;
  struct File {
    fs::file_time_type used;
    fs::path path;
    uint64_t bytes;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with(filePrefix))
      continue;
    // Another process may have removed it.
    std::error_code sizeError, timeError;
    uint64_t bytes = it->file_size(sizeError);
    fs::file_time_type used = it->last_write_time(timeError);
    if (sizeError || timeError)
      continue;
    files.push_back({used, it->path(), bytes});
    total += bytes;
  }
  if (total <= most)
    return;
  std::ranges::sort(files, {}, &File::used);
  for (const File &file : files) {
    if (total <= most)
      return;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    total -= file.bytes;
  }
}
