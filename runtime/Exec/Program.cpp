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
  std::vector<Constant> constants;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const Param &param = plan.params[i];
    constants.push_back({"parameter " + param.name,
                         program->artifact->getParamData(i), param.size,
                         param.dtype, param.generated});
  }
  std::vector<const Kernel *> kernels;
  for (const Kernel &kernel : plan.kernels)
    kernels.push_back(&kernel);
  Result<std::vector<std::unique_ptr<LoadedKernel>>> loaded =
      program->device->loadKernels(kernels);
  if (!loaded)
    return loaded.getStatus();
  program->kernels = loaded.take();
  // Last, because it takes longest.
  Result<std::vector<DeviceMemory>> params =
      program->device->importConstants(constants);
  if (!params)
    return params.getStatus();
  program->params = params.take();
  return program;
}
