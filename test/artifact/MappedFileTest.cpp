//===- MappedFileTest.cpp - Files beside an artifact stay beside it -------===//

#include "runtime/Format/MappedFile.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <sys/stat.h>

using namespace weft::rt;
using namespace weft::rt::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

TEST(MappedFile, ReadsAFile) {
  TemporaryFolder folder;
  const std::vector<std::byte> bytes(5000, std::byte{7});
  writeFile(folder / "f", bytes);
  auto file = MappedFile::open(folder / "f");
  ASSERT_TRUE(file) << file.getStatus().getMessage();
  EXPECT_TRUE(std::ranges::equal(file->getBytes(), bytes));
  MappedFile moved = file.take();
  EXPECT_EQ(moved.getBytes()[4999], std::byte{7});
}

TEST(MappedFile, EmptyFile) {
  TemporaryFolder folder;
  writeFile(folder / "f", {});
  auto file = MappedFile::open(folder / "f");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->getBytes().empty());
}

TEST(MappedFile, ErrorsNameThePath) {
  TemporaryFolder folder;
  auto missing = MappedFile::open(folder / "missing");
  EXPECT_EQ(missing.getStatus().getCode(), StatusCode::NotFound);
  EXPECT_THAT(missing.getStatus().getMessage(), HasSubstr("missing'"));
  fs::create_directory(folder / "sub");
  auto directory = MappedFile::open(folder / "sub");
  EXPECT_EQ(directory.getStatus().getCode(), StatusCode::Io);
  EXPECT_THAT(directory.getStatus().getMessage(), HasSubstr("is a folder"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(folder / "pipe").getStatus().getMessage(),
              HasSubstr("no regular file"));
}

/// The kinds of paths of case A6: only one of them may be opened.
TEST(MappedFile, A6PathsThatLeaveTheFolder) {
  TemporaryFolder folder;
  const std::string inside = folder / "model";
  fs::create_directories(inside + "/sub");
  const std::byte content[] = {std::byte{1}};
  writeFile(folder / "secret.bin", content);
  writeFile(inside + "/sub/ok.bin", content);
  fs::create_symlink(folder / "secret.bin", inside + "/link.bin");
  fs::create_symlink("sub/ok.bin", inside + "/inner-link.bin");
  fs::create_directory_symlink("..", inside + "/up");
  EXPECT_TRUE(MappedFile::openBeneath(inside, "sub/ok.bin"));
  for (const char *path :
       {"../secret.bin", "/etc/hostname", "sub/../../secret.bin", "link.bin",
        "inner-link.bin", "up/secret.bin", "", ".", "..", "./sub/ok.bin",
        "sub//ok.bin", "sub/ok.bin/", "sub\\ok.bin"}) {
    auto file = MappedFile::openBeneath(inside, path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.getStatus().getCode(), StatusCode::InvalidArgument) << path;
  }
  EXPECT_FALSE(
      MappedFile::openBeneath(inside, std::string("sub/ok.bin\0x", 12)));
  EXPECT_EQ(MappedFile::openBeneath(inside, "sub/no.bin").getStatus().getCode(),
            StatusCode::NotFound);
  EXPECT_THAT(
      MappedFile::openBeneath(inside, "link.bin").getStatus().getMessage(),
      HasSubstr("symbolic link"));
}

TEST(MappedFile, FolderOfAPath) {
  EXPECT_EQ(getFolder("a/b.weft"), "a");
  EXPECT_EQ(getFolder("b.weft"), ".");
  EXPECT_EQ(getFolder("/b.weft"), "/");
}

} // namespace
