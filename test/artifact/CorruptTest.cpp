//===- CorruptTest.cpp - Damaged artifacts are refused or harmless --------===//

#include "runtime/Format/Layout.h"
#include "runtime/Format/Reader.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>

using namespace weft::rt;
using namespace weft::rt::test;
using layout::Prefix;
using layout::SectionRow;
using testing::HasSubstr;

namespace {

const std::vector<std::byte> &getOriginal() {
  static const std::vector<std::byte> bytes = [] {
    TemporaryFolder folder;
    return readFile(writePlan(folder / "a.weft", makePlan()));
  }();
  return bytes;
}

/// Opens bytes; a plan that opens must be one that can be read and verified.
Status open(std::span<const std::byte> bytes) {
  AlignedBytes aligned(bytes);
  auto artifact = Artifact::openMemory(aligned.get());
  if (!artifact) {
    EXPECT_FALSE(artifact.getStatus().getMessage().empty());
    return artifact.getStatus();
  }
  readEverything(**artifact);
  return Status::ok();
}

uint64_t getSize(std::string_view tag) {
  AlignedBytes aligned(getOriginal());
  auto artifact = Artifact::openMemory(aligned.get());
  for (const SectionInfo &section : (*artifact)->getSections())
    if (section.tag == tag)
      return section.size;
  return 0;
}

TEST(Corrupt, OriginalOpens) { EXPECT_TRUE(open(getOriginal())); }

TEST(Corrupt, EveryFlippedByte) {
  AlignedBytes aligned(getOriginal());
  const std::span<std::byte> bytes = aligned.get();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0xFF};
    auto artifact = Artifact::openMemory(bytes);
    if (artifact)
      readEverything(**artifact);
    bytes[i] ^= std::byte{0xFF};
  }
}

/// As above, but as somebody does it who knows the checksums.
TEST(Corrupt, EveryFlippedByteWithRightChecksums) {
  size_t opened = 0;
  const size_t data = getOriginal().size() - getSize("DATA");
  for (size_t i = 0; i < data; ++i)
    for (int flip : {0x01, 0x80, 0xFF}) {
      AlignedBytes aligned(getOriginal());
      aligned.get()[i] ^= static_cast<std::byte>(flip);
      repairChecksums(aligned.get());
      auto artifact = Artifact::openMemory(aligned.get());
      if (!artifact)
        continue;
      readEverything(**artifact);
      ++opened;
    }
  EXPECT_GT(opened, 0u) << "names and padding may change";
}

TEST(Corrupt, ManyChangedBytesWithRightChecksums) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const size_t data = getOriginal().size() - getSize("DATA");
  for (int round = 0; round < 3000; ++round) {
    AlignedBytes aligned(getOriginal());
    for (int i = 0; i < 1 + round % 8; ++i)
      aligned.get()[random() % data] = static_cast<std::byte>(random());
    repairChecksums(aligned.get());
    auto artifact = Artifact::openMemory(aligned.get());
    if (artifact)
      readEverything(**artifact);
  }
}

TEST(Corrupt, EveryTruncation) {
  AlignedBytes aligned(getOriginal());
  for (size_t size = 0; size < aligned.get().size(); ++size) {
    auto artifact = Artifact::openMemory(aligned.get().first(size));
    ASSERT_FALSE(artifact) << size;
    EXPECT_EQ(artifact.getStatus().getCode(), StatusCode::Corrupt);
  }
}

/// Cut, with a header that agrees with the new size.
TEST(Corrupt, EveryTruncationWithRightHeader) {
  for (size_t size = sizeof(Prefix); size < getOriginal().size(); ++size) {
    AlignedBytes aligned{std::span(getOriginal()).first(size)};
    Prefix prefix;
    std::memcpy(&prefix, aligned.get().data(), sizeof(prefix));
    prefix.fileBytes = size;
    std::memcpy(aligned.get().data(), &prefix, sizeof(prefix));
    repairChecksums(aligned.get());
    ASSERT_FALSE(Artifact::openMemory(aligned.get())) << size;
  }
}

TEST(Corrupt, FileWithMoreBytesThanItSays) {
  auto bytes = getOriginal();
  bytes.push_back(std::byte{0});
  EXPECT_THAT(open(bytes).getMessage(), HasSubstr("its header says"));
}

TEST(Corrupt, MemoryMustBeAligned) {
  AlignedBytes aligned(getOriginal());
  EXPECT_EQ(
      Artifact::openMemory(aligned.get().subspan(1)).getStatus().getCode(),
      StatusCode::InvalidArgument);
}

