//===- Program.cpp --------------------------------------------------------===//

#include "runtime/Exec/Program.h"

using namespace weft::rt;

Result<std::shared_ptr<Program>>
Program::load(std::shared_ptr<const Artifact> artifact,
              std::shared_ptr<Device> device) {
  std::shared_ptr<Program> program(new Program());
  program->artifact = std::move(artifact);
  program->device = std::move(device);
  const Plan &plan = program->getPlan();
  for (size_t i = 0; i < plan.params.size(); ++i) {
    Result<DeviceMemory> memory = program->device->importConstant(
        program->artifact->getParamData(i), "parameter " + plan.params[i].name);
    if (!memory)
      return memory.getStatus();
    program->params.push_back(memory.take());
  }
  for (const Kernel &kernel : plan.kernels) {
    Result<std::unique_ptr<LoadedKernel>> loaded =
        program->device->loadKernel(kernel);
    if (!loaded)
      return loaded.getStatus();
    program->kernels.push_back(loaded.take());
  }
  return program;
}
