//===- Table.cpp ----------------------------------------------------------===//

#include "tools/common/Table.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>

using namespace weft::tools;

namespace {

/// Code points of a UTF-8 text.
size_t getWidth(const std::string &text) {
  return size_t(std::ranges::count_if(
      text, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

} // namespace

Table::Table(std::vector<Column> columns) : columns(std::move(columns)) {}

void Table::addRow(std::vector<std::string> cells) {
  assert(cells.size() <= columns.size() && "a row has too many cells");
  cells.resize(columns.size());
  // The further lines of a cell are rows in which the other columns are empty.
  std::vector<std::string> rest(columns.size());
  bool hasRest = false;
  for (size_t i = 0; i < cells.size(); ++i)
    if (size_t end = cells[i].find('\n'); end != std::string::npos) {
      rest[i] = cells[i].substr(end + 1);
      cells[i].resize(end);
      hasRest |= !rest[i].empty();
    }
  rows.push_back(std::move(cells));
  if (hasRest)
    addRow(std::move(rest));
}

void Table::printRow(std::ostream &out, const std::vector<std::string> &cells,
                     const std::vector<size_t> &widths, unsigned indent) const {
  std::string line(indent, ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string padding(widths[i] - getWidth(cells[i]), ' ');
    if (i)
      line += "  ";
    line += columns[i].align == Align::Left ? cells[i] + padding
                                            : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

void Table::print(std::ostream &out, unsigned indent) const {
  std::vector<std::string> titles, dashes;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = getWidth(columns[i].title);
    for (const std::vector<std::string> &row : rows)
      width = std::max(width, getWidth(row[i]));
    titles.push_back(columns[i].title);
    dashes.push_back(std::string(width, '-'));
    widths.push_back(width);
  }
  printRow(out, titles, widths, indent);
  printRow(out, dashes, widths, indent);
  for (const std::vector<std::string> &row : rows)
    printRow(out, row, widths, indent);
}

std::string weft::tools::formatCount(double count) {
  static constexpr const char *units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (std::abs(count) >= 999.5 && unit + 1 < std::size(units)) {
    count /= 1000;
    ++unit;
  }
  double size = std::abs(count);
  int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  // Whole numbers below a thousand are exact.
  if (unit == 0 && count == std::floor(count))
    digits = 0;
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f%s", digits, count, units[unit]);
  return text;
}
