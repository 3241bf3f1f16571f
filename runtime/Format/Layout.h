//===- Layout.h - The fixed part of an artifact's bytes -------------------===//
//
// Constants, prefix and section table of a .weft file; docs/artifact.md has the
// whole description.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_LAYOUT_H
#define WEFT_RUNTIME_FORMAT_LAYOUT_H

#include "runtime/Format/Hash.h"
#include "runtime/Format/Plan.h"

#include <array>
#include <cstring>

namespace weft::rt::layout {

using Tag = std::array<char, 4>;

constexpr Tag magic = {'W', 'E', 'F', 'T'};
/// A reader refuses a greater major version. A greater minor version only adds
/// optional sections.
constexpr uint16_t versionMajor = 2;
constexpr uint16_t versionMinor = 2;

constexpr size_t targetCapacity = 32;
constexpr uint32_t maxSections = 64;
constexpr uint64_t sectionAlignment = 64;
constexpr uint64_t pageSize = 4096;
constexpr uint64_t paramAlignment = 64;
/// Parameters from this size on start at a page.
constexpr uint64_t largeParamBytes = 64 * 1024;

constexpr uint64_t getParamAlignment(uint64_t bytes) {
  return bytes >= largeParamBytes ? pageSize : paramAlignment;
}

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The first 64 bytes of a file. All integers of a file are little-endian.
struct Prefix {
  Tag magic = layout::magic;
  uint16_t versionMajor = layout::versionMajor;
  uint16_t versionMinor = layout::versionMinor;
  uint32_t headerBytes = 0; ///< Prefix and section table.
  uint32_t sectionCount = 0;
  uint64_t fileBytes = 0;
  /// XXH64 of prefix and section table with this field as 0.
  uint64_t headerHash = 0;
  /// Plan::target, filled up with NUL.
  std::array<char, targetCapacity> target = {};
};
static_assert(sizeof(Prefix) == 64, "the prefix has no padding");

/// One entry of the section table, which follows the prefix.
struct SectionRow {
  Tag tag = {};
  uint32_t flags = 0; ///< Bit 0: a reader that does not know it must refuse.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t alignment = sectionAlignment;
  uint64_t hash = 0; ///< XXH64 of the bytes; 0 for DATA (see Param::hash).
  uint64_t reserved = 0;
};
static_assert(sizeof(SectionRow) == 48, "a section row has no padding");

constexpr uint32_t requiredFlag = 1;

/// XXH64 of a header (prefix and table) whose headerHash counts as 0.
inline uint64_t hashHeader(std::span<const std::byte> header) {
  Prefix prefix;
  std::memcpy(&prefix, header.data(), sizeof(prefix));
  prefix.headerHash = 0;
  Xxh64 hash;
  hash.update(std::as_bytes(std::span(&prefix, 1)));
  hash.update(header.subspan(sizeof(prefix)));
  return hash.digest();
}

} // namespace weft::rt::layout

#endif // WEFT_RUNTIME_FORMAT_LAYOUT_H
