//===- OnnxWeights.cpp - Tensors of an ONNX file as weights ---------------===//

#include "compiler/Import/Onnx/OnnxWeights.h"

#include <cstring>

using namespace llvm;

namespace weft {

OnnxWeights::OnnxWeights(Folder opened, std::unique_ptr<MappedFile> mapped)
    : folder(std::move(opened)), file(std::move(mapped)), dataFiles(folder) {}

std::string OnnxWeights::add(StringRef name, ElementType type,
                             ArrayRef<int64_t> shape, OnnxTensorData data) {
  std::string unique = name.str();
  for (unsigned i = 1; bytes.contains(unique); ++i)
    unique = (name + "#" + Twine(i)).str();
  if (!data.owned.empty())
    data.bytes = owned.emplace_back(std::move(data.owned));
  bytes[unique] = data.bytes;
  TensorInfo info;
  info.name = unique;
  info.type = type;
  info.shape.assign(shape.begin(), shape.end());
  info.byteSize = data.bytes.size();
  info.file = data.file;
  tensors.push_back(std::move(info));
  return unique;
}

void OnnxWeights::clear() {
  tensors.clear();
  bytes.clear();
  owned.clear();
}

void OnnxWeights::finish() {
  llvm::sort(tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return a.name < b.name;
  });
}

std::optional<ArrayRef<uint8_t>>
OnnxWeights::getMapped(const TensorInfo &tensor) const {
  return bytes.find(tensor.name)->second;
}

void OnnxWeights::readChecked(const TensorInfo &tensor, uint64_t offset,
                              MutableArrayRef<uint8_t> target) const {
  if (!target.empty())
    std::memcpy(target.data(), getMapped(tensor)->data() + offset,
                target.size());
}

} // namespace weft
