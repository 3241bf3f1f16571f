//===- ProgressBarTest.cpp ------------------------------------------------===//

#include "tools/common/ProgressBar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::tools;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

struct FakeTerminal {
  std::string text;
  std::chrono::steady_clock::time_point now{};

  std::unique_ptr<ProgressBar> makeBar(uint64_t total, ProgressBar::Unit unit) {
    return std::make_unique<ProgressBar>(
        "weights", total, unit, [this](const std::string &t) { text += t; },
        [this] { return now; });
  }
};

TEST(ProgressBar, DrawsShareAmountAndTimeLeft) {
  FakeTerminal terminal;
  auto bar = terminal.makeBar(2048, ProgressBar::Unit::Bytes);
  bar->advance(256);
  EXPECT_EQ(terminal.text, "") << "nothing for work that is done at once";
  terminal.now += std::chrono::seconds(3);
  bar->advance(256);
  EXPECT_THAT(terminal.text, StartsWith("\rweights [######----"));
  EXPECT_THAT(terminal.text, HasSubstr("25%  512 B of 2.00 KiB  9 s left"));
  terminal.text.clear();
  bar->advance(1);
  EXPECT_EQ(terminal.text, "") << "not more often than the eye can follow";
  bar.reset();
  EXPECT_EQ(terminal.text, "\r\x1b[K") << "nothing stays behind";
}

TEST(ProgressBar, MoreThanTheTotalIsAllOfIt) {
  FakeTerminal terminal;
  auto bar = terminal.makeBar(10, ProgressBar::Unit::Count);
  terminal.now += std::chrono::seconds(1);
  bar->advance(11);
  EXPECT_THAT(terminal.text, HasSubstr("100%"));
}

TEST(ProgressBar, IsQuietWithoutATotalOrATerminal) {
  FakeTerminal terminal;
  auto bar = terminal.makeBar(0, ProgressBar::Unit::Count);
  terminal.now += std::chrono::seconds(1);
  bar->advance(5);
  EXPECT_EQ(terminal.text, "");

  testing::internal::CaptureStderr(); // A file, not a terminal.
  {
    ProgressBar real("label", 1);
    real.advance();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
