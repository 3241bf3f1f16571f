//===- CubinCache.cpp -----------------------------------------------------===//

#include "runtime/Device/Cuda/CubinCache.h"

#include "runtime/Format/Hash.h"
#include "runtime/Format/MappedFile.h"
#include "runtime/Format/OutputFile.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace {

/// What a file starts with; the cubin follows.
struct Header {
  std::array<char, 8> magic = {'W', 'E', 'F', 'T', 'C', 'B', 'N', '1'};
  uint64_t first = 0, second = 0; ///< The key.
  uint64_t size = 0, hash = 0;    ///< Of the cubin.
  std::array<uint64_t, 3> padding = {};
};
static_assert(sizeof(Header) == 64);

} // namespace

CubinCache::Key CubinCache::makeKey(const std::string &source,
                                    std::span<const std::string> options,
                                    const std::string &compilerVersion) {
  // Each part with its length, so that none can be taken for another.
  std::string text = compilerVersion + "\n" + std::to_string(options.size());
  for (const std::string &option : options)
    text += "\n" + std::to_string(option.size()) + " " + option;
  text += "\n" + source;
  Key key;
  auto hash = [](const std::string &bytes) {
    return xxh64(std::as_bytes(std::span(bytes)));
  };
  key.first = hash(text);
  key.second = hash("weft" + text);
  return key;
}

std::string CubinCache::getPath(const Key &key) const {
  char name[40];
  std::snprintf(name, sizeof(name), "%016llx%016llx.cubin",
                static_cast<unsigned long long>(key.first),
                static_cast<unsigned long long>(key.second));
  return folder + "/" + name;
}

std::optional<Bytes> CubinCache::find(const Key &key) const {
  if (folder.empty())
    return std::nullopt;
  Result<MappedFile> opened = MappedFile::open(getPath(key));
  if (!opened)
    return std::nullopt;
  const std::span<const std::byte> file = opened->getBytes();
  Header header;
  if (file.size() < sizeof(header))
    return std::nullopt;
  const Header expected;
  std::memcpy(&header, file.data(), sizeof(header));
  const std::span<const std::byte> cubin = file.subspan(sizeof(header));
  if (header.magic != expected.magic || header.first != key.first ||
      header.second != key.second || header.size != cubin.size() ||
      header.hash != xxh64(cubin))
    return std::nullopt;
  const auto *begin = reinterpret_cast<const uint8_t *>(cubin.data());
  return Bytes(std::vector<uint8_t>(begin, begin + cubin.size()));
}

void CubinCache::store(const Key &key, std::span<const uint8_t> cubin) const {
  if (folder.empty())
    return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Header header;
  header.first = key.first;
  header.second = key.second;
  header.size = cubin.size();
  header.hash = xxh64(std::as_bytes(cubin));
  Result<OutputFile> file =
      OutputFile::create(getPath(key), sizeof(header) + cubin.size());
  if (file && file->write(0, std::as_bytes(std::span(&header, 1))) &&
      file->write(sizeof(header), std::as_bytes(cubin)))
    (void)file->commit();
}
