//===- CudaDevice.cpp -----------------------------------------------------===//

#include "runtime/Device/Cuda/CudaDevice.h"

#include "runtime/Device/Cuda/CodeCompiler.h"
#include "runtime/Device/Cuda/ConstantLoader.h"
#include "runtime/Device/Cuda/CudaKernel.h"
#include "runtime/Device/Cuda/CudaStream.h"
#include "runtime/Device/Cuda/ReadBandwidth.h"
#include "runtime/Format/ByteSize.h"

#include <algorithm>

using namespace weft::rt;
using namespace weft::rt::cuda;

Result<std::shared_ptr<CudaDevice>>
CudaDevice::create(int number, const CudaOptions &options) {
  Result<std::shared_ptr<const Api>> api = Api::load(options.driver);
  if (!api)
    return api.getStatus();
  Result<std::shared_ptr<CudaContext>> context =
      CudaContext::create(api.take(), number);
  if (!context)
    return context.getStatus();
  if (Status status = (*context)->activate(); !status)
    return status;
  // Memory that is freed stays with the process: sessions come and go.
  MemoryPool pool = nullptr;
  const Api &functions = (*context)->getApi();
  uint64_t threshold = UINT64_MAX;
  cuda::Code code =
      functions.deviceGetDefaultMemPool(&pool, (*context)->getDevice());
  if (code == cuda::Code::Success)
    code =
        functions.memPoolSetAttribute(pool, poolReleaseThreshold, &threshold);
  if (Status status =
          (*context)->check(code, "setting up the memory pool of the GPU");
      !status)
    return status;
  Result<std::unique_ptr<CudaStream>> stream = CudaStream::create(*context);
  if (!stream)
    return stream.getStatus();
  auto compiler = std::make_unique<CodeCompiler>(
      (*context)->getFacts(), options.nvrtc, options.cacheFolder);
  return std::shared_ptr<CudaDevice>(
      new CudaDevice(context.take(), stream.take(), std::move(compiler)));
}

CudaDevice::CudaDevice(std::shared_ptr<CudaContext> context,
                       std::unique_ptr<CudaStream> stream,
                       std::unique_ptr<CodeCompiler> compiler)
    : context(std::move(context)), compiler(std::move(compiler)),
      stream(std::move(stream)) {}

CudaDevice::~CudaDevice() = default;

std::string CudaDevice::describe() const {
  const GpuFacts &facts = context->getFacts();
  return "cuda:" + std::to_string(facts.number) + " " + facts.name +
         ", compute capability " + std::to_string(facts.major) + "." +
         std::to_string(facts.minor) + ", " +
         std::to_string(facts.multiprocessors) + " multiprocessors, " +
         formatBytes(facts.memoryBytes) + ", driver " +
         std::to_string(facts.driverVersion / 1000) + "." +
         std::to_string(facts.driverVersion % 1000 / 10);
}

Device::MemoryUse CudaDevice::getMemoryUse() {
  std::lock_guard lock(mutex);
  MemoryUse use = {usedBytes, peakBytes, 0, 0};
  size_t free = 0, total = 0;
  if (context->activate() &&
      context->getApi().memGetInfo(&free, &total) == cuda::Code::Success) {
    use.free = free;
    use.total = total;
  }
  return use;
}

Result<double> CudaDevice::measureReadBandwidth(size_t bytes) {
  return cuda::measureReadBandwidth(context, *this, bytes);
}

double CudaDevice::getPeakFlops(DType type) {
  const GpuFacts &facts = context->getFacts();
  // Of one multiprocessor in one cycle, dense, with sums in f32; CUDA
  // programming guide, "Arithmetic Instructions", and the peaks in NVIDIA's
  // papers on A100, GA102, AD102, H100, Blackwell and RTX Blackwell, divided by
  // multiprocessors and boost clock. Of 8.6, 8.9 and 12.0 consumer boards do
  // half of it on tensor cores.
  struct Row {
    int major, minor;
    double tensor, vector;
  };
  constexpr Row rows[] = {{8, 0, 2048, 128},  {8, 6, 1024, 256},
                          {8, 9, 1024, 256},  {9, 0, 4096, 256},
                          {10, 0, 8192, 256}, {12, 0, 1024, 256}};
  for (const Row &row : rows)
    if (row.major == facts.major && row.minor == facts.minor)
      return (type == DType::F32 ? row.vector : row.tensor) *
             facts.multiprocessors * facts.clockHertz;
  return 0;
}

