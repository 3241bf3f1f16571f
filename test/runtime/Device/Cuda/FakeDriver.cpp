//===- FakeDriver.cpp - A CUDA driver without a GPU -----------------------===//

#include "test/runtime/Device/Cuda/FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

using namespace weft::rt::cuda;
using namespace weft::rt::test;

extern "C" {
using HostKernel = void (*)(void *const *, const int64_t *, int64_t, int64_t,
                            void *);
void toy_linear(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_append(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_sum(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_iota(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_remember(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_tell(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_level_1(void *const *, const int64_t *, int64_t, int64_t, void *);
void toy_level_2(void *const *, const int64_t *, int64_t, int64_t, void *);
}

namespace {

constexpr Address deviceBit = Address(1) << 60;
constexpr Code invalidValue = Code(1), notFound = Code(500),
               captureUnsupported = Code(900);

void fault(void *const *, const int64_t *, int64_t, int64_t, void *);

/// A kernel that was compiled for a CPU, on all its items.
FakeKernel wrap(uint32_t buffers, uint32_t symbols, HostKernel kernel) {
  return {buffers, symbols,
          [kernel](std::span<void *const> data, std::span<const int64_t> values,
                   int64_t items) {
            alignas(64) std::byte scratch[64];
            kernel(data.data(), values.data(), 0, items, scratch);
            return Code::Success;
          }};
}

/// The driver's own functions and a test's.
struct FakeFunction {
  std::string name;
  FakeKernel kernel;
};

std::vector<FakeFunction> getOwnFunctions() {
  return {
      {"toy_linear", wrap(4, 1, toy_linear)},
      {"toy_append", wrap(3, 2, toy_append)},
      {"toy_sum", wrap(2, 1, toy_sum)},
      {"toy_iota", wrap(2, 1, toy_iota)},
      {"toy_level_1", wrap(1, 0, toy_level_1)},
      {"toy_level_2", wrap(1, 0, toy_level_2)},
      {"toy_remember", wrap(3, 1, toy_remember)},
      {"toy_tell", wrap(7, 2, toy_tell)},
      {"toy_fault", wrap(1, 0, fault)},
  };
}

using Work = std::function<void()>;

struct FakeGraph {
  std::vector<Work> work;
};

struct FakeStream {
  std::unique_ptr<FakeGraph> capture; ///< Null: not recording.
};

FakeCuda &state() {
  static FakeCuda instance;
  return instance;
}

/// What the driver holds, by address. A program cannot give it back once the
/// GPU has failed; then it goes with the driver.
class Resources {
public:
  template <typename T> T *keep(std::shared_ptr<T> resource) {
    T *pointer = resource.get();
    std::lock_guard lock(mutex);
    held[pointer] = std::move(resource);
    return pointer;
  }

  void giveBack(void *resource) {
    std::lock_guard lock(mutex);
    held.erase(resource);
  }

private:
  std::mutex mutex;
  std::map<void *, std::shared_ptr<void>> held;
};

Resources &resources() {
  static Resources instance;
  return instance;
}

void fault(void *const *, const int64_t *, int64_t, int64_t, void *) {
  state().sticky = Code::IllegalAddress;
}

void *toHost(Address address) {
  if (address && !(address & deviceBit))
    std::abort(); // The runtime passed memory of the host.
  return reinterpret_cast<void *>(address & ~deviceBit);
}

FakeStream &get(StreamHandle stream) {
  return *reinterpret_cast<FakeStream *>(stream);
}

/// What a function returns without having done anything.
Code enter(const char *function) {
  FakeCuda &fake = state();
  if (fake.sticky != Code::Success)
    return fake.sticky;
  auto found = fake.failures.find(function);
  if (found == fake.failures.end())
    return Code::Success;
  Code code = found->second;
  fake.failures.erase(found);
  if (isSticky(code))
    fake.sticky = code;
  return code;
}

#define ENTER()                                                                \
  std::lock_guard lock(state().mutex);                                         \
  if (Code code = enter(__func__); code != Code::Success)                      \
  return code

/// Runs work now or keeps it for the graph that is recorded.
Code issue(StreamHandle stream, Work work) {
  if (get(stream).capture)
    get(stream).capture->work.push_back(std::move(work));
  else
    work();
  return Code::Success;
}

} // namespace

extern "C" {

FakeCuda *weftFakeCuda() { return &state(); }

void weftResetFakeCuda() {
  FakeCuda &fake = state();
  std::lock_guard lock(fake.mutex);
  const FakeCuda fresh;
  fake.deviceCount = fresh.deviceCount;
  fake.major = fresh.major;
  fake.minor = fresh.minor;
  fake.multiprocessors = fresh.multiprocessors;
  fake.sharedBytesPerBlock = fresh.sharedBytesPerBlock;
  fake.occupancy = fresh.occupancy;
  fake.memoryBytes = fresh.memoryBytes;
  fake.initResult = fresh.initResult;
  fake.failures.clear();
  fake.kernels.clear();
  fake.launches.clear();
  fake.usedBytes = fake.pinnedBytes = 0;
  fake.uploads = fake.downloads = fake.uploadedBytes = fake.largestUpload = 0;
  fake.captures = fake.graphLaunches = fake.liveGraphs = 0;
  fake.liveStreams = fake.modules = 0;
  fake.sticky = Code::Success;
}

Code cuGetErrorName(Code code, const char **name) {
  switch (code) {
  case Code::OutOfMemory:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return Code::Success;
  case Code::NoDevice:
    *name = "CUDA_ERROR_NO_DEVICE";
    return Code::Success;
  case Code::InvalidImage:
    *name = "CUDA_ERROR_INVALID_IMAGE";
    return Code::Success;
  case Code::IllegalAddress:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return Code::Success;
  case Code::LaunchFailed:
    *name = "CUDA_ERROR_LAUNCH_FAILED";
    return Code::Success;
  default:
    return invalidValue;
  }
}

Code cuGetErrorString(Code code, const char **text) {
  *text = "as the fake driver was told";
  return Code::Success;
}

Code cuInit(unsigned) { return state().initResult; }

Code cuDriverGetVersion(int *version) {
  *version = 13000;
  return Code::Success;
}

Code cuDeviceGetCount(int *count) {
  ENTER();
  *count = state().deviceCount;
  return Code::Success;
}

Code cuDeviceGet(DeviceNumber *device, int number) {
  *device = number;
  return Code::Success;
}

Code cuDeviceGetName(char *name, int size, DeviceNumber) {
  std::strncpy(name, "Fake GPU", size);
  return Code::Success;
}

Code cuDeviceGetAttribute(int *value, DeviceAttribute attribute, DeviceNumber) {
  ENTER();
  const FakeCuda &fake = state();
  switch (attribute) {
  case DeviceAttribute::MultiprocessorCount:
    *value = fake.multiprocessors;
    break;
  case DeviceAttribute::ClockKilohertz:
    *value = 1000000;
    break;
  case DeviceAttribute::L2CacheBytes:
    *value = 1 << 20;
    break;
  case DeviceAttribute::ComputeCapabilityMajor:
    *value = fake.major;
    break;
  case DeviceAttribute::ComputeCapabilityMinor:
    *value = fake.minor;
    break;
  case DeviceAttribute::MaxSharedMemoryPerBlock:
    *value = fake.sharedBytesPerBlock;
    break;
  case DeviceAttribute::MemoryPoolsSupported:
    *value = 1;
    break;
  default:
    return invalidValue;
  }
  return Code::Success;
}

Code cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  *bytes = state().memoryBytes;
  return Code::Success;
}

Code cuDeviceGetDefaultMemPool(MemoryPool *pool, DeviceNumber) {
  *pool = nullptr;
  return Code::Success;
}

Code cuDevicePrimaryCtxRetain(Context *context, DeviceNumber) {
  ENTER();
  *context = reinterpret_cast<Context>(&state());
  return Code::Success;
}

Code cuDevicePrimaryCtxRelease_v2(DeviceNumber) { return Code::Success; }
Code cuCtxSetCurrent(Context) { return Code::Success; }

Code cuMemGetInfo_v2(size_t *free, size_t *total) {
  std::lock_guard lock(state().mutex);
  *total = state().memoryBytes;
  *free = *total - state().usedBytes;
  return Code::Success;
}

Code cuMemPoolSetAttribute(MemoryPool, int, void *) { return Code::Success; }

Code cuMemAllocAsync(Address *address, size_t size, StreamHandle) {
  ENTER();
  FakeCuda &fake = state();
  if (size > fake.memoryBytes - fake.usedBytes)
    return Code::OutOfMemory;
  // The size stands before the memory, which is aligned as that of a GPU.
  std::byte *base = resources().keep(
      std::shared_ptr<std::byte>(static_cast<std::byte *>(std::aligned_alloc(
                                     256, (size + 511) / 256 * 256)),
                                 std::free));
  std::memcpy(base, &size, sizeof(size));
  std::memset(base + 256, 0xA5, size);
  fake.usedBytes += size;
  *address = reinterpret_cast<Address>(base + 256) | deviceBit;
  return Code::Success;
}

Code cuMemFreeAsync(Address address, StreamHandle) {
  ENTER();
  auto *base = static_cast<std::byte *>(toHost(address)) - 256;
  size_t size = 0;
  std::memcpy(&size, base, sizeof(size));
  state().usedBytes -= size;
  resources().giveBack(base);
  return Code::Success;
}

Code cuMemHostAlloc(void **data, size_t size, unsigned) {
  ENTER();
  state().pinnedBytes += size;
  *data = resources().keep(std::shared_ptr<void>(std::malloc(size), std::free));
  return Code::Success;
}

Code cuMemFreeHost(void *data) {
  resources().giveBack(data);
  return Code::Success;
}

Code cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t size,
                          StreamHandle stream) {
  ENTER();
  FakeCuda &fake = state();
  ++fake.uploads;
  fake.uploadedBytes += size;
  fake.largestUpload = std::max(fake.largestUpload, size);
  return issue(stream, [=] { std::memcpy(toHost(to), from, size); });
}

Code cuMemcpyDtoHAsync_v2(void *to, Address from, size_t size,
                          StreamHandle stream) {
  ENTER();
  ++state().downloads;
  return issue(stream, [=] { std::memcpy(to, toHost(from), size); });
}

Code cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size,
                          StreamHandle stream) {
  ENTER();
  return issue(stream, [=] { std::memcpy(toHost(to), toHost(from), size); });
}

Code cuMemsetD8Async(Address to, unsigned char value, size_t size,
                     StreamHandle stream) {
  ENTER();
  return issue(stream, [=] { std::memset(toHost(to), value, size); });
}

Code cuModuleLoadData(Module *module, const void *image) {
  ENTER();
  if (std::memcmp(image, "FAKE", 4) != 0)
    return Code::InvalidImage;
  ++state().modules;
  *module = reinterpret_cast<Module>(&state());
  return Code::Success;
}

Code cuModuleUnload(Module) {
  ENTER();
  --state().modules;
  return Code::Success;
}

Code cuModuleGetFunction(Function *function, Module, const char *name) {
  ENTER();
  static const std::vector<FakeFunction> own = getOwnFunctions();
  for (const FakeFunction &known : own)
    if (known.name == name) {
      *function =
          reinterpret_cast<Function>(const_cast<FakeFunction *>(&known));
      return Code::Success;
    }
  auto found = state().kernels.find(name);
  if (found == state().kernels.end())
    return notFound;
  *function = reinterpret_cast<Function>(resources().keep(
      std::make_shared<FakeFunction>(found->first, found->second)));
  return Code::Success;
}

Code cuFuncGetAttribute(int *value, FunctionAttribute, Function) {
  *value = 1024;
  return Code::Success;
}

Code cuFuncSetAttribute(Function, FunctionAttribute, int) {
  ENTER();
  return Code::Success;
}

Code cuFuncGetParamInfo(Function function, size_t index, size_t *offset,
                        size_t *size) {
  const FakeKernel &known = reinterpret_cast<FakeFunction *>(function)->kernel;
  if (index > known.buffers + known.symbols)
    return invalidValue;
  *offset = index * 8;
  *size = 8;
  return Code::Success;
}

Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int,
                                                 size_t) {
  *blocks = state().occupancy;
  return Code::Success;
}

Code cuLaunchKernelEx(const LaunchConfig *config, Function function,
                      void **parameters, void **) {
  ENTER();
  const auto &[name, known] = *reinterpret_cast<FakeFunction *>(function);
  FakeLaunch launch = {name, config->gridX, config->blockX,
                       config->sharedBytes};
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == attributeClusterDimension)
      launch.cluster = attribute.value.clusterDimension.x;
    else if (attribute.id == attributeProgrammaticSerial)
      launch.isDependent = attribute.value.programmaticSerial != 0;
    else
      return invalidValue;
  }
  if (launch.blocks % launch.cluster)
    return invalidValue;
  launch.isCaptured = get(config->stream).capture != nullptr;
  state().launches.push_back(launch);

  // The values are read during the call, as by the driver.
  std::vector<void *> buffers;
  std::vector<int64_t> symbols;
  for (uint32_t i = 0; i < known.buffers; ++i)
    buffers.push_back(toHost(*static_cast<Address *>(parameters[i])));
  for (uint32_t i = 0; i < known.symbols; ++i)
    symbols.push_back(*static_cast<int64_t *>(parameters[known.buffers + i]));
  const int64_t items =
      *static_cast<int64_t *>(parameters[known.buffers + known.symbols]);
  return issue(config->stream, [=, run = known.run] {
    if (Code code = run(buffers, symbols, items); code != Code::Success)
      state().sticky = code;
  });
}

Code cuStreamCreate(StreamHandle *stream, unsigned) {
  ENTER();
  ++state().liveStreams;
  *stream = reinterpret_cast<StreamHandle>(
      resources().keep(std::make_shared<FakeStream>()));
  return Code::Success;
}

Code cuStreamDestroy_v2(StreamHandle stream) {
  ENTER();
  --state().liveStreams;
  resources().giveBack(&get(stream));
  return Code::Success;
}

Code cuStreamSynchronize(StreamHandle stream) {
  ENTER();
  return get(stream).capture ? captureUnsupported : Code::Success;
}

Code cuStreamBeginCapture_v2(StreamHandle stream, int) {
  ENTER();
  ++state().captures;
  get(stream).capture = std::make_unique<FakeGraph>();
  return Code::Success;
}

Code cuStreamEndCapture(StreamHandle stream, Graph *graph) {
  std::lock_guard lock(state().mutex);
  Code code = enter(__func__);
  auto recorded = std::move(get(stream).capture);
  *graph = code == Code::Success ? reinterpret_cast<Graph>(recorded.release())
                                 : nullptr;
  return code;
}

Code cuEventCreate(Event *event, unsigned) {
  *event =
      reinterpret_cast<Event>(resources().keep(std::make_shared<int64_t>(0)));
  return Code::Success;
}

Code cuEventDestroy_v2(Event event) {
  resources().giveBack(event);
  return Code::Success;
}

Code cuEventRecord(Event event, StreamHandle) {
  ENTER();
  // A clock that goes on by a microsecond with each event.
  static int64_t now = 0;
  *reinterpret_cast<int64_t *>(event) = ++now;
  return Code::Success;
}

Code cuEventSynchronize(Event) {
  ENTER();
  return Code::Success;
}

Code cuEventElapsedTime(float *milliseconds, Event begin, Event end) {
  *milliseconds = float(*reinterpret_cast<int64_t *>(end) -
                        *reinterpret_cast<int64_t *>(begin)) /
                  1000;
  return Code::Success;
}

Code cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph,
                                 unsigned long long) {
  ENTER();
  ++state().liveGraphs;
  *executable = reinterpret_cast<GraphExec>(
      new FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
  return Code::Success;
}

Code cuGraphUpload(GraphExec, StreamHandle) { return Code::Success; }

Code cuGraphLaunch(GraphExec executable, StreamHandle) {
  ENTER();
  ++state().graphLaunches;
  for (const Work &work : reinterpret_cast<FakeGraph *>(executable)->work)
    work();
  return Code::Success;
}

Code cuGraphExecDestroy(GraphExec executable) {
  ENTER();
  --state().liveGraphs;
  delete reinterpret_cast<FakeGraph *>(executable);
  return Code::Success;
}

Code cuGraphDestroy(Graph graph) {
  delete reinterpret_cast<FakeGraph *>(graph);
  return Code::Success;
}

} // extern "C"
