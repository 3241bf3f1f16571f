//===- LinearProgram.cpp - Text of linear layers as tile programs ---------===//

#include "bench/matmul/LinearProgram.h"

#include <map>

using namespace weft::bench;

/// Replaces every {key} by its value.
static std::string fill(std::string text,
                        const std::map<std::string, std::string> &values) {
  for (const auto &[key, value] : values) {
    std::string mark = "{" + key + "}";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;
         at += value.size())
      text.replace(at, mark.size(), value);
  }
  return text;
}

/// One row tile of `rows` rows at %row.
static const char *tileText = R"(
          %a{rows} = tile.load %x[%row, %zero] : {xview} -> tensor<{rows}x{K}x{left}>
          %b{rows} = tile.load %w[%panel, %zero, %inner, %zero] : {wview} -> tensor<{KG}x{width}x{group}x{right}>
          %c{rows} = arith.constant dense<0.0> : tensor<{rows}x{width}xf32>
          %r{rows} = tile.mma {mma} %a{rows}, %b{rows}, %c{rows} : tensor<{rows}x{K}x{left}>, tensor<{KG}x{width}x{group}x{right}>, tensor<{rows}x{width}xf32>
          tile.store %r{rows}, %y[%row, %column] : tensor<{rows}x{width}xf32>, {yview}
)";

static const char *programText = R"(
tile.program @{name} symbols ["tokens"] grid [#tile.extent<"{N}", {columnBlock}>, #tile.extent<"tokens", {rowBlock}>] {
  tile.kernel @k level "{level}" (%x: {xview}, %w: {wview}, %y: {yview}) symbols (%tokens) item (%item)
      attributes {schedule = #tile.cpu_schedule<level = "{level}", rows = {rows}, columns = {width}, row_block = {rowBlock}, column_block = {columnBlock}, unroll = {unroll}, mma = {mma}>} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %width = arith.constant {width} : index
    %height = arith.constant {rows} : index
    %columnBlock = arith.constant {columnBlock} : index
    %rowBlock = arith.constant {rowBlock} : index
    %rowBlocks = arith.ceildivui %tokens, %rowBlock : index
    %block = arith.divui %item, %rowBlocks : index
    %rest = arith.remui %item, %rowBlocks : index
    %begin = arith.muli %block, %columnBlock : index
    %end = arith.addi %begin, %columnBlock : index
    %rowBegin = arith.muli %rest, %rowBlock : index
    %rowLast = arith.addi %rowBegin, %rowBlock : index
    %rowEnd = arith.minui %rowLast, %tokens : index
    %count = arith.subi %rowEnd, %rowBegin : index
    %tiles = arith.divui %count, %height : index
    %tiled = arith.muli %tiles, %height : index
    %tiledEnd = arith.addi %rowBegin, %tiled : index
    scf.for %column = %begin to %end step %width {
      %panel = arith.divui %column, %c64 : index
      %inner = arith.remui %column, %c64 : index
      scf.for %row = %rowBegin to %tiledEnd step %height {{tile}      }
      scf.for %row = %tiledEnd to %rowEnd step %one {{single}      }
    }
    tile.return
  }
}
)";

std::string LinearProgram::print(const std::string &name) const {
  auto s = [](int64_t value) { return std::to_string(value); };
  std::map<std::string, std::string> values = {
      {"name", name},
      {"level", level},
      {"K", s(inner)},
      {"KG", s(inner / group)},
      {"N", s(columns)},
      {"left", left},
      {"right", right},
      {"group", s(group)},
      {"mma", dot ? "dot_bf16" : "fma"},
      {"width", s(width)},
      {"unroll", s(unroll)},
      {"rowBlock", s(rowBlock)},
      {"columnBlock", s(columnBlock)},
      {"xview", "memref<?x" + s(inner) + "x" + left + ">"},
      {"wview", "memref<" + s(columns / 64) + "x" + s(inner / group) + "x64x" +
                    s(group) + "x" + right + ">"},
      {"yview", "memref<?x" + s(columns) + "xf32>"},
  };
  auto tile = [&](int64_t rows) {
    auto copy = values;
    copy["rows"] = s(rows);
    return fill(tileText, copy);
  };
  values["tile"] = tile(rows);
  values["single"] = rows == 1 ? "" : tile(1);
  values["rows"] = s(rows);
  return fill(programText, values);
}
