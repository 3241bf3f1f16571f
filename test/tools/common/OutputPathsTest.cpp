#include "tools/common/OutputPaths.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::tools;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class OutputPaths : public testing::Test {
protected:
  OutputPaths()
      : folder(fs::path(testing::TempDir()) /
               ("weft-paths-" + std::to_string(getpid()))) {
    fs::create_directories(folder / "sub");
    std::ofstream(folder / "plan") << "plan";
  }
  ~OutputPaths() override { fs::remove_all(folder); }

  std::string at(const char *name) const { return (folder / name).string(); }

  const fs::path folder;
};

TEST_F(OutputPaths, TheSameFileByAnyName) {
  EXPECT_TRUE(isSameFile(at("plan"), at("plan")));
  EXPECT_TRUE(isSameFile(at("plan"), at("sub/../plan")));
  fs::create_symlink("plan", at("link"));
  EXPECT_TRUE(isSameFile(at("link"), at("plan")));
  fs::create_hard_link(at("plan"), at("hard"));
  EXPECT_TRUE(isSameFile(at("hard"), at("plan")));
  fs::create_symlink(".", at("here"));
  EXPECT_TRUE(isSameFile(at("here/plan"), at("plan")));
  // Neither exists.
  EXPECT_TRUE(isSameFile(at("new"), at("sub/../new")));
  EXPECT_TRUE(isSameFile(at("here/new"), at("new")));

  EXPECT_FALSE(isSameFile(at("plan"), at("sub/plan")));
  EXPECT_FALSE(isSameFile(at("new"), at("other")));
  EXPECT_FALSE(isSameFile("", ""));
  EXPECT_FALSE(isSameFile("-", "-"));
  EXPECT_FALSE(isSameFile("/dev/null", "/dev/null"));
  fs::create_symlink("circle", at("circle"));
  EXPECT_FALSE(isSameFile(at("circle"), at("plan")));
}

TEST_F(OutputPaths, InputsAndOtherOutputsStay) {
  const NamedPath plan = {"the plan", at("plan")};
  const NamedPath text = {"--text", at("text")};
  EXPECT_TRUE(checkOutputPaths({{plan}}, {{text}}));
  rt::Status status =
      checkOutputPaths({{plan}}, {{text, {"--trace", at("sub/../plan")}}});
  EXPECT_THAT(status.getMessage(),
              AllOf(HasSubstr("--trace '"), HasSubstr("would replace the plan"),
                    HasSubstr("give another file")));
  status = checkOutputPaths({{plan}}, {{text, {"--log", at("text")}}});
  EXPECT_THAT(status.getMessage(),
              AllOf(HasSubstr("--text and --log"), HasSubstr("two files")));
  EXPECT_TRUE(checkOutputPaths({}, {{{"-a", "-"}, {"-b", "-"}}}));
}

} // namespace
