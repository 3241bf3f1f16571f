//===- ObjectLoaderTest.cpp - Objects are loaded right or refused ---------===//

#include "runtime/Device/Cpu/ObjectLoader.h"
#include "runtime/Device/Cpu/HostFeatures.h"

#include <gmock/gmock.h>

#include <cstring>
#include <elf.h>
#include <fstream>
#include <functional>
#include <random>

using namespace weft::rt;
using testing::HasSubstr;

namespace {

using Object = std::vector<uint8_t>;

Object readObject() {
  std::ifstream in(KERNEL_OBJECT, std::ios::binary);
  return Object((std::istreambuf_iterator<char>(in)), {});
}

template <typename Function>
Function *get(const LoadedObject &object, const char *name) {
  void *address = object.find(name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<Function *>(address);
}

class LoadedKernels : public testing::Test {
protected:
  void SetUp() override {
    auto result = LoadedObject::load(readObject());
    ASSERT_TRUE(result) << result.getStatus().getMessage();
    object = result.take();
  }

  std::unique_ptr<LoadedObject> object;
};

TEST_F(LoadedKernels, Constants) {
  auto *digit = get<int(int)>(*object, "digit");
  EXPECT_EQ(digit(0), 3);
  EXPECT_EQ(digit(5), 9);
  EXPECT_EQ(digit(15), 3);
  EXPECT_EQ(get<double(double)>(*object, "line")(2), 9.0);
}

TEST_F(LoadedKernels, PointersInConstants) {
  auto *name = get<const char *(int)>(*object, "name");
  EXPECT_STREQ(name(0), "warp");
  EXPECT_STREQ(name(2), "selvage");
  auto *names = static_cast<const char **>(object->find("names"));
  EXPECT_STREQ(names[1], "weft");
}

TEST_F(LoadedKernels, JumpTableAndVariables) {
  auto *choose = get<int(int)>(*object, "choose");
  EXPECT_EQ(choose(0), 3);
  EXPECT_EQ(choose(1), 77);
  EXPECT_EQ(choose(2), 5);
  EXPECT_EQ(choose(3), 1);
  EXPECT_EQ(choose(4), -10);
  EXPECT_EQ(choose(5), 2);
  EXPECT_EQ(choose(6), 36);
  EXPECT_EQ(choose(7), -1);
  EXPECT_EQ(*static_cast<int *>(object->find("counter")), 2);
  auto *count = get<int()>(*object, "count");
  EXPECT_EQ(count(), 7);
  EXPECT_EQ(count(), 8);
}

TEST_F(LoadedKernels, MemoryFunctions) {
  std::string text = "0123456789";
  get<void(char *, const char *, long)>(*object, "move")(&text[2], &text[0], 5);
  EXPECT_EQ(text, "0101234789");
  get<void(char *, long)>(*object, "clear")(&text[1], 8);
  EXPECT_EQ(text, std::string("0\0\0\0\0\0\0\0\0"
                              "9",
                              10));
  using Copy = void *(void *, const void *, unsigned long);
  get<Copy *()>(*object, "getCopy")()(&text[3], "abc", 3);
  EXPECT_EQ(text.substr(3, 3), "abc");
}

TEST_F(LoadedKernels, VectorConstants) {
  const std::string needed[] = {"avx512f"};
  if (!hasAllFeatures(needed))
    GTEST_SKIP() << "this processor has no AVX-512";
  float values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = 100 * i;
  get<void(float *)>(*object, "addRamp")(values);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(values[i], 201.0f * i);
}

TEST_F(LoadedKernels, UnknownNamesAreNull) {
  EXPECT_EQ(object->find("nothing"), nullptr);
  EXPECT_EQ(object->find(""), nullptr);
  EXPECT_EQ(object->find("digits"), nullptr) << "local symbols have no name";
  EXPECT_EQ(object->find("memset"), nullptr) << "it is not the object's";
}

/// The permissions of the page at an address: "r-xp".
std::string getPermissions(const void *address) {
  std::ifstream maps("/proc/self/maps");
  uint64_t begin, end;
  char dash;
  std::string permissions, rest;
  while (maps >> std::hex >> begin >> dash >> end >> permissions &&
         std::getline(maps, rest))
    if (begin <= reinterpret_cast<uintptr_t>(address) &&
        reinterpret_cast<uintptr_t>(address) < end)
      return permissions;
  return "none";
}

TEST_F(LoadedKernels, NothingIsWritableAndExecutable) {
  EXPECT_EQ(getPermissions(object->find("digit")), "r-xp");
  EXPECT_EQ(getPermissions(object->find("names")), "r--p");
  EXPECT_EQ(getPermissions(object->find("counter")), "rw-p");
}

TEST(ObjectLoader, UndefinedFunctionIsNamed) {
  auto result = LoadedObject::load(readObject(), getMemorySymbols().first(2));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(result.getStatus().getMessage(), HasSubstr("'memset'"));
}

TEST(ObjectLoader, EveryTruncationIsRefused) {
  const Object object = readObject();
  for (size_t size = 0; size < object.size(); ++size)
    EXPECT_FALSE(LoadedObject::load(std::span(object).first(size))) << size;
}

TEST(ObjectLoader, ChangedBytesAreLoadedOrRefused) {
  const Object original = readObject();
  for (size_t i = 0; i < original.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xFF}) {
      Object object = original;
      object[i] ^= flip;
      auto result = LoadedObject::load(object);
      if (!result) {
        EXPECT_FALSE(result.getStatus().getMessage().empty());
      }
    }
}

TEST(ObjectLoader, ManyChangedBytesAreLoadedOrRefused) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Object original = readObject();
  for (int round = 0; round < 3000; ++round) {
    Object object = original;
    for (int i = 0; i < 1 + round % 16; ++i)
      object[random() % object.size()] = random();
    (void)LoadedObject::load(object);
  }
}

