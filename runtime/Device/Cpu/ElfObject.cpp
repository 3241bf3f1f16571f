//===- ElfObject.cpp - The validated tables of a relocatable object -------===//

#include "runtime/Device/Cpu/ElfObject.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

using namespace weft::rt;

namespace {

constexpr uint64_t maxAlignment = 4096;

Status corrupt(std::string what) {
  return Status::corrupt("the object " + std::move(what) + "; it is damaged");
}

Status unsupported(std::string what) {
  return Status::unsupported(
      "the object " + std::move(what) +
      "; expected an x86-64 object of the PIC relocation model and the small "
      "code model");
}

class Parser {
public:
  explicit Parser(std::span<const uint8_t> bytes) : bytes(bytes) {}

  Result<ElfObject> run() {
    for (auto step :
         {&Parser::readHeaders, &Parser::readNames, &Parser::readSections,
          &Parser::readSymbols, &Parser::readRelocations})
      if (Status status = (this->*step)(); !status)
        return status;
    return std::move(object);
  }

private:
  /// A copy, because nothing in the file has to be aligned.
  template <typename T> T get(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

  bool isInside(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }

  Status readHeaders() {
    if (bytes.size() < sizeof(Elf64_Ehdr) ||
        std::memcmp(bytes.data(), ELFMAG, SELFMAG))
      return corrupt("is no ELF file");
    const auto header = get<Elf64_Ehdr>(0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64 || header.e_type != ET_REL)
      return unsupported("has class " +
                         std::to_string(header.e_ident[EI_CLASS]) +
                         ", machine " + std::to_string(header.e_machine) +
                         " and file type " + std::to_string(header.e_type));
    if (header.e_shentsize != sizeof(Elf64_Shdr) || !header.e_shnum ||
        !isInside(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
      return corrupt("has a section table of " +
                     std::to_string(header.e_shnum) +
                     " entries that is not inside the file");
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      const auto section =
          get<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
          !isInside(section.sh_offset, section.sh_size))
        return corrupt("has section " + std::to_string(i) +
                       " outside the file");
      headers.push_back(section);
    }
    nameTable = header.e_shstrndx;
    return Status::ok();
  }

  std::span<const uint8_t> getContent(const Elf64_Shdr &section) const {
    return bytes.subspan(section.sh_offset, section.sh_size);
  }

  /// A string of a string table that ends inside it.
  Result<std::string_view> getString(uint32_t table, uint32_t offset) const {
    if (table >= headers.size() || headers[table].sh_type != SHT_STRTAB)
      return corrupt("names section " + std::to_string(table) +
                     " as a string table, which it is not");
    const std::span<const uint8_t> content = getContent(headers[table]);
    if (offset >= content.size())
      return corrupt("has a name outside its string table");
    const auto rest = content.subspan(offset);
    const auto end = std::ranges::find(rest, 0);
    if (end == rest.end())
      return corrupt("has a name without an end");
    return std::string_view(reinterpret_cast<const char *>(rest.data()),
                            end - rest.begin());
  }

  Status readNames() {
    for (const Elf64_Shdr &header : headers) {
      Result<std::string_view> name = getString(nameTable, header.sh_name);
      if (!name)
        return name.getStatus();
      object.sections.emplace_back().name = *name;
    }
    return Status::ok();
  }

  Status readSections() {
    for (size_t i = 1; i < headers.size(); ++i)
      if (Status status = readSection(headers[i], object.sections[i]); !status)
        return status;
    return Status::ok();
  }

  Status readSection(const Elf64_Shdr &header, ObjectSection &section) {
    // Unwind tables are for debuggers and exceptions; kernels have neither.
    if (!(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NOTE ||
        section.name == ".eh_frame")
      return Status::ok();
    const std::string name(section.name);
    constexpr uint64_t knownFlags = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR |
                                    SHF_MERGE | SHF_STRINGS | SHF_GROUP;
    const bool isText = header.sh_flags & SHF_EXECINSTR;
    const bool isWritable = header.sh_flags & SHF_WRITE;
    if ((header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS) ||
        header.sh_flags & ~knownFlags || (isText && isWritable))
      return unsupported("has the section '" + name + "' of type " +
                         std::to_string(header.sh_type) + " with flags " +
                         std::to_string(header.sh_flags));
    section.alignment = std::max<uint64_t>(header.sh_addralign, 1);
    if (!std::has_single_bit(section.alignment) ||
        section.alignment > maxAlignment)
      return corrupt("has the section '" + name + "' with the alignment " +
                     std::to_string(section.alignment));
    section.size = header.sh_size;
    if (header.sh_type == SHT_PROGBITS)
      section.bytes = getContent(header);
    section.segment = isText ? Segment::Text
                      : isWritable && !name.starts_with(".data.rel.ro")
                          ? Segment::Data
                          : Segment::Constant;
    return Status::ok();
  }

  Status readSymbols() {
    for (size_t i = 0; i < headers.size(); ++i) {
      if (headers[i].sh_type != SHT_SYMTAB)
        continue;
      if (symbolTable)
        return corrupt("has two symbol tables");
      symbolTable = i;
    }
    if (!symbolTable)
      return corrupt("has no symbol table");
    const Elf64_Shdr &table = headers[symbolTable];
    if (table.sh_entsize != sizeof(Elf64_Sym) ||
        table.sh_size % sizeof(Elf64_Sym))
      return corrupt("has a symbol table of a wrong size");
    for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym))
      if (Status status =
              readSymbol(get<Elf64_Sym>(table.sh_offset + at), table.sh_link);
          !status)
        return status;
    return Status::ok();
  }

