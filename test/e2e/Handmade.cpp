//===- Handmade.cpp - Checkpoints whose outputs are known in closed form --===//

#include "test/e2e/Handmade.h"

#include <algorithm>

using namespace weft;
using namespace weft::e2e;
using reference::NamedTensor;

HandmadeCheckpoint::HandmadeCheckpoint(reference::RandomOptions options)
    : options(std::move(options)), tensors(makeTensors(this->options)) {
  for (NamedTensor &tensor : tensors) {
    bool isNorm = tensor.name.find("norm") != std::string::npos;
    std::fill(tensor.values.begin(), tensor.values.end(), isNorm ? 1.f : 0.f);
  }
}

NamedTensor &HandmadeCheckpoint::operator[](const std::string &name) {
  for (NamedTensor &tensor : tensors)
    if (tensor.name == name)
      return tensor;
  throw reference::Error("the checkpoint has no tensor " + name);
}

void HandmadeCheckpoint::write(const std::filesystem::path &folder) const {
  std::filesystem::create_directories(folder);
  reference::writeFile(folder / "config.json", makeConfig(options).dump(2));
  reference::writeSafetensors(folder / "model.safetensors", tensors,
                              options.elementType);
}
