//===- ElfObject.h - The validated tables of a relocatable object ---------===//
//
// Reads section headers, symbols and relocations of an ELF64 x86-64 object and
// checks every offset, size and index, so that ObjectLoader can use them
// freely.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CPU_ELFOBJECT_H
#define WEFT_RUNTIME_DEVICE_CPU_ELFOBJECT_H

#include "runtime/Format/Status.h"

#include <cstdint>
#include <elf.h>
#include <span>
#include <string_view>
#include <vector>

namespace weft::rt {

/// Where the bytes of a loaded section go; the values are the order in memory.
enum class Segment : uint8_t { None, Text, Constant, Data };

struct ObjectSection {
  std::string_view name;
  Segment segment = Segment::None; ///< None: not loaded.
  uint64_t size = 0;
  uint64_t alignment = 1;         ///< A power of two, at most 4096.
  std::span<const uint8_t> bytes; ///< `size` bytes; empty for zeros.
};

struct ObjectSymbol {
  std::string_view name;
  uint32_t section = 0; ///< Index of a loaded section; 0: undefined.
  uint64_t value = 0;   ///< Offset in the section, at most its size.
  bool isGlobal = false;
  /// Whether a relocation may use it: not for files, absolute values and
  /// symbols of sections that are not loaded.
  bool isUsable = false;
};

struct ObjectRelocation {
  uint32_t section = 0; ///< The section that is changed; loaded, not zeros.
  uint64_t offset = 0;  ///< In that section; the field lies inside.
  uint32_t type = 0;    ///< R_X86_64_*; one that getRelocationWidth knows.
  uint32_t symbol = 0;
  int64_t addend = 0;
};

/// Bytes that a relocation of the given type changes; 0 for unsupported types.
uint32_t getRelocationWidth(uint32_t type);

/// All names and bytes are views into the object.
struct ElfObject {
  std::vector<ObjectSection> sections;
  std::vector<ObjectSymbol> symbols;
  std::vector<ObjectRelocation> relocations;

  static Result<ElfObject> parse(std::span<const uint8_t> object);
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CPU_ELFOBJECT_H