TEST(Corrupt, FilesThatAreNoArtifacts) {
  TemporaryFolder folder;
  const auto write = [&](std::string_view text) {
    writeFile(folder / "x", std::as_bytes(std::span(text)));
    return Artifact::open(folder / "x").getStatus();
  };
  EXPECT_THAT(write("").getMessage(), HasSubstr("0 bytes"));
  EXPECT_THAT(write(std::string(100, 'G')).getMessage(),
              HasSubstr("starts with 'GGGG'"));
  EXPECT_EQ(Artifact::open(folder / "y").getStatus().getCode(),
            StatusCode::NotFound);
  EXPECT_EQ(Artifact::open(".").getStatus().getCode(), StatusCode::Io);
}

//===----------------------------------------------------------------------===//
// Tables made to deceive
//===----------------------------------------------------------------------===//

struct Editor {
  std::vector<std::byte> bytes = getOriginal();

  Prefix &prefix() { return *reinterpret_cast<Prefix *>(bytes.data()); }
  SectionRow &row(size_t index) {
    return *reinterpret_cast<SectionRow *>(bytes.data() + sizeof(Prefix) +
                                           index * sizeof(SectionRow));
  }
  SectionRow &find(std::string_view tag) {
    for (size_t i = 0; i < prefix().sectionCount; ++i)
      if (std::string_view(row(i).tag.data(), 4) == tag)
        return row(i);
    ADD_FAILURE() << "no section " << tag;
    return row(0);
  }
  template <typename T>
  void put(std::string_view tag, uint64_t offset, T value) {
    std::memcpy(bytes.data() + find(tag).offset + offset, &value, sizeof(T));
  }
};

struct Hostile {
  const char *name;
  std::function<void(Editor &)> damage;
  StatusCode code;
  const char *message;
};

class HostileArtifact : public testing::TestWithParam<Hostile> {};

TEST_P(HostileArtifact, IsRefused) {
  Editor editor;
  GetParam().damage(editor);
  repairChecksums(editor.bytes);
  Status status = open(editor.bytes);
  EXPECT_EQ(status.getCode(), GetParam().code) << status.getMessage();
  EXPECT_THAT(status.getMessage(), HasSubstr(GetParam().message));
}

constexpr StatusCode corrupt = StatusCode::Corrupt;
constexpr StatusCode unsupported = StatusCode::Unsupported;
constexpr uint64_t huge = uint64_t{1} << 62;

INSTANTIATE_TEST_SUITE_P(
    Corrupt, HostileArtifact,
    testing::Values(
        Hostile{"NewerVersion", [](Editor &e) { e.prefix().versionMajor = 3; },
                unsupported, "format version 3."},
        Hostile{"OlderVersion", [](Editor &e) { e.prefix().versionMajor = 1; },
                unsupported, "format version 1."},
        Hostile{"UnknownRequiredSection",
                [](Editor &e) {
                  SectionRow &row = e.find("DBUG");
                  row.tag = {'X', 'T', 'R', 'A'};
                  row.flags = layout::requiredFlag;
                },
                unsupported, "'XTRA'"},
        Hostile{"ManySections",
                [](Editor &e) { e.prefix().sectionCount = ~0u; }, corrupt,
                "sections"},
        Hostile{"HeaderSize", [](Editor &e) { e.prefix().headerBytes = 64; },
                corrupt, "cannot be"},
        Hostile{"SectionBeyondTheEnd",
                [](Editor &e) { e.find("CMDS").size = huge; }, corrupt,
                "section CMDS"},
        Hostile{"SectionOffsetOverflow",
                [](Editor &e) { e.find("CMDS").offset = ~uint64_t{63}; },
                corrupt, "section CMDS"},
        Hostile{"SectionInTheHeader",
                [](Editor &e) { e.find("CMDS").offset = 64; }, corrupt,
                "section CMDS"},
        Hostile{
            "SectionsOverlap",
            [](Editor &e) { e.find("SIGN").offset = e.find("META").offset; },
            corrupt, "overlap"},
        Hostile{"SectionTwice",
                [](Editor &e) { e.find("DBUG").tag = e.find("TOKN").tag; },
                corrupt, "two sections TOKN"},
        Hostile{"SectionMissing",
                [](Editor &e) {
                  SectionRow &row = e.find("CMDS");
                  row.tag = {'X', 'T', 'R', 'A'};
                  row.flags = 0;
                },
                corrupt, "section CMDS is missing"},
        Hostile{"SectionAlignment",
                [](Editor &e) { e.find("META").alignment = 3; }, corrupt,
                "alignment"},
        Hostile{"NoAlignment", [](Editor &e) { e.find("META").alignment = 0; },
                corrupt, "alignment"},
        Hostile{"DataNotOnAPage",
                [](Editor &e) {
                  SectionRow &row = e.find("DATA");
                  row.alignment = 64;
                  row.offset -= 64;
                },
                corrupt, "multiple of 4096"},
        Hostile{"DataTooSmall", [](Editor &e) { e.find("DATA").size = 100; },
                corrupt, "section DATA only 100"},
        Hostile{"DataMissing",
                [](Editor &e) {
                  e.find("DATA").flags = 0;
                  e.find("DATA").tag = {'X', 'T', 'R', 'A'};
                },
                corrupt, "section DATA only 0"},
        Hostile{"ManyParams", [](Editor &e) { e.put("PARM", 0, ~0u); }, corrupt,
                "a list of 4294967295 elements"},
        Hostile{"ManySymbols",
                [](Editor &e) {
                  e.put("SIGN", 0,
                        static_cast<uint32_t>(e.find("SIGN").size) - 5);
                },
                corrupt, "section SIGN"},
        Hostile{"LongName", [](Editor &e) { e.put("PARM", 4, ~0u); }, corrupt,
                "a field of 4294967295 bytes"},
        Hostile{"NameIsNotUtf8",
                [](Editor &e) { e.put("PARM", 8, uint8_t{0xFF}); }, corrupt,
                "UTF-8"},
        Hostile{"BytesLeftOver", [](Editor &e) { e.put("PARM", 0, 0u); },
                corrupt, "after its last field"},
        // The first parameter: count, "embed", type, shape [16, 8],
        // "row-major", file, offset.
        Hostile{"ParamType", [](Editor &e) { e.put("PARM", 13, uint8_t{99}); },
                corrupt, "unknown element type"},
        Hostile{"ParamShapeOverflow",
                [](Editor &e) { e.put("PARM", 18, int64_t{1} << 61); }, corrupt,
                "too large"},
        Hostile{"ParamFile", [](Editor &e) { e.put("PARM", 47, 1u); }, corrupt,
                "external file 1"},
        Hostile{"ParamOffset",
                [](Editor &e) { e.put("PARM", 51, ~uint64_t{63}); }, corrupt,
                "'embed'"},
        Hostile{"ParamSize", [](Editor &e) { e.put("PARM", 59, huge); },
                corrupt, "its shape and type f32 need 512"},
        Hostile{"CodeRange",
                [](Editor &e) { e.put("KERN", e.find("KERN").size - 8, huge); },
                corrupt, "outside section CODE"},
        Hostile{"MoreCodeThanRanges",
                [](Editor &e) {
                  // The list of ranges is last: 5 elements of 16 bytes.
                  e.put("KERN", e.find("KERN").size - 84, 4u);
                  e.find("KERN").size -= 16;
                },
                corrupt, "outside section CODE"},
        Hostile{"Target", [](Editor &e) { e.prefix().target.fill('\xFF'); },
                corrupt, "the target must be"}),
    [](const auto &info) { return info.param.name; });

