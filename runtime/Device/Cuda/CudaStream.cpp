//===- CudaStream.cpp -----------------------------------------------------===//

#include "runtime/Device/Cuda/CudaStream.h"

#include "runtime/Device/Cuda/CudaKernel.h"

#include <chrono>
#include <climits>

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace {

Address toAddress(const void *pointer) {
  return reinterpret_cast<Address>(pointer);
}

class CudaRecording final : public Recording {
public:
  CudaRecording(std::shared_ptr<CudaContext> context, GraphExec graph,
                uint64_t bytes)
      : context(std::move(context)), graph(graph), bytes(bytes) {}
  ~CudaRecording() override {
    if (context->activate())
      context->getApi().graphExecDestroy(graph);
  }

  uint64_t getBytes() const override { return bytes; }
  GraphExec getGraph() const { return graph; }

private:
  std::shared_ptr<CudaContext> context;
  GraphExec graph;
  uint64_t bytes;
};

} // namespace

Result<std::unique_ptr<CudaStream>>
CudaStream::create(std::shared_ptr<CudaContext> context) {
  if (Status status = context->activate(); !status)
    return status;
  StreamHandle stream = nullptr;
  if (Status status = context->check(
          context->getApi().streamCreate(&stream, streamNonBlocking),
          "making a stream");
      !status)
    return status;
  return std::unique_ptr<CudaStream>(
      new CudaStream(std::move(context), stream));
}

CudaStream::~CudaStream() {
  if (!context->activate())
    return;
  const Api &api = context->getApi();
  // A failure has nowhere to go here; the context keeps it if it matters.
  (void)context->check(api.streamSynchronize(stream), "waiting for the GPU");
  for (Event event : events)
    if (event)
      api.eventDestroy(event);
  api.streamDestroy(stream);
}

Status CudaStream::launch(LoadedKernel &loaded, const LaunchInfo &info) {
  auto &cudaKernel = static_cast<CudaKernel &>(loaded);
  const Kernel &kernel = cudaKernel.getKernel();
  if (Status status = checkLaunch(kernel, info); !status)
    return status;
  if (info.grid == 0)
    return Status::ok();
  const int64_t blocks = cudaKernel.getGrid(info.grid);
  if (blocks > INT_MAX)
    return Status::limit("kernel '" + kernel.name + "' was launched with " +
                         std::to_string(info.grid) +
                         " items, one block each; a GPU takes at most " +
                         std::to_string(INT_MAX) + " blocks");
  if (Status status = context->activate(); !status)
    return status;

  parameters.clear();
  for (void *const &buffer : info.buffers)
    parameters.push_back(const_cast<void **>(&buffer));
  for (const int64_t &symbol : info.symbols)
    parameters.push_back(const_cast<int64_t *>(&symbol));
  int64_t items = info.grid;
  parameters.push_back(&items);

  const LaunchShape &shape = cudaKernel.getShape();
  LaunchAttribute attributes[2] = {};
  unsigned attributeCount = 0;
  if (shape.clusterSize > 1) {
    LaunchAttribute &cluster = attributes[attributeCount++];
    cluster.id = attributeClusterDimension;
    cluster.value.clusterDimension = {shape.clusterSize, 1, 1};
  }
  if (shape.dependentLaunch && isAfterKernel) {
    LaunchAttribute &serial = attributes[attributeCount++];
    serial.id = attributeProgrammaticSerial;
    serial.value.programmaticSerial = 1;
  }
  const LaunchConfig config = {
      unsigned(blocks),  1,      1,          shape.threads, 1, 1,
      shape.sharedBytes, stream, attributes, attributeCount};
  isAfterKernel = true;
  const cuda::Code code = context->getApi().launchKernelEx(
      &config, cudaKernel.getFunction(), parameters.data(), nullptr);
  // The text is only made for a failure: launches must be cheap.
  return code == cuda::Code::Success
             ? Status::ok()
             : context->check(code, "the launch of kernel '" + kernel.name +
                                        "' with " + std::to_string(blocks) +
                                        " blocks");
}

template <typename Issue>
Status CudaStream::issue(const char *what, size_t size, Issue function) {
  if (size == 0)
    return Status::ok();
  if (Status status = context->activate(); !status)
    return status;
  isAfterKernel = false;
  const cuda::Code code = function(context->getApi());
  return code == cuda::Code::Success
             ? Status::ok()
             : context->check(code, std::string(what) + " of " +
                                        std::to_string(size) + " bytes");
}

