//===- WriterTest.cpp - A failed write leaves nothing behind --------------===//

#include "runtime/Format/Writer.h"
#include "runtime/Format/OutputFile.h"
#include "runtime/Format/Reader.h"
#include "test/artifact/TestPlan.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::rt;
using namespace weft::rt::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Limits the size of files that this process may write, and lets writes beyond
/// it fail instead of ending the process.
class FileSizeLimit {
public:
  explicit FileSizeLimit(uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    handler = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  rlimit before;
  void (*handler)(int);
};

class WriterTest : public testing::Test {
protected:
  std::unique_ptr<ArtifactWriter> create(Plan plan, bool external = false) {
    WriterOptions options;
    options.externalWeights = external;
    auto writer =
        ArtifactWriter::create(folder / "a.weft", std::move(plan), options);
    EXPECT_TRUE(writer) << writer.getStatus().getMessage();
    return writer.take();
  }

  static Status writeParams(ArtifactWriter &writer) {
    for (size_t i = 0; i < writer.getPlan().params.size(); ++i)
      if (Status status =
              writer.getPlan().params[i].generated.isUsed
                  ? Status::ok()
                  : writer.writeParam(i, makeParamBytes(writer.getPlan(), i));
          !status)
        return status;
    return Status::ok();
  }

  TemporaryFolder folder;
};

TEST_F(WriterTest, NothingIsThereBeforeFinish) {
  auto writer = create(makePlan());
  ASSERT_TRUE(writeParams(*writer));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.weft"));
  ASSERT_TRUE(writer->finish());
  EXPECT_THAT(folder.list(), ElementsAre("a.weft"));
}

TEST_F(WriterTest, AbandonedWriterRemovesItsFiles) {
  for (bool external : {false, true}) {
    auto writer = create(makePlan(), external);
    ASSERT_TRUE(writeParams(*writer));
    writer.reset();
    EXPECT_THAT(folder.list(), IsEmpty());
  }
}

TEST_F(WriterTest, OlderFileStaysUntilFinish) {
  writeFile(folder / "a.weft", {});
  {
    auto writer = create(makePlan());
    ASSERT_TRUE(writeParams(*writer));
  }
  EXPECT_TRUE(readFile(folder / "a.weft").empty());
  auto writer = create(makePlan());
  ASSERT_TRUE(writeParams(*writer));
  ASSERT_TRUE(writer->finish());
  EXPECT_TRUE(Artifact::open(folder / "a.weft"));
}

TEST_F(WriterTest, MissingParameterIsNamed) {
  auto writer = create(makePlan());
  ASSERT_TRUE(writer->writeParam(0, makeParamBytes(writer->getPlan(), 0)));
  ASSERT_TRUE(writer->appendParam(1, std::vector<std::byte>(3)));
  Status status = writer->finish();
  EXPECT_EQ(status.getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.getMessage(), HasSubstr("'scale' got 3 bytes"));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, TooManyBytes) {
  auto writer = create(makePlan());
  ASSERT_TRUE(writer->appendParam(1, std::vector<std::byte>(8)));
  Status status = writer->appendParam(1, std::vector<std::byte>(3));
  EXPECT_THAT(status.getMessage(), HasSubstr("'scale' gets 11 bytes"));
  EXPECT_FALSE(writer->finish()) << "the failure is final";
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, NoSuchParameter) {
  auto writer = create(makePlan());
  EXPECT_FALSE(writer->appendParam(3, {}));
}

TEST_F(WriterTest, GeneratedValuesAreNotWritten) {
  auto writer = create(makePlan());
  const std::byte bytes[24] = {};
  Status status = writer->appendParam(3, bytes);
  EXPECT_EQ(status.getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.getMessage(), HasSubstr("has generated values"));
}

TEST_F(WriterTest, AfterFinish) {
  auto writer = create(makePlan());
  ASSERT_TRUE(writeParams(*writer));
  ASSERT_TRUE(writer->finish());
  EXPECT_FALSE(writer->finish());
  EXPECT_FALSE(writer->appendParam(0, {}));
  EXPECT_TRUE(Artifact::open(folder / "a.weft"));
}

TEST_F(WriterTest, FailingSourceLeavesNothing) {
  auto writer = create(makePlan());
  Status status =
      writer->writeParam(0, []() -> Result<std::span<const std::byte>> {
        return Status::io("the source is gone");
      });
  EXPECT_THAT(status.getMessage(), HasSubstr("gone"));
  writer.reset();
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, WrongPlanIsRefusedBeforeAnythingIsWritten) {
  Plan plan = makePlan();
  plan.entries[0].commands[0].kernel = 9;
  auto writer = ArtifactWriter::create(folder / "a.weft", plan);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.getStatus().getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(writer.getStatus().getMessage(), HasSubstr("launches kernel 9"));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, ParametersOfImpossibleSizes) {
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{-1}, {INT64_MAX, 2}, {INT64_MAX / 4}}) {
    Plan plan = makePlan();
    plan.params[2].shape = shape;
    plan.params[2].dtype = DType::F32;
    EXPECT_FALSE(ArtifactWriter::create(folder / "a.weft", plan));
  }
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, DiskTooSmallIsFoundAtOnce) {
  Plan plan = makePlan();
  plan.params[0].shape = {int64_t{1} << 50};
  plan.entries[0].buffers[1].shape = {Expr::constant(1)};
  auto writer = ArtifactWriter::create(folder / "a.weft", plan);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.getStatus().getCode(), StatusCode::Io);
  EXPECT_THAT(writer.getStatus().getMessage(), HasSubstr("a.weft"));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(WriterTest, FileSizeLimitIsFoundAtOnce) {
  FileSizeLimit limit(4096);
  for (bool external : {false, true}) {
    Plan plan = makePlan();
    plan.params[0].shape = {100000};
    WriterOptions options;
    options.externalWeights = external;
    auto writer = ArtifactWriter::create(folder / "a.weft", plan, options);
    ASSERT_FALSE(writer);
    EXPECT_THAT(writer.getStatus().getMessage(),
                HasSubstr("the file size limit of this process is 4096"));
    EXPECT_THAT(folder.list(), IsEmpty());
  }
}

