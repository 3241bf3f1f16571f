//===- ByteSize.cpp -------------------------------------------------------===//

#include "runtime/Format/ByteSize.h"

#include <cstdio>
#include <iterator>

using namespace weft::rt;

std::string weft::rt::formatBytes(uint64_t size) {
  static constexpr const char *units[] = {"B",   "KiB", "MiB", "GiB",
                                          "TiB", "PiB", "EiB"};
  if (size < 1024)
    return std::to_string(size) + " B";
  double value = double(size);
  size_t unit = 0;
  // 999.5 would print as "1000", which has four digits.
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f %s",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, units[unit]);
  return text;
}
