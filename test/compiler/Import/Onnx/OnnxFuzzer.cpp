//===- OnnxFuzzer.cpp - Any bytes as an ONNX file -------------------------===//

#include "compiler/Import/Onnx/OnnxFunctions.h"
#include "compiler/Import/Onnx/OnnxTensorData.h"
#include "compiler/Import/Onnx/ReadOnnx.h"

#include <cstdlib>

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ImportReport report;
  auto model = readOnnx({data, size}, "input", report);
  if (model.has_value() == report.hasErrors())
    std::abort();
  if (!model)
    return 0;
  OnnxFunctions::create(*model, 100'000, report);
  // What is accepted has as many bytes as its shape says.
  for (const OnnxTensor &tensor : model->graph.initializers)
    if (auto values = readTensorData(tensor, nullptr, "input", report))
      if (values->bytes.size() !=
          getByteSize(tensor.type, *countElements(tensor.shape)))
        std::abort();
  return 0;
}