TEST_F(WriterTest, DiskFullWhileWriting) {
  Plan plan = makePlan();
  plan.params[0].shape = {100000};
  for (bool external : {false, true}) {
    auto writer = create(plan, external);
    FileSizeLimit limit(8192);
    Status status = writeParams(*writer);
    EXPECT_EQ(status.getCode(), StatusCode::Io);
    EXPECT_THAT(status.getMessage(), HasSubstr("cannot write"));
    EXPECT_FALSE(writer->finish());
    EXPECT_THAT(folder.list(), IsEmpty());
  }
}

TEST_F(WriterTest, KilledProcessLeavesNothing) {
  const int probe = open((folder / "").c_str(), O_RDWR | O_TMPFILE, 0600);
  if (probe < 0)
    GTEST_SKIP() << "this file system has no files without names";
  close(probe);
  const pid_t child = fork();
  if (!child) {
    auto writer = ArtifactWriter::create(folder / "a.weft", makePlan());
    const bool isWritten = writer && writeParams(**writer);
    kill(getpid(), isWritten ? SIGKILL : SIGABRT);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFSIGNALED(state));
  EXPECT_EQ(WTERMSIG(state), SIGKILL);
  EXPECT_THAT(folder.list(), IsEmpty());
}

/// Both ways to a file that appears whole or not at all.
class OutputFileTest : public testing::TestWithParam<OutputFile::Naming> {
protected:
  TemporaryFolder folder;
};

TEST_P(OutputFileTest, AppearsWithCommit) {
  const std::byte text[] = {std::byte{1}, std::byte{2}};
  for (int round = 0; round < 2; ++round) {
    auto file = OutputFile::create(folder / "f", 4, GetParam());
    ASSERT_TRUE(file) << file.getStatus().getMessage();
    EXPECT_TRUE(file->write(1, text));
    auto mapped = file->map();
    ASSERT_TRUE(mapped) << mapped.getStatus().getMessage();
    EXPECT_EQ(mapped->getBytes()[2], std::byte{2});
    EXPECT_TRUE(file->sync());
    Status status = file->commit();
    EXPECT_TRUE(status) << status.getMessage();
    EXPECT_THAT(folder.list(), ElementsAre("f"));
    EXPECT_THAT(
        readFile(folder / "f"),
        ElementsAre(std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0}));
  }
}

TEST_P(OutputFileTest, DisappearsWithoutCommit) {
  {
    auto file = OutputFile::create(folder / "f", 4, GetParam());
    ASSERT_TRUE(file);
    OutputFile moved = file.take();
  }
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_P(OutputFileTest, DisappearsWhenItsNameIsTaken) {
  auto file = OutputFile::create(folder / "f", 4, GetParam());
  ASSERT_TRUE(file);
  std::filesystem::create_directory(folder / "f");
  {
    OutputFile moved = file.take();
    EXPECT_EQ(moved.commit().getCode(), StatusCode::Io);
  }
  EXPECT_THAT(folder.list(), ElementsAre("f"));
}

TEST_P(OutputFileTest, SecondWriterOfTheSameFile) {
  auto first = OutputFile::create(folder / "f", 1, GetParam());
  auto second = OutputFile::create(folder / "f", 2, GetParam());
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->commit());
  EXPECT_TRUE(first->commit());
  EXPECT_EQ(readFile(folder / "f").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Namings, OutputFileTest,
                         testing::Values(OutputFile::Naming::Late,
                                         OutputFile::Naming::Temporary));

TEST_F(WriterTest, FolderThatIsNotThere) {
  auto writer = ArtifactWriter::create(folder / "no/a.weft", makePlan());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.getStatus().getCode(), StatusCode::Io);
}

