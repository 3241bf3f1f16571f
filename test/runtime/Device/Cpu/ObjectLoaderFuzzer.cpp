//===- ObjectLoaderFuzzer.cpp - Any bytes are loaded or refused -----------===//
//
// Loads the input as an object and runs nothing of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cpu/ObjectLoader.h"

#include <cstddef>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto object = weft::rt::LoadedObject::load({data, size});
  if (object)
    (void)(*object)->find("kernel");
  return 0;
}
