//===- NpyFuzz.cpp - Arrays come from anywhere ----------------------------===//

#include "tools/common/Npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto array = weft::parseNpy(std::as_bytes(std::span(data, size)), "input");
  if (!array)
    return 0;
  // What was read can be written and read again.
  auto again = weft::parseNpy(
      weft::printNpy(array->dtype, array->shape, array->data), "again");
  if (!again || again->data != array->data || again->shape != array->shape)
    __builtin_trap();
  return 0;
}