TEST_F(WriterTest, DevicesAndFoldersAreNotReplaced) {
  EXPECT_THAT(
      ArtifactWriter::create("/dev/full", makePlan()).getStatus().getMessage(),
      HasSubstr("no regular file"));
  std::filesystem::create_directory(folder / "d");
  EXPECT_THAT(
      ArtifactWriter::create(folder / "d", makePlan()).getStatus().getMessage(),
      HasSubstr("is a folder"));
}

// Links stay, what they point to is written: as compilers do with -o.
TEST_F(WriterTest, LinksAreWrittenThrough) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "store");
  fs::create_symlink("store/b.weft", folder / "a.weft"); // To nothing yet.
  fs::create_symlink(folder / "a.weft", folder / "store/c.weft");
  for (const char *name : {"a.weft", "store/c.weft", "a.weft"}) {
    for (bool external : {false, true}) {
      writePlan(folder / name, makePlan(), external);
      EXPECT_TRUE(fs::is_symlink(folder / "a.weft"));
      EXPECT_TRUE(fs::is_symlink(folder / "store/c.weft"));
      EXPECT_TRUE(fs::is_regular_file(folder / "store/b.weft"));
      EXPECT_EQ(fs::exists(folder / "store/b.weights"), external);
      // Weights lie beside the file; it opens under any of its names.
      for (const char *opened : {"a.weft", "store/b.weft", "store/c.weft"}) {
        auto artifact = Artifact::open(folder / opened);
        ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
        EXPECT_TRUE((*artifact)->verifyData()) << opened;
      }
      fs::remove(folder / "store/b.weights");
    }
  }
  EXPECT_THAT(folder.list(), ElementsAre("a.weft", "store"));
}

TEST_F(WriterTest, AFailedWriteThroughALinkChangesNothing) {
  namespace fs = std::filesystem;
  writeFile(folder / "old", std::vector<std::byte>(3, std::byte{7}));
  fs::create_symlink("old", folder / "a.weft");
  {
    FileSizeLimit limit(100);
    EXPECT_FALSE(ArtifactWriter::create(folder / "a.weft", makePlan()));
  }
  (void)create(makePlan()); // Abandoned.
  EXPECT_TRUE(fs::is_symlink(folder / "a.weft"));
  EXPECT_EQ(readFile(folder / "old").size(), 3u);
  EXPECT_THAT(folder.list(), ElementsAre("a.weft", "old"));
}

TEST_F(WriterTest, LinksInACircle) {
  namespace fs = std::filesystem;
  fs::create_symlink("b.weft", folder / "a.weft");
  fs::create_symlink("a.weft", folder / "b.weft");
  EXPECT_THAT(ArtifactWriter::create(folder / "a.weft", makePlan())
                  .getStatus()
                  .getMessage(),
              HasSubstr("too many levels of symbolic links"));
  EXPECT_FALSE(Artifact::open(folder / "a.weft"));
}

TEST_F(WriterTest, ParametersInAGivenFile) {
  const std::vector<std::byte> bytes(128, std::byte{42});
  writeFile(folder / "given.bin", bytes);
  Plan plan = makePlan();
  plan.externalFiles = {{"given.bin", 128, 0}};
  plan.params[2].file = 1;
  plan.params[2].offset = 64;
  plan.params[2].size = 3;
  auto writer = create(plan);
  EXPECT_FALSE(create(plan)->appendParam(2, std::vector<std::byte>(3)))
      << "it is not ours to write";
  ASSERT_TRUE(writer->writeParam(0, makeParamBytes(writer->getPlan(), 0)));
  ASSERT_TRUE(writer->writeParam(1, makeParamBytes(writer->getPlan(), 1)));
  ASSERT_TRUE(writer->finish());
  auto artifact = Artifact::open(folder / "a.weft");
  ASSERT_TRUE(artifact) << artifact.getStatus().getMessage();
  EXPECT_EQ((*artifact)->getParamData(2)[2], std::byte{42});
  EXPECT_TRUE((*artifact)->verifyData());
}

TEST_F(WriterTest, FilePermissionsFollowTheUmask) {
  writePlan(folder / "a.weft", makePlan());
  struct stat info;
  ASSERT_EQ(stat((folder / "a.weft").c_str(), &info), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666u & ~mask);
}

} // namespace
