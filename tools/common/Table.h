//===- Table.h - Aligned columns for people -------------------------------===//

#ifndef WEFT_TOOLS_COMMON_TABLE_H
#define WEFT_TOOLS_COMMON_TABLE_H

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace weft::tools {

/// Collects rows and prints them with columns as wide as their widest cell.
/// Cells are UTF-8; a code point counts as one column.
class Table {
public:
  enum class Align { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns);

  /// A row may be shorter than the columns; missing cells are empty. Cells may
  /// have several lines.
  void addRow(std::vector<std::string> cells);
  bool isEmpty() const { return rows.empty(); }

  /// Title line, a line of dashes, rows; each line starts with `indent` spaces
  /// and has no trailing ones.
  void print(std::ostream &out, unsigned indent = 0) const;

private:
  void printRow(std::ostream &out, const std::vector<std::string> &cells,
                const std::vector<size_t> &widths, unsigned indent) const;

  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// "950", "12.3 k", "4.56 M", "7.89 G", "1.23 T": three significant digits in
/// steps of 1000, as FLOPs and rates are counted.
std::string formatCount(double count);

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_TABLE_H
