//===- SafetensorsFuzzer.cpp - Any bytes as a safetensors file ------------===//

#include "compiler/Import/Safetensors.h"

#include <cstdlib>

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<TensorInfo> tensors;
  ImportReport report;
  bool ok = readSafetensors({data, size}, "input", tensors, report);
  if (ok == report.hasErrors())
    std::abort();
  // What is accepted lies in the file and has the size of its shape.
  for (const TensorInfo &tensor : tensors)
    if (tensor.offset > size || tensor.byteSize > size - tensor.offset ||
        computeByteSize(tensor.shape, tensor.type) != tensor.byteSize)
      std::abort();
  return 0;
}
