//===- CudaContext.cpp ----------------------------------------------------===//

#include "runtime/Device/Cuda/CudaContext.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

static Status fail(const Api &api, Code code, const char *what) {
  return Status::unsupported(std::string(what) +
                             " failed: " + api.describe(code));
}

static Result<GpuFacts> readFacts(const Api &api, DeviceNumber device,
                                  int number) {
  GpuFacts facts;
  facts.number = number;
  char name[256] = {};
  if (Code code = api.deviceGetName(name, sizeof(name) - 1, device);
      code != Code::Success)
    return fail(api, code, "asking for the name of the GPU");
  facts.name = name;
  int hasPools = 0, kilohertz = 0;
  const std::pair<DeviceAttribute, int *> attributes[] = {
      {DeviceAttribute::ComputeCapabilityMajor, &facts.major},
      {DeviceAttribute::ComputeCapabilityMinor, &facts.minor},
      {DeviceAttribute::MultiprocessorCount, &facts.multiprocessors},
      {DeviceAttribute::MaxSharedMemoryPerBlock, &facts.sharedBytesPerBlock},
      {DeviceAttribute::L2CacheBytes, &facts.l2Bytes},
      {DeviceAttribute::ClockKilohertz, &kilohertz},
      {DeviceAttribute::MemoryPoolsSupported, &hasPools}};
  for (auto [attribute, value] : attributes)
    if (Code code = api.deviceGetAttribute(value, attribute, device);
        code != Code::Success)
      return fail(api, code, "asking for the properties of the GPU");
  facts.clockHertz = kilohertz * 1e3;
  if (Code code = api.deviceTotalMem(&facts.memoryBytes, device);
      code != Code::Success)
    return fail(api, code, "asking for the memory of the GPU");
  if (Code code = api.driverGetVersion(&facts.driverVersion);
      code != Code::Success)
    return fail(api, code, "asking for the version of the driver");
  if (!hasPools)
    return Status::unsupported("the GPU '" + facts.name +
                               "' or its driver has no memory pools "
                               "(cuMemAllocAsync), which are needed");
  return facts;
}

Result<std::shared_ptr<CudaContext>>
CudaContext::create(std::shared_ptr<const Api> api, int number) {
  int count = 0;
  if (Code code = api->deviceGetCount(&count); code != Code::Success)
    return fail(*api, code, "counting the GPUs");
  if (number >= count)
    return Status::notFound(
        "there is no GPU with the number " + std::to_string(number) + "; " +
        (count == 0 ? "the driver finds none"
         : count == 1
             ? "there is one, with the number 0"
             : "there are " + std::to_string(count) + ", numbered from 0") +
        ". CUDA_VISIBLE_DEVICES may hide some");
  DeviceNumber device = 0;
  if (Code code = api->deviceGet(&device, number); code != Code::Success)
    return fail(*api, code, "opening the GPU");
  Result<GpuFacts> facts = readFacts(*api, device, number);
  if (!facts)
    return facts.getStatus();
  Context context = nullptr;
  if (Code code = api->primaryCtxRetain(&context, device);
      code != Code::Success)
    return fail(*api, code, "making a context on the GPU");
  return std::shared_ptr<CudaContext>(
      new CudaContext(std::move(api), device, context, facts.take()));
}

CudaContext::CudaContext(std::shared_ptr<const Api> api, DeviceNumber device,
                         Context context, GpuFacts facts)
    : api(std::move(api)), device(device), context(context),
      facts(std::move(facts)) {}

CudaContext::~CudaContext() { api->primaryCtxRelease(device); }

Status CudaContext::activate() {
  if (unusable) {
    std::lock_guard lock(mutex);
    return Status::internal("the GPU cannot be used any more in this process "
                            "because earlier " +
                            firstFailure + "; start the process again");
  }
  return check(api->ctxSetCurrent(context), "selecting the GPU");
}

Status CudaContext::check(Code code, std::string_view what) {
  if (code == Code::Success)
    return Status::ok();
  // Kernels run behind the calls that issue them, so a fault of one shows at
  // whatever is called next.
  std::string message =
      (isSticky(code) ? "work on the GPU failed, which showed at " : "") +
      std::string(what) + (isSticky(code) ? ": " : " failed: ") +
      api->describe(code);
  if (isSticky(code))
    message += ". Run with --trace, which does one command at a time, to see "
               "whose fault it is";
  if (isSticky(code)) {
    std::lock_guard lock(mutex);
    if (!unusable.exchange(true))
      firstFailure = message;
  }
  if (code == Code::OutOfMemory)
    return Status::outOfMemory(std::move(message));
  return Status::internal(std::move(message));
}