Status CudaStream::copy(void *destination, const void *source, size_t size) {
  return issue("a copy on the GPU", size, [&](const Api &api) {
    return api.memcpyDtoDAsync(toAddress(destination), toAddress(source), size,
                               stream);
  });
}

Status CudaStream::fill(void *destination, uint8_t value, size_t size) {
  return issue("a fill on the GPU", size, [&](const Api &api) {
    return api.memsetD8Async(toAddress(destination), value, size, stream);
  });
}

Status CudaStream::upload(void *device, const void *host, size_t size) {
  return issue("a copy to the GPU", size, [&](const Api &api) {
    return api.memcpyHtoDAsync(toAddress(device), host, size, stream);
  });
}

Status CudaStream::download(void *host, const void *device, size_t size) {
  return issue("a copy from the GPU", size, [&](const Api &api) {
    return api.memcpyDtoHAsync(host, toAddress(device), size, stream);
  });
}

Status CudaStream::synchronize() {
  if (Status status = context->activate(); !status)
    return status;
  const cuda::Code code = context->getApi().streamSynchronize(stream);
  if (code == cuda::Code::Success)
    return Status::ok();
  return context->check(code, "waiting for it");
}

Status CudaStream::markTime(size_t slot) {
  if (Status status = context->activate(); !status)
    return status;
  const Api &api = context->getApi();
  if (slot >= events.size())
    events.resize(slot + 1);
  if (!events[slot])
    if (Status status = context->check(
            api.eventCreate(&events[slot], eventDefault), "making an event");
        !status)
      return status;
  if (slot == 0)
    hostTime = std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
                   .count();
  isAfterKernel = false;
  return context->check(api.eventRecord(events[slot], stream),
                        "recording an event");
}

Status CudaStream::waitForMark(size_t slot) {
  if (Status status = context->activate(); !status)
    return status;
  return context->check(context->getApi().eventSynchronize(events[slot]),
                        "waiting for it");
}

Result<int64_t> CudaStream::getTime(size_t slot) {
  if (Status status = context->activate(); !status)
    return status;
  float milliseconds = 0;
  if (Status status =
          context->check(context->getApi().eventElapsedTime(
                             &milliseconds, events[0], events[slot]),
                         "reading the time of an event");
      !status)
    return status;
  return hostTime + int64_t(double(milliseconds) * 1e6);
}

Result<std::unique_ptr<Recording>>
CudaStream::record(const std::function<Status()> &work) {
  if (Status status = context->activate(); !status)
    return status;
  const Api &api = context->getApi();
  size_t freeBefore = 0, freeAfter = 0, total = 0;
  api.memGetInfo(&freeBefore, &total);
  if (Status status =
          context->check(api.streamBeginCapture(stream, captureModeThreadLocal),
                         "beginning to record a graph");
      !status)
    return status;
  isAfterKernel = false;
  Status recorded = work();
  isAfterKernel = false;
  // Ends the capture in any case: a stream that stays in it is lost.
  Graph graph = nullptr;
  Status ended =
      context->check(api.streamEndCapture(stream, &graph), "recording a graph");
  if (!recorded || !ended) {
    if (graph)
      api.graphDestroy(graph);
    return recorded ? ended : recorded;
  }
  GraphExec executable = nullptr;
  Status made = context->check(api.graphInstantiate(&executable, graph, 0),
                               "making a graph");
  api.graphDestroy(graph);
  if (!made)
    return made;
  api.graphUpload(executable, stream);
  api.memGetInfo(&freeAfter, &total);
  return std::unique_ptr<Recording>(std::make_unique<CudaRecording>(
      context, executable,
      freeBefore > freeAfter ? freeBefore - freeAfter : 0));
}

Status CudaStream::replay(Recording &recording) {
  if (Status status = context->activate(); !status)
    return status;
  isAfterKernel = false;
  const cuda::Code code = context->getApi().graphLaunch(
      static_cast<CudaRecording &>(recording).getGraph(), stream);
  return code == cuda::Code::Success
             ? Status::ok()
             : context->check(code, "the launch of a graph");
}
