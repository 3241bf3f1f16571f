//===- Program.cpp --------------------------------------------------------===//

#include "runtime/Exec/Program.h"

#include <algorithm>

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
  if (Status status = program->loadKernels(); !status)
    return status;
  // Last, because it takes longest.
  Result<std::vector<DeviceMemory>> params =
      program->device->importConstants(constants);
  if (!params)
    return params.getStatus();
  program->params = params.take();
  return program;
}

/// Marks the kernels of a launch that the device may run.
void Program::useKernels(const Command &command,
                         std::vector<bool> &used) const {
  const std::vector<Kernel> &plan = getPlan().kernels;
  auto isAtLeast = [&](uint32_t kernel, Device::CodeFit fit) {
    return device->findCode(plan[kernel]) >= fit;
  };
  // Machine code of an architecture comes before the source of a newer one,
  // which the first load would have to compile.
  auto fit = Device::CodeFit::Binary;
  if (!isAtLeast(command.kernel, fit) &&
      std::ranges::none_of(command.variants, [&](const Variant &variant) {
        return isAtLeast(variant.kernel, fit);
      }))
    fit = Device::CodeFit::Source;
  for (const Variant &variant : command.variants) {
    if (!isAtLeast(variant.kernel, fit))
      continue;
    used[variant.kernel] = true;
    if (variant.limit == Variant::anyRows)
      return;
  }
  // One that does not fit is explained when it is loaded.
  used[command.kernel] = true;
}

Status Program::loadKernels() {
  const Plan &plan = getPlan();
  std::vector<bool> used(plan.kernels.size());
  for (const Entry &entry : plan.entries)
    for (const Command &command : entry.commands)
      if (command.kind == CommandKind::Launch)
        useKernels(command, used);
  std::vector<const Kernel *> wanted;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i])
      wanted.push_back(&plan.kernels[i]);
  Result<std::vector<std::unique_ptr<LoadedKernel>>> loaded =
      device->loadKernels(wanted);
  if (!loaded)
    return loaded.getStatus();
  kernels.resize(used.size());
  for (size_t i = 0, next = 0; i < used.size(); ++i)
    if (used[i])
      kernels[i] = std::move((*loaded)[next++]);
  return Status::ok();
}
