//===- CudaKernel.cpp -----------------------------------------------------===//

#include "runtime/Device/Cuda/CudaKernel.h"

#include <algorithm>

using namespace weft::rt;
using namespace weft::rt::cuda;

CudaKernel::CudaKernel(std::shared_ptr<CudaContext> context,
                       const Kernel &kernel, const LaunchShape &shape,
                       Module module, std::string target)
    : LoadedKernel(std::move(target)), context(std::move(context)),
      kernel(kernel), shape(shape), module(module) {}

CudaKernel::~CudaKernel() {
  if (context->activate())
    context->getApi().moduleUnload(module);
}

Result<std::unique_ptr<CudaKernel>>
CudaKernel::load(std::shared_ptr<CudaContext> context, const Kernel &kernel,
                 const rt::Code &code, std::span<const uint8_t> cubin,
                 std::string target) {
  if (Status status = context->activate(); !status)
    return status;
  Module module = nullptr;
  const cuda::Code loaded =
      context->getApi().moduleLoadData(&module, cubin.data());
  if (Status status =
          context->check(loaded, "loading the code of kernel '" + kernel.name +
                                     "' for " + target);
      !status)
    return loaded == cuda::Code::InvalidImage
               ? Status::corrupt(status.getMessage())
               : status;
  std::unique_ptr<CudaKernel> result(new CudaKernel(
      std::move(context), kernel, code.launch, module, std::move(target)));
  if (Status status = result->prepare(code); !status)
    return status;
  return result;
}

Status CudaKernel::prepare(const rt::Code &code) {
  const Api &api = context->getApi();
  const GpuFacts &facts = context->getFacts();
  const std::string where = "kernel '" + kernel.name + "' for " + getTarget();
  if (api.moduleGetFunction(&function, module, code.symbol.c_str()) !=
      cuda::Code::Success)
    return Status::corrupt("the code of " + where + " has no function '" +
                           code.symbol + "'");
  if (Status status = checkParameters(); !status)
    return status;

  int fixedShared = 0;
  if (Status status = context->check(
          api.funcGetAttribute(&fixedShared,
                               FunctionAttribute::StaticSharedBytes, function),
          "asking for the shared memory of " + where);
      !status)
    return status;
  const uint64_t shared = uint64_t(fixedShared) + shape.sharedBytes;
  if (shared > uint64_t(facts.sharedBytesPerBlock))
    return Status::unsupported(where + " needs " + std::to_string(shared) +
                               " bytes of shared memory for a block; " +
                               facts.name + " has " +
                               std::to_string(facts.sharedBytesPerBlock));
  auto set = [&](FunctionAttribute attribute, int value, const char *what) {
    return context->check(api.funcSetAttribute(function, attribute, value),
                          what + where);
  };
  if (shape.sharedBytes)
    if (Status status =
            set(FunctionAttribute::MaxDynamicSharedBytes,
                int(shape.sharedBytes), "asking for the shared memory of ");
        !status)
      return status;
  constexpr uint32_t portableCluster = 8;
  if (shape.clusterSize > portableCluster)
    if (Status status = set(FunctionAttribute::NonPortableClusterSizeAllowed, 1,
                            "asking for the cluster of ");
        !status)
      return status;

  int resident = 0;
  if (Status status =
          context->check(api.occupancy(&resident, function, int(shape.threads),
                                       shape.sharedBytes),
                         "asking for the blocks of " + where);
      !status)
    return status;
  if (resident == 0)
    return Status::unsupported(
        where + ": a block of " + std::to_string(shape.threads) +
        " threads does not fit on a multiprocessor of " + facts.name);
  // More blocks than fit at once would only be a second wave of the same loop.
  persistentBlocks = int64_t(std::min<uint32_t>(shape.blocksPerMultiprocessor,
                                                uint32_t(resident))) *
                     facts.multiprocessors;
  return Status::ok();
}

Status CudaKernel::checkParameters() const {
  const Api &api = context->getApi();
  if (!api.funcGetParamInfo)
    return Status::ok();
  const size_t expected = kernel.bufferCount + kernel.symbolCount + 1;
  size_t found = 0, offset = 0, size = 0;
  bool isWide = true;
  // The driver answers with an error behind the last parameter.
  while (found <= expected &&
         api.funcGetParamInfo(function, found, &offset, &size) ==
             cuda::Code::Success) {
    isWide &= size == 8;
    ++found;
  }
  if (found == expected && isWide)
    return Status::ok();
  return Status::corrupt(
      "the code of kernel '" + kernel.name + "' for " + getTarget() +
      (isWide ? " takes " + std::string(found > expected ? "more than " : "") +
                    std::to_string(std::min(found, expected)) + " parameters"
              : " has a parameter that is not 8 bytes wide") +
      "; expected " + std::to_string(kernel.bufferCount) + " pointers, " +
      std::to_string(kernel.symbolCount) +
      " symbols and the number of items, 8 bytes each");
}

int64_t CudaKernel::getGrid(int64_t items) const {
  const int64_t cluster = shape.clusterSize;
  int64_t blocks = items * cluster;
  if (persistentBlocks != 0 && blocks > persistentBlocks)
    blocks = std::max(persistentBlocks / cluster, int64_t(1)) * cluster;
  return blocks;
}