/// Access to the tables of an object, to damage them on purpose.
struct Editor {
  Object bytes = readObject();

  template <typename T> T &at(uint64_t offset) {
    return *reinterpret_cast<T *>(bytes.data() + offset);
  }
  Elf64_Ehdr &header() { return at<Elf64_Ehdr>(0); }
  Elf64_Shdr &section(size_t index) {
    return at<Elf64_Shdr>(header().e_shoff + index * sizeof(Elf64_Shdr));
  }
  Elf64_Shdr &find(const std::string &name) {
    for (size_t i = 0; i < header().e_shnum; ++i) {
      const uint64_t names = section(header().e_shstrndx).sh_offset;
      if (name == &at<char>(names + section(i).sh_name))
        return section(i);
    }
    ADD_FAILURE() << "no section " << name;
    return section(0);
  }
  Elf64_Rela &textRelocation() {
    return at<Elf64_Rela>(find(".rela.text").sh_offset);
  }
  Elf64_Sym &symbol(const std::string &name) {
    Elf64_Shdr &table = find(".symtab");
    const uint64_t names = section(table.sh_link).sh_offset;
    for (uint64_t i = 0; i < table.sh_size; i += sizeof(Elf64_Sym))
      if (name == &at<char>(names + at<Elf64_Sym>(table.sh_offset + i).st_name))
        return at<Elf64_Sym>(table.sh_offset + i);
    ADD_FAILURE() << "no symbol " << name;
    return at<Elf64_Sym>(table.sh_offset);
  }
};

struct Hostile {
  const char *name;
  std::function<void(Editor &)> damage;
  StatusCode code;
  const char *message;
};

class HostileObject : public testing::TestWithParam<Hostile> {};

TEST_P(HostileObject, IsRefused) {
  Editor editor;
  GetParam().damage(editor);
  auto result = LoadedObject::load(editor.bytes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.getStatus().getCode(), GetParam().code)
      << result.getStatus().getMessage();
  EXPECT_THAT(result.getStatus().getMessage(), HasSubstr(GetParam().message));
}

constexpr StatusCode corrupt = StatusCode::Corrupt;
constexpr StatusCode unsupported = StatusCode::Unsupported;

