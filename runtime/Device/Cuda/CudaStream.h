//===- CudaStream.h - A stream of a GPU and its recordings ----------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUDASTREAM_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUDASTREAM_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <memory>
#include <vector>

namespace weft::rt::cuda {

/// Recordings are CUDA graphs made by stream capture; they keep the edges that
/// let a kernel start before its predecessor is done (programmatic dependent
/// launch, CUDA programming guide).
class CudaStream final : public Stream {
public:
  static Result<std::unique_ptr<CudaStream>>
  create(std::shared_ptr<CudaContext> context);
  ~CudaStream() override;

  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override;
  Status copy(void *destination, const void *source, size_t size) override;
  Status fill(void *destination, uint8_t value, size_t size) override;
  Status upload(void *device, const void *host, size_t size) override;
  Status download(void *host, const void *device, size_t size) override;
  Status synchronize() override;
  Status markTime(size_t slot) override;
  Result<int64_t> getTime(size_t slot) override;
  bool canRecord() const override { return true; }
  Result<std::unique_ptr<Recording>>
  record(const std::function<Status()> &work) override;
  Status replay(Recording &recording) override;

  /// Waits until the work before a mark is done.
  Status waitForMark(size_t slot);
  StreamHandle getHandle() const { return stream; }

private:
  CudaStream(std::shared_ptr<CudaContext> context, StreamHandle stream)
      : context(std::move(context)), stream(stream) {}

  /// Runs a function of the driver that issues something else than a kernel.
  template <typename Issue>
  Status issue(const char *what, size_t size, Issue function);

  std::shared_ptr<CudaContext> context;
  StreamHandle stream;
  /// Whether the last thing that was issued is a kernel, which alone can have
  /// a dependent launch.
  bool isAfterKernel = false;
  std::vector<void *> parameters; ///< Of a launch; kept to spare allocations.
  std::vector<Event> events;      ///< By slot of markTime.
  int64_t hostTime = 0;           ///< When slot 0 was marked.
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUDASTREAM_H
