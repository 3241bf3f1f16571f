//===- ObjectLoader.cpp - Loads one relocatable object into memory --------===//
//
// Memory, from low to high addresses, each part on pages of its own:
//   text sections, stubs      read and execute
//   constants, address table  read
//   data and zeros            read and write
// A stub is a jump through a following address, so that code can call functions
// that are more than 2 GiB away. The address table serves GOTPCREL relocations.
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cpu/ObjectLoader.h"
#include "runtime/Device/Cpu/ElfObject.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

using namespace weft::rt;

namespace {

/// Keeps every distance inside an image well within the 2 GiB of a 32-bit
/// displacement.
constexpr uint64_t maxImageBytes = uint64_t{1} << 28;

constexpr uint64_t slotBytes = 8;
constexpr uint64_t stubBytes = 16;
/// jmp *2(%rip); two bytes of filling; the address.
constexpr std::array<uint8_t, stubBytes - slotBytes> stubCode = {
    0xFF, 0x25, 0x02, 0x00, 0x00, 0x00, 0xCC, 0xCC};

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool usesAddressTable(uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
         type == R_X86_64_REX_GOTPCRELX;
}

class Image final : public LoadedObject {
public:
  ~Image() override {
    if (base)
      munmap(base, size);
  }

  void *find(std::string_view name) const override {
    auto it = names.find(std::string(name));
    return it == names.end() ? nullptr : it->second;
  }

  Status build(const ElfObject &object,
               std::span<const ExternalSymbol> externals) {
    if (Status status = resolveExternals(object, externals); !status)
      return status;
    if (Status status = place(object); !status)
      return status;
    void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return Status::outOfMemory(
          "cannot allocate " + std::to_string(size) +
          " bytes for machine code: " + std::strerror(errno));
    base = static_cast<uint8_t *>(mapped);
    for (size_t i = 0; i < object.sections.size(); ++i)
      if (object.sections[i].segment != Segment::None)
        std::ranges::copy(object.sections[i].bytes, base + offsets[i]);
    fillTables(object);
    for (const ObjectRelocation &relocation : object.relocations)
      if (Status status = relocate(object, relocation); !status)
        return status;
    if (Status status = collectNames(object); !status)
      return status;
    return protect();
  }

private:
  /// Gives the address of each undefined symbol that is used, and decides which
  /// symbols need a stub or an entry of the address table.
  Status resolveExternals(const ElfObject &object,
                          std::span<const ExternalSymbol> externals) {
    for (const ObjectRelocation &relocation : object.relocations) {
      const uint32_t index = relocation.symbol;
      const ObjectSymbol &symbol = object.symbols[index];
      const bool isUndefined = !symbol.section;
      if (isUndefined && !external.contains(index)) {
        auto it =
            std::ranges::find(externals, symbol.name, &ExternalSymbol::name);
        if (it == externals.end())
          return Status::unsupported(
              "the object needs the function '" + std::string(symbol.name) +
              "', which the runtime does not offer to kernels");
        external[index] = reinterpret_cast<uintptr_t>(it->address);
      }
      if (usesAddressTable(relocation.type))
        slots.try_emplace(index, slots.size());
      else if (isUndefined && relocation.type != R_X86_64_64)
        stubs.try_emplace(index, stubs.size());
    }
    return Status::ok();
  }

  /// Puts the sections of a segment, in order, at `end`.
  Status placeSegment(const ElfObject &object, Segment segment, uint64_t &end) {
    for (size_t i = 0; i < object.sections.size(); ++i) {
      const ObjectSection &section = object.sections[i];
      if (section.segment != segment)
        continue;
      offsets[i] = alignUp(end, section.alignment);
      if (section.size > maxImageBytes ||
          offsets[i] + section.size > maxImageBytes)
        return Status::unsupported(
            "the object needs more than " + std::to_string(maxImageBytes) +
            " bytes in memory, at section '" + std::string(section.name) + "'");
      end = offsets[i] + section.size;
    }
    return Status::ok();
  }

  Status place(const ElfObject &object) {
    const uint64_t page = sysconf(_SC_PAGESIZE);
    offsets.resize(object.sections.size());
    uint64_t end = 0;
    if (Status status = placeSegment(object, Segment::Text, end); !status)
      return status;
    stubOffset = alignUp(end, stubBytes);
    end = textEnd = alignUp(stubOffset + stubs.size() * stubBytes, page);
    if (Status status = placeSegment(object, Segment::Constant, end); !status)
      return status;
    slotOffset = alignUp(end, slotBytes);
    end = constantEnd = alignUp(slotOffset + slots.size() * slotBytes, page);
    if (Status status = placeSegment(object, Segment::Data, end); !status)
      return status;
    size = std::max(alignUp(end, page), page);
    return Status::ok();
  }

