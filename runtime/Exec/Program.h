//===- Program.h - A plan whose kernels and constants are on a device -----===//

#ifndef WEFT_RUNTIME_EXEC_PROGRAM_H
#define WEFT_RUNTIME_EXEC_PROGRAM_H

#include "runtime/Device/Device.h"
#include "runtime/Format/Reader.h"

#include <memory>
#include <vector>

namespace weft::rt {

/// What all sessions of one plan on one device share. Immutable after load, so
/// sessions of different threads may use it at the same time.
class Program {
public:
  /// Loads the kernels that launches may take on the device and makes the
  /// constants usable. On a CPU the constants
  /// stay in the mapped file; a GPU gets a copy. Keeps `artifact` and `device`
  /// alive. Errors name the kernel or the parameter.
  static Result<std::shared_ptr<Program>>
  load(std::shared_ptr<const Artifact> artifact,
       std::shared_ptr<Device> device);

  const Plan &getPlan() const { return artifact->getPlan(); }
  Device &getDevice() const { return *device; }
  /// Whether a launch may take a kernel of the plan on this device. Of several
  /// for the same number of rows it takes the first that has machine code for
  /// it, or if none does the first that can be compiled for it.
  bool hasKernel(size_t index) const { return kernels[index] != nullptr; }
  /// One that `hasKernel`.
  LoadedKernel &getKernel(size_t index) const { return *kernels[index]; }
  const DeviceMemory &getParam(size_t index) const { return params[index]; }

private:
  Program() = default;

  void useKernels(const Command &command, std::vector<bool> &used) const;
  Status loadKernels();

  // The order is that of construction: what comes later refers to what comes
  // before.
  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<Device> device;
  std::vector<DeviceMemory> params;
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_PROGRAM_H
