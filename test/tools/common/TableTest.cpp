//===- TableTest.cpp ------------------------------------------------------===//

#include "tools/common/Table.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace weft::tools;

namespace {

TEST(Table, AlignsColumnsWithoutTrailingSpaces) {
  Table table({{"name"}, {"size", Table::Align::Right}, {"note"}});
  table.addRow({"a", "12345", "x"});
  table.addRow({"longer name", "1"});
  std::ostringstream out;
  table.print(out, 2);
  EXPECT_EQ(out.str(), "  name          size  note\n"
                       "  -----------  -----  ----\n"
                       "  a            12345  x\n"
                       "  longer name      1\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table({{"t"}, {"u"}});
  table.addRow({"größe", "1"});
  table.addRow({"abcde", "2"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "t      u\n-----  -\ngröße  1\nabcde  2\n");
}

TEST(Table, CellsOfSeveralLinesStayInTheirColumns) {
  Table table({{"a"}, {"b"}, {"c"}});
  table.addRow({"1", "x\nlonger\n", "2"});
  table.addRow({"3\n4\n5", "", "y\n\nz"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "a  b       c\n-  ------  -\n"
                       "1  x       2\n   longer\n"
                       "3          y\n4\n5          z\n");
}

TEST(Table, CountsHaveThreeDigits) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(7), "7");
  EXPECT_EQ(formatCount(950), "950");
  EXPECT_EQ(formatCount(0.25), "0.25");
  EXPECT_EQ(formatCount(999.7), "1.00 k");
  EXPECT_EQ(formatCount(12345), "12.3 k");
  EXPECT_EQ(formatCount(4.56e6), "4.56 M");
  EXPECT_EQ(formatCount(123e9), "123 G");
  EXPECT_EQ(formatCount(9.996e9), "10.0 G");
}

} // namespace