TEST(Corrupt, UnknownOptionalSectionIsSkipped) {
  Editor editor;
  editor.find("DBUG").tag = {'X', 'T', 'R', 'A'};
  repairChecksums(editor.bytes);
  EXPECT_TRUE(open(editor.bytes));
}

TEST(Corrupt, NewerMinorVersionIsRead) {
  Editor editor;
  editor.prefix().versionMinor = 9;
  repairChecksums(editor.bytes);
  EXPECT_TRUE(open(editor.bytes));
}

//===----------------------------------------------------------------------===//
// External weights
//===----------------------------------------------------------------------===//

class ExternalWeights : public testing::Test {
protected:
  void SetUp() override {
    path = writePlan(folder / "a.weft", makePlan(), true);
  }

  Status open() { return Artifact::open(path).getStatus(); }

  TemporaryFolder folder;
  std::string path;
};

TEST_F(ExternalWeights, Missing) {
  std::filesystem::remove(folder / "a.weights");
  EXPECT_EQ(open().getCode(), StatusCode::NotFound);
  EXPECT_THAT(open().getMessage(), HasSubstr("a.weights"));
}

TEST_F(ExternalWeights, WrongSize) {
  std::filesystem::resize_file(folder / "a.weights", 17);
  EXPECT_EQ(open().getCode(), StatusCode::Corrupt);
  EXPECT_THAT(open().getMessage(), HasSubstr("17 bytes"));
}

TEST_F(ExternalWeights, OfAnotherModel) {
  auto bytes = readFile(folder / "a.weights");
  bytes[3] ^= std::byte{1};
  writeFile(folder / "a.weights", bytes);
  EXPECT_EQ(open().getCode(), StatusCode::Corrupt);
  EXPECT_THAT(open().getMessage(), HasSubstr("checksum differs"));
}

TEST_F(ExternalWeights, BehindASymbolicLink) {
  std::filesystem::rename(folder / "a.weights", folder / "b");
  std::filesystem::create_symlink(folder / "b", folder / "a.weights");
  EXPECT_EQ(open().getCode(), StatusCode::InvalidArgument);
}

TEST_F(ExternalWeights, InMemoryAreRefused) {
  AlignedBytes aligned(readFile(path));
  EXPECT_EQ(Artifact::openMemory(aligned.get()).getStatus().getCode(),
            StatusCode::Unsupported);
}

} // namespace