  Status readSymbol(const Elf64_Sym &entry, uint32_t names) {
    Result<std::string_view> name = getString(names, entry.st_name);
    if (!name)
      return name.getStatus();
    ObjectSymbol &symbol = object.symbols.emplace_back();
    symbol.name = *name;
    symbol.isGlobal = ELF64_ST_BIND(entry.st_info) != STB_LOCAL;
    const int type = ELF64_ST_TYPE(entry.st_info);
    if (entry.st_shndx == SHN_UNDEF) {
      symbol.isUsable = symbol.isGlobal;
      return Status::ok();
    }
    if (entry.st_shndx == SHN_ABS || type == STT_FILE)
      return Status::ok();
    if (entry.st_shndx >= SHN_LORESERVE || type == STT_TLS ||
        type == STT_GNU_IFUNC || type == STT_COMMON)
      return unsupported("has the symbol '" + std::string(*name) +
                         "' of type " + std::to_string(type) + " in section " +
                         std::to_string(entry.st_shndx));
    if (entry.st_shndx >= object.sections.size())
      return corrupt("has the symbol '" + std::string(*name) + "' in section " +
                     std::to_string(entry.st_shndx) + ", which does not exist");
    const ObjectSection &section = object.sections[entry.st_shndx];
    if (section.segment == Segment::None)
      return Status::ok();
    if (entry.st_value > section.size)
      return corrupt("has the symbol '" + std::string(*name) +
                     "' outside its section");
    symbol.section = entry.st_shndx;
    symbol.value = entry.st_value;
    symbol.isUsable = true;
    return Status::ok();
  }

  Status readRelocations() {
    for (const Elf64_Shdr &header : headers) {
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL)
        continue;
      if (header.sh_info >= object.sections.size())
        return corrupt("has relocations for a section that does not exist");
      const ObjectSection &target = object.sections[header.sh_info];
      if (target.segment == Segment::None)
        continue;
      if (header.sh_type == SHT_REL)
        return unsupported("has relocations without addends");
      if (header.sh_link != symbolTable ||
          header.sh_entsize != sizeof(Elf64_Rela) ||
          header.sh_size % sizeof(Elf64_Rela))
        return corrupt("has a relocation table of a wrong size or link");
      for (uint64_t at = 0; at < header.sh_size; at += sizeof(Elf64_Rela))
        if (Status status = readRelocation(
                get<Elf64_Rela>(header.sh_offset + at), header.sh_info);
            !status)
          return status;
    }
    return Status::ok();
  }

  Status readRelocation(const Elf64_Rela &entry, uint32_t section) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    if (type == R_X86_64_NONE)
      return Status::ok();
    const std::string where = "at offset " + std::to_string(entry.r_offset) +
                              " of '" +
                              std::string(object.sections[section].name) + "'";
    const uint32_t width = getRelocationWidth(type);
    if (!width)
      return unsupported("has a relocation of type " + std::to_string(type) +
                         " " + where);
    const std::span<const uint8_t> content = object.sections[section].bytes;
    if (entry.r_offset > content.size() ||
        width > content.size() - entry.r_offset)
      return corrupt("has a relocation " + where + ", outside its bytes");
    const uint32_t symbol = ELF64_R_SYM(entry.r_info);
    if (symbol >= object.symbols.size() || !object.symbols[symbol].isUsable)
      return corrupt("has a relocation " + where + " against symbol " +
                     std::to_string(symbol) + ", which has no address");
    object.relocations.push_back(
        {section, entry.r_offset, type, symbol, entry.r_addend});
    return Status::ok();
  }

  std::span<const uint8_t> bytes;
  std::vector<Elf64_Shdr> headers;
  uint32_t nameTable = 0, symbolTable = 0;
  ElfObject object;
};

} // namespace

uint32_t weft::rt::getRelocationWidth(uint32_t type) {
  switch (type) {
  case R_X86_64_64:
    return 8;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    return 4;
  default:
    return 0;
  }
}

Result<ElfObject> ElfObject::parse(std::span<const uint8_t> object) {
  return Parser(object).run();
}
