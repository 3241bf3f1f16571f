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

static const char *programText = R"(
tile.program @{name} symbols ["tokens"] grid [#tile.extent<"{N}", {columnBlock}>, #tile.extent<"tokens", {rowBlock}>] {
  tile.kernel @k level "{level}" (%x: {xview}, %w: {wview}, %y: {yview}) symbols (%tokens) item (%item)
      attributes {schedule = #tile.cpu_schedule<level = "{level}", rows = {rows}, columns = {width}, unroll = {unroll}, row_columns = {width}, row_panels = 1, row_unroll = {unroll}, row_block = {rowBlock}, column_block = {columnBlock}, mma = {mma}>} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %width = arith.constant {columnStep} : index
    %K = arith.constant {K} : index
    %step = arith.constant {unroll} : index
    %group = arith.constant {group} : index
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

/// One row tile: a fold over k with an accumulator per panel.
static std::string printTile(std::map<std::string, std::string> values,
                             int64_t rows, int64_t panels) {
  values["rows"] = std::to_string(rows);
  values["panels"] = std::to_string(panels);
  auto list = [&](const char *item, const char *separator) {
    std::string text;
    for (int64_t p = 0; p < panels; ++p)
      text += (p ? separator : "") + fill(item, {{"p", std::to_string(p)}});
    return text;
  };
  std::string text = R"(
          %init = arith.constant dense<0.0> : {tile}
          %sums:{panels} = tile.fold %k = %zero to %K step %step merge add init ()";
  text += list("%c{p} = %init : {tile}", ", ") + R"() {
            %a = tile.load %x[%row, %k] : {xview} -> tensor<{rows}x{unroll}x{left}>
            %kg = arith.divui %k, %group : index
)";
  text += list(R"(
            %o{p} = arith.constant {p} : index
            %p{p} = arith.addi %panel, %o{p} : index
            %b{p} = tile.load %w[%p{p}, %kg, %inner, %zero] : {wview} -> tensor<{unrollG}x{width}x{group}x{right}>
            %r{p} = tile.mma {mma} %a, %b{p}, %c{p} : tensor<{rows}x{unroll}x{left}>, tensor<{unrollG}x{width}x{group}x{right}>, {tile}
)",
               "");
  text += "            tile.yield " + list("%r{p}", ", ") + " : " +
          list("{tile}", ", ") + "\n          }\n";
  text += list(R"(
          %n{p} = arith.constant {p} : index
          %m{p} = arith.muli %n{p}, %c64 : index
          %d{p} = arith.addi %column, %m{p} : index
          tile.store %sums#{p}, %y[%row, %d{p}] : {tile}, {yview}
)",
               "");
  values["tile"] = fill("tensor<{rows}x{width}xf32>", values);
  return fill(fill(text, {{"tile", values["tile"]}}), values);
}

std::string LinearProgram::print(const std::string &name) const {
  auto s = [](int64_t value) { return std::to_string(value); };
  std::map<std::string, std::string> values = {
      {"name", name},
      {"level", level},
      {"K", s(inner)},
      {"N", s(columns)},
      {"left", left},
      {"right", right},
      {"group", s(group)},
      {"mma", dot ? "dot_bf16" : "fma"},
      {"width", s(width)},
      {"unrollG", s(unroll / group)},
      {"columnStep", s(panels > 1 ? 64 * panels : width)},
      {"unroll", s(unroll)},
      {"rowBlock", s(rowBlock)},
      {"columnBlock", s(columnBlock)},
      {"xview", "memref<?x" + s(inner) + "x" + left + ">"},
      {"wview", "memref<" + s(columns / 64) + "x" + s(inner / group) + "x64x" +
                    s(group) + "x" + right + ">"},
      {"yview", "memref<?x" + s(columns) + "xf32>"},
  };
  values["tile"] = printTile(values, rows, panels);
  values["single"] = rows == 1 ? "" : printTile(values, 1, panels);
  values["rows"] = s(rows);
  return fill(programText, values);
}
