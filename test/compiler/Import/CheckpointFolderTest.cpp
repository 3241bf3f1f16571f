//===- CheckpointFolderTest.cpp - Folders, shards and what leaves them ----===//

#include "compiler/Import/CheckpointFolder.h"
#include "test/compiler/Import/Checkpoint.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

using namespace weft;
using namespace weft::test;
using testing::HasSubstr;

/// One U8 tensor of 4 elements.
static std::string makeShard(const std::string &tensor,
                             const std::string &data = "abcd") {
  return makeSafetensors("{\"" + tensor +
                             R"(":{"dtype":"U8","shape":[4],)"
                             R"("data_offsets":[0,4]}})",
                         data);
}

static std::unique_ptr<CheckpointFolder> open(const TemporaryFolder &folder,
                                              ImportReport &report,
                                              bool followLinks = false) {
  auto opened = Folder::open(folder.getPath(), followLinks);
  EXPECT_TRUE(bool(opened));
  return CheckpointFolder::open(*opened, report);
}

/// The report for a folder with this index and one good shard that is refused.
static std::string refuseIndex(const TemporaryFolder &folder,
                               const std::string &weightMap) {
  folder.write("shard.safetensors", makeShard("a"));
  folder.write("model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":4},\"weight_map\":" + weightMap +
                   "}");
  ImportReport report;
  EXPECT_EQ(open(folder, report), nullptr);
  return print(report);
}

TEST(CheckpointFolder, ReadsOneFile) {
  TemporaryFolder folder;
  folder.write("model.safetensors", makeShard("a"));
  ImportReport report;
  auto checkpoint = open(folder, report);
  ASSERT_TRUE(checkpoint) << print(report);
  const TensorInfo *tensor = checkpoint->find("a");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(checkpoint->find("b"), nullptr);
  EXPECT_EQ((*checkpoint->getMapped(*tensor))[3], 'd');
  uint8_t buffer[2];
  ASSERT_FALSE(bool(checkpoint->read(*tensor, 1, buffer)));
  EXPECT_EQ(buffer[0], 'b');
  EXPECT_EQ(buffer[1], 'c');
  EXPECT_THAT(llvm::toString(checkpoint->read(*tensor, 3, buffer)),
              HasSubstr("cannot read bytes [3, +2) of tensor 'a'"));
}

TEST(CheckpointFolder, ReadsShards) {
  TemporaryFolder folder;
  folder.write("sub/one.safetensors", makeShard("b"));
  folder.write("two.safetensors", makeShard("a", "wxyz"));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"b":"sub/one.safetensors",)"
               R"("a":"two.safetensors"}})");
  ImportReport report;
  auto checkpoint = open(folder, report);
  ASSERT_TRUE(checkpoint) << print(report);
  ASSERT_EQ(checkpoint->getTensors().size(), 2u);
  EXPECT_EQ(checkpoint->getTensors()[0].name, "a");
  EXPECT_EQ((*checkpoint->getMapped(checkpoint->getTensors()[0]))[0], 'w');
  EXPECT_EQ(checkpoint->find("b")->file, "sub/one.safetensors");
}

TEST(CheckpointFolder, A7NamesThatLeaveTheFolder) {
  TemporaryFolder outside;
  outside.write("model.safetensors", makeShard("a"));
  for (const std::string &name :
       {std::string("../other/model.safetensors"),
        outside / "model.safetensors", std::string("sub/../../x"),
        std::string("shard\\u0000.safetensors"), std::string(""),
        std::string("./shard.safetensors"), std::string("sub//x")}) {
    TemporaryFolder folder;
    EXPECT_THAT(refuseIndex(folder, "{\"a\":\"" + name + "\"}"),
                HasSubstr("weight_map: 'a': found"))
        << name;
  }
}

TEST(CheckpointFolder, A7LinksThatLeaveTheFolder) {
  TemporaryFolder outside, folder;
  outside.write("model.safetensors", makeShard("a"));
  std::filesystem::create_symlink(outside / "model.safetensors",
                                  folder / "link.safetensors");
  EXPECT_THAT(refuseIndex(folder, R"({"a":"link.safetensors"})"),
              HasSubstr("is a symbolic link"));
  std::filesystem::create_directory_symlink(outside.getPath(), folder / "sub");
  EXPECT_THAT(refuseIndex(folder, R"({"a":"sub/model.safetensors"})"),
              HasSubstr("is a symbolic link"));

  // The folders of a download cache are made of links.
  std::filesystem::remove(folder / "model.safetensors.index.json");
  std::filesystem::create_symlink(outside / "model.safetensors",
                                  folder / "model.safetensors");
  ImportReport refused, allowed;
  EXPECT_EQ(open(folder, refused), nullptr);
  EXPECT_NE(open(folder, allowed, /*followLinks=*/true), nullptr);
}

TEST(CheckpointFolder, A7MissingAndDuplicateTensors) {
  TemporaryFolder folder;
  EXPECT_THAT(refuseIndex(folder, R"({"a":"shard.safetensors",)"
                                  R"("b":"none.safetensors"})"),
              HasSubstr("none.safetensors: cannot open"));
  EXPECT_THAT(refuseIndex(folder, R"({"a":"shard.safetensors",)"
                                  R"("b":"shard.safetensors"})"),
              HasSubstr("weight_map: 'b': found no such tensor"));
  folder.write("copy.safetensors", makeShard("a"));
  EXPECT_THAT(refuseIndex(folder, R"({"a":"shard.safetensors",)"
                                  R"("c":"copy.safetensors"})"),
              HasSubstr("tensor 'a': found it in both 'copy.safetensors' and "
                        "'shard.safetensors'"));
}

TEST(CheckpointFolder, RefusesWhatIsNoIndex) {
  TemporaryFolder folder;
  EXPECT_THAT(refuseIndex(folder, "[]"), HasSubstr("no object weight_map"));
  EXPECT_THAT(refuseIndex(folder, R"({"a":1})"), HasSubstr("found 1"));
  EXPECT_THAT(refuseIndex(folder, R"({"a":"shard.safetensors")"),
              HasSubstr("line 1"));
}

TEST(CheckpointFolder, SaysWhatIsMissing) {
  TemporaryFolder folder;
  ImportReport empty;
  EXPECT_EQ(open(folder, empty), nullptr);
  EXPECT_THAT(print(empty), HasSubstr("found no weights"));
  folder.write("pytorch_model.bin", "x");
  ImportReport pickle;
  EXPECT_EQ(open(folder, pickle), nullptr);
  EXPECT_THAT(print(pickle), HasSubstr("save_pretrained"));
  folder.write("model-00001-of-00002.safetensors", "x");
  ImportReport shards;
  EXPECT_EQ(open(folder, shards), nullptr);
  EXPECT_THAT(print(shards), HasSubstr("without an index"));
  EXPECT_THAT(llvm::toString(Folder::open(folder / "none").takeError()),
              HasSubstr("No such file"));
}

TEST(CheckpointFolder, RefusesWhatIsNoFile) {
  TemporaryFolder folder;
  mkfifo((folder / "model.safetensors").c_str(), 0600);
  ImportReport report;
  EXPECT_EQ(open(folder, report), nullptr);
  EXPECT_THAT(print(report), HasSubstr("not a regular file"));
}