INSTANTIATE_TEST_SUITE_P(
    ObjectLoader, HostileObject,
    testing::Values(
        Hostile{"Magic", [](Editor &e) { e.bytes[0] = 'X'; }, corrupt,
                "no ELF file"},
        Hostile{"Machine", [](Editor &e) { e.header().e_machine = EM_AARCH64; },
                unsupported, "machine 183"},
        Hostile{"SharedObject", [](Editor &e) { e.header().e_type = ET_DYN; },
                unsupported, "file type 3"},
        Hostile{"SectionTableOffset",
                [](Editor &e) { e.header().e_shoff = ~uint64_t{0} - 63; },
                corrupt, "section table"},
        Hostile{"SectionOffsetOverflow",
                [](Editor &e) { e.find(".text").sh_offset = ~uint64_t{0} - 8; },
                corrupt, "outside the file"},
        Hostile{"HugeBss",
                [](Editor &e) { e.find(".bss").sh_size = uint64_t{1} << 62; },
                unsupported, "bytes in memory"},
        Hostile{"Alignment",
                [](Editor &e) { e.find(".text").sh_addralign = 3; }, corrupt,
                "alignment 3"},
        Hostile{
            "HugeAlignment",
            [](Editor &e) { e.find(".text").sh_addralign = uint64_t{1} << 40; },
            corrupt, "alignment"},
        Hostile{"WritableText",
                [](Editor &e) { e.find(".text").sh_flags |= SHF_WRITE; },
                unsupported, "'.text'"},
        Hostile{"ThreadLocalData",
                [](Editor &e) { e.find(".data").sh_flags |= SHF_TLS; },
                unsupported, "'.data'"},
        Hostile{"Constructors",
                [](Editor &e) { e.find(".data").sh_type = SHT_INIT_ARRAY; },
                unsupported, "'.data'"},
        Hostile{"RelocationOutside",
                [](Editor &e) {
                  e.textRelocation().r_offset = e.find(".text").sh_size - 3;
                },
                corrupt, "outside its bytes"},
        Hostile{"RelocationOffsetOverflow",
                [](Editor &e) { e.textRelocation().r_offset = ~uint64_t{1}; },
                corrupt, "outside its bytes"},
        Hostile{"RelocationSymbol",
                [](Editor &e) {
                  e.textRelocation().r_info =
                      ELF64_R_INFO(100000, R_X86_64_PC32);
                },
                corrupt, "symbol 100000"},
        Hostile{"RelocationAgainstNothing",
                [](Editor &e) {
                  e.textRelocation().r_info = ELF64_R_INFO(0, R_X86_64_PC32);
                },
                corrupt, "no address"},
        Hostile{"Absolute32",
                [](Editor &e) {
                  auto &info = e.textRelocation().r_info;
                  info = ELF64_R_INFO(ELF64_R_SYM(info), R_X86_64_32S);
                },
                unsupported, "type 11"},
        Hostile{
            "FarTarget",
            [](Editor &e) { e.textRelocation().r_addend = int64_t{1} << 40; },
            corrupt, "2 GiB"},
        Hostile{"RelocationsOfBss",
                [](Editor &e) {
                  e.find(".data").sh_type = SHT_NOBITS;
                  e.find(".rela.text").sh_info =
                      &e.find(".data") - &e.section(0);
                },
                corrupt, "outside its bytes"},
        Hostile{"SymbolOutside",
                [](Editor &e) { e.symbol("digit").st_value = 1 << 20; },
                corrupt, "'digit' outside"},
        Hostile{"SymbolSection",
                [](Editor &e) { e.symbol("digit").st_shndx = 999; }, corrupt,
                "section 999"},
        Hostile{"CommonSymbol",
                [](Editor &e) { e.symbol("counter").st_shndx = SHN_COMMON; },
                unsupported, "'counter'"},
        Hostile{"SymbolNameOutside",
                [](Editor &e) { e.symbol("digit").st_name = 1u << 31; },
                corrupt, "outside its string table"},
        Hostile{"DoubleName",
                [](Editor &e) {
                  e.symbol("digit").st_name = e.symbol("choose").st_name;
                },
                corrupt, "'choose' twice"},
        Hostile{"StringTableIndex",
                [](Editor &e) { e.header().e_shstrndx = 60000; }, corrupt,
                "string table"},
        Hostile{"EntrySize",
                [](Editor &e) { e.find(".symtab").sh_entsize = 0; }, corrupt,
                "symbol table"}),
    [](const auto &info) { return info.param.name; });

} // namespace
