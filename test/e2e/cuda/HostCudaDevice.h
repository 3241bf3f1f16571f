//===- HostCudaDevice.h - Runs a CUDA plan's kernels on the host -*- C++ -*-==//
//
// A device for tests where there is no GPU: the sources of the plan's kernels
// are compiled by the host's compiler with another prelude (HostPrelude.h) and
// run by HostBlock.h, which also finds races between threads, barriers that not
// all threads reach and shared memory that is read before it is written.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H
#define WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H

#include "runtime/Device/Device.h"

#include <filesystem>
#include <memory>

namespace weft::e2e {

/// Compiles the plan's CUDA sources in `folder`. Throws std::runtime_error with
/// the compiler's output if that fails. Launches that go wrong are Internal
/// errors that name the kernel.
std::shared_ptr<rt::Device>
createHostCudaDevice(const rt::Plan &plan, const std::filesystem::path &folder);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H