Status CudaDevice::explainShortage(size_t size, std::string_view purpose,
                                   const Status &failure) {
  if (failure.getCode() != StatusCode::OutOfMemory)
    return failure;
  size_t free = 0, total = 0;
  context->getApi().memGetInfo(&free, &total);
  return Status::outOfMemory(
      "cannot allocate " + formatBytes(size) + " (" + std::to_string(size) +
      " bytes) for " + std::string(purpose) + " on " +
      context->getFacts().name + ": " + formatBytes(free) + " of " +
      formatBytes(total) + " are free; this process uses " +
      formatBytes(usedBytes) +
      ". Use smaller limits (cache, tokens per step, sequences) or end other "
      "programs on the GPU");
}

Result<DeviceMemory> CudaDevice::allocateLocked(size_t size,
                                                std::string_view purpose) {
  if (Status status = context->activate(); !status)
    return status;
  Address address = 0;
  const size_t least = std::max<size_t>(size, 1);
  if (Status status = context->check(
          context->getApi().memAllocAsync(&address, least, stream->getHandle()),
          "allocating memory for " + std::string(purpose));
      !status)
    return explainShortage(size, purpose, status);
  usedBytes += size;
  peakBytes = std::max(peakBytes, usedBytes);
  return DeviceMemory(this, reinterpret_cast<void *>(address), size);
}

Result<DeviceMemory> CudaDevice::allocate(size_t size,
                                          std::string_view purpose) {
  std::unique_lock lock(mutex);
  Result<DeviceMemory> memory = allocateLocked(size, purpose);
  if (!memory)
    return memory;
  Status status = stream->fill(memory->getData(), 0, size);
  // Other streams may use it from now on.
  if (status)
    status = stream->synchronize();
  lock.unlock(); // The memory's destructor takes the lock.
  if (!status)
    return status;
  return memory;
}

Result<std::shared_ptr<std::byte>>
CudaDevice::allocateStaging(size_t size, std::string_view purpose) {
  if (Status status = context->activate(); !status)
    return status;
  void *data = nullptr;
  if (Status status = context->check(
          context->getApi().memHostAlloc(&data, std::max<size_t>(size, 1), 0),
          "allocating " + formatBytes(size) +
              " of page-locked memory of the host for " + std::string(purpose));
      !status)
    return status;
  return std::shared_ptr<std::byte>(static_cast<std::byte *>(data),
                                    [context = context](std::byte *memory) {
                                      if (context->activate())
                                        context->getApi().memFreeHost(memory);
                                    });
}

Result<std::vector<DeviceMemory>>
CudaDevice::importConstants(std::span<const Constant> constants) {
  std::vector<DeviceMemory> memories;
  std::vector<ConstantPlace> places;
  {
    std::unique_lock lock(mutex);
    for (const Constant &constant : constants) {
      Result<DeviceMemory> memory =
          allocateLocked(constant.size, constant.purpose);
      if (!memory) {
        lock.unlock(); // The destructors of the others take the lock.
        return memory.getStatus();
      }
      places.push_back({constant, memory->getData()});
      memories.push_back(memory.take());
    }
    if (Status status = stream->synchronize(); !status) {
      lock.unlock();
      return status;
    }
  }
  if (Status status = loadConstants(context, *this, places); !status)
    return status;
  return memories;
}

void CudaDevice::release(void *data, size_t size) {
  std::lock_guard lock(mutex);
  usedBytes -= size;
  // Memory of a context that is unusable goes with the process.
  if (context->activate())
    context->getApi().memFreeAsync(reinterpret_cast<Address>(data),
                                   stream->getHandle());
}

Device::CodeFit CudaDevice::findCode(const Kernel &kernel) const {
  return compiler->findCode(kernel);
}

Result<std::unique_ptr<LoadedKernel>>
CudaDevice::loadKernel(const Kernel &kernel) {
  const Kernel *const one[] = {&kernel};
  Result<std::vector<std::unique_ptr<LoadedKernel>>> loaded = loadKernels(one);
  if (!loaded)
    return loaded.getStatus();
  return std::move(loaded->front());
}

Result<std::vector<std::unique_ptr<LoadedKernel>>>
CudaDevice::loadKernels(std::span<const Kernel *const> kernels) {
  Result<std::vector<ChosenCode>> chosen = compiler->chooseAll(kernels);
  if (!chosen)
    return chosen.getStatus();
  std::vector<std::unique_ptr<LoadedKernel>> loaded;
  for (size_t i = 0; i < kernels.size(); ++i) {
    ChosenCode &code = (*chosen)[i];
    Result<std::unique_ptr<CudaKernel>> kernel = CudaKernel::load(
        context, *kernels[i], *code.code, code.cubin, std::move(code.target));
    if (!kernel)
      return kernel.getStatus();
    loaded.push_back(kernel.take());
  }
  return loaded;
}

Result<std::unique_ptr<Stream>> CudaDevice::createStream() {
  Result<std::unique_ptr<CudaStream>> made = CudaStream::create(context);
  if (!made)
    return made.getStatus();
  return std::unique_ptr<Stream>(made.take());
}