  uint64_t getAddress(uint64_t offset) const {
    return reinterpret_cast<uintptr_t>(base) + offset;
  }

  uint64_t getSymbolAddress(const ElfObject &object, uint32_t index) const {
    const ObjectSymbol &symbol = object.symbols[index];
    return symbol.section ? getAddress(offsets[symbol.section] + symbol.value)
                          : external.at(index);
  }

  void store(uint64_t offset, uint64_t value, size_t width) {
    std::memcpy(base + offset, &value, width);
  }

  void fillTables(const ElfObject &object) {
    for (auto [symbol, position] : stubs) {
      const uint64_t at = stubOffset + position * stubBytes;
      std::ranges::copy(stubCode, base + at);
      store(at + stubCode.size(), external.at(symbol), slotBytes);
    }
    for (auto [symbol, position] : slots)
      store(slotOffset + position * slotBytes, getSymbolAddress(object, symbol),
            slotBytes);
  }

  Status relocate(const ElfObject &object, const ObjectRelocation &relocation) {
    const uint64_t at = offsets[relocation.section] + relocation.offset;
    const auto addend = static_cast<uint64_t>(relocation.addend);
    if (relocation.type == R_X86_64_64) {
      store(at, getSymbolAddress(object, relocation.symbol) + addend, 8);
      return Status::ok();
    }
    uint64_t target;
    if (usesAddressTable(relocation.type))
      target = getAddress(slotOffset + slots.at(relocation.symbol) * slotBytes);
    else if (auto stub = stubs.find(relocation.symbol); stub != stubs.end())
      target = getAddress(stubOffset + stub->second * stubBytes);
    else
      target = getSymbolAddress(object, relocation.symbol);
    const auto distance =
        static_cast<int64_t>(target + addend - getAddress(at));
    if (distance < std::numeric_limits<int32_t>::min() ||
        distance > std::numeric_limits<int32_t>::max())
      return Status::corrupt(
          "the object has a relocation at offset " +
          std::to_string(relocation.offset) + " of '" +
          std::string(object.sections[relocation.section].name) +
          "' whose target is more than 2 GiB away");
    store(at, distance, 4);
    return Status::ok();
  }

  Status collectNames(const ElfObject &object) {
    for (uint32_t i = 0; i < object.symbols.size(); ++i) {
      const ObjectSymbol &symbol = object.symbols[i];
      if (!symbol.isGlobal || !symbol.section)
        continue;
      void *address = base + offsets[symbol.section] + symbol.value;
      if (!names.emplace(symbol.name, address).second)
        return Status::corrupt("the object defines the symbol '" +
                               std::string(symbol.name) + "' twice");
    }
    return Status::ok();
  }

  Status protect() {
    // A length of 0 is fine: nothing is changed.
    if (mprotect(base, textEnd, PROT_READ | PROT_EXEC) ||
        mprotect(base + textEnd, constantEnd - textEnd, PROT_READ))
      return Status::unsupported(
          std::string("the operating system does not let this process make "
                      "memory executable: ") +
          std::strerror(errno));
    return Status::ok();
  }

  uint8_t *base = nullptr;
  uint64_t size = 0;
  uint64_t textEnd = 0, constantEnd = 0;
  uint64_t stubOffset = 0, slotOffset = 0;
  std::vector<uint64_t> offsets; ///< Of each loaded section from `base`.
  std::map<uint32_t, uint64_t> external; ///< Addresses of undefined symbols.
  std::map<uint32_t, uint64_t> stubs, slots; ///< Symbol to position.
  std::unordered_map<std::string, void *> names;
};

} // namespace

std::span<const ExternalSymbol> weft::rt::getMemorySymbols() {
  static const ExternalSymbol symbols[] = {
      {"memcpy", reinterpret_cast<void *>(&memcpy)},
      {"memmove", reinterpret_cast<void *>(&memmove)},
      {"memset", reinterpret_cast<void *>(&memset)},
  };
  return symbols;
}

Result<std::unique_ptr<LoadedObject>>
LoadedObject::load(std::span<const uint8_t> bytes,
                   std::span<const ExternalSymbol> externals) {
  Result<ElfObject> object = ElfObject::parse(bytes);
  if (!object)
    return object.getStatus();
  auto image = std::make_unique<Image>();
  if (Status status = image->build(*object, externals); !status)
    return status;
  return std::unique_ptr<LoadedObject>(std::move(image));
}
