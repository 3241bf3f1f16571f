//===- HostCudaDevice.h - Runs a CUDA plan's kernels on the host -*- C++ -*-==//
//
// A device for tests where there is no GPU: the sources of the plan's kernels
// run on the host (HostKernels.h), which also finds races, deadlocks and wrong
// copies (HostThreads.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H
#define WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H

#include "runtime/Device/Device.h"
#include "test/e2e/cuda/HostKernels.h"

#include <filesystem>
#include <functional>
#include <memory>

namespace weft::e2e {

/// Changes the text of a kernel before it is compiled.
using EditKernel = std::function<void(const rt::Kernel &, std::string &text)>;

/// Compiles the plan's CUDA sources in `folder`, as HostKernels does.
std::shared_ptr<HostKernels>
compileHostKernels(const rt::Plan &plan, const std::filesystem::path &folder,
                   const EditKernel &edit = {});

/// Launches that go wrong are Internal errors that name the kernel. Each launch
/// has its own order of threads, all of them follow from the seed. Races are
/// looked for in the first launches of a kernel and in some of the others.
std::shared_ptr<rt::Device>
createHostCudaDevice(std::shared_ptr<HostKernels> kernels, uint64_t seed = 1);
std::shared_ptr<rt::Device>
createHostCudaDevice(const rt::Plan &plan, const std::filesystem::path &folder);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_CUDA_HOSTCUDADEVICE_H
