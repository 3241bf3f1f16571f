//===- ConstantLoader.cpp -------------------------------------------------===//

#include "runtime/Device/Cuda/ConstantLoader.h"

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Cuda/CudaStream.h"
#include "runtime/Device/RandomValues.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace {

constexpr size_t chunkBytes = size_t(16) << 20;
/// One core reads about 10 GB/s; PCIe 5 takes about 50.
constexpr unsigned maxThreads = 8;
constexpr size_t chunksPerThread = 2;

/// A piece of a constant, at most one chunk.
struct Piece {
  const ConstantPlace *place;
  size_t offset, size;
};

std::vector<Piece> cut(std::span<const ConstantPlace> places) {
  std::vector<Piece> pieces;
  for (const ConstantPlace &place : places) {
    if (place.constant.generated.isUsed)
      continue;
    const size_t size = place.constant.bytes.size();
    for (size_t offset = 0; offset < size; offset += chunkBytes)
      pieces.push_back({&place, offset, std::min(chunkBytes, size - offset)});
  }
  return pieces;
}

/// Threads take pieces from one list until it is empty or one of them fails.
class StoredLoader {
public:
  StoredLoader(std::shared_ptr<CudaContext> context, Device &device,
               std::vector<Piece> pieces)
      : context(std::move(context)), device(device), pieces(std::move(pieces)) {
  }

  Status run() {
    const size_t count =
        std::min<size_t>({getUsableCoreCount(), maxThreads, pieces.size()});
    std::vector<std::thread> others;
    for (size_t i = 1; i < count; ++i)
      others.emplace_back([this] { work(); });
    if (count != 0)
      work();
    for (std::thread &other : others)
      other.join();
    return failure;
  }

private:
  void work() {
    if (Status status = transfer(); !status) {
      next = pieces.size(); // The others stop too.
      std::lock_guard lock(mutex);
      if (failure)
        failure = std::move(status);
    }
  }

  Status transfer() {
    Result<std::unique_ptr<CudaStream>> stream = CudaStream::create(context);
    if (!stream)
      return stream.getStatus();
    const size_t size =
        std::min(chunkBytes, std::ranges::max(pieces, {}, &Piece::size).size);
    Result<std::shared_ptr<std::byte>> memory =
        device.allocateStaging(size * chunksPerThread, "loading parameters");
    if (!memory)
      return memory.getStatus();
    for (size_t turn = 0;; ++turn) {
      const size_t index = next++;
      if (index >= pieces.size())
        break;
      const Piece &piece = pieces[index];
      const Constant &constant = piece.place->constant;
      const size_t slot = turn % chunksPerThread;
      // The transfer that used this chunk last must be done.
      if (turn >= chunksPerThread)
        if (Status status = (*stream)->waitForMark(slot); !status)
          return status;
      std::byte *chunk = memory->get() + slot * size;
      std::memcpy(chunk, constant.bytes.data() + piece.offset, piece.size);
      Status status = (*stream)->upload(
          static_cast<std::byte *>(piece.place->memory) + piece.offset, chunk,
          piece.size);
      if (status)
        status = (*stream)->markTime(slot);
      if (!status)
        return Status(status.getCode(),
                      constant.purpose + ": " + status.getMessage());
    }
    return (*stream)->synchronize();
  }

  std::shared_ptr<CudaContext> context;
  Device &device;
  std::vector<Piece> pieces;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status failure;
};

/// All generated constants of one type and deviation.
Status generate(Stream &stream, std::byte *block,
                std::span<const ConstantPlace *const> places) {
  for (const ConstantPlace *place : places) {
    auto *to = static_cast<std::byte *>(place->memory);
    size_t from = getRandomOffset(place->constant.generated.seed);
    for (size_t done = 0; done < place->constant.size;) {
      const size_t size =
          std::min(place->constant.size - done, randomBlockBytes - from);
      if (Status status = stream.copy(to + done, block + from, size); !status)
        return Status(status.getCode(),
                      place->constant.purpose + ": " + status.getMessage());
      done += size;
      from = 0;
    }
  }
  return Status::ok();
}

Status loadGenerated(std::shared_ptr<CudaContext> context, Device &device,
                     std::span<const ConstantPlace> places) {
  std::map<std::pair<DType, double>, std::vector<const ConstantPlace *>> groups;
  for (const ConstantPlace &place : places)
    if (place.constant.generated.isUsed)
      groups[{place.constant.dtype, place.constant.generated.deviation}]
          .push_back(&place);
  if (groups.empty())
    return Status::ok();
  Result<std::unique_ptr<CudaStream>> stream = CudaStream::create(context);
  if (!stream)
    return stream.getStatus();
  Result<DeviceMemory> block =
      device.allocate(randomBlockBytes, "a block of random values");
  if (!block)
    return block.getStatus();
  Result<std::shared_ptr<std::byte>> staging =
      device.allocateStaging(randomBlockBytes, "a block of random values");
  if (!staging)
    return staging.getStatus();
  for (const auto &[key, members] : groups) {
    makeRandomBlock({staging->get(), randomBlockBytes}, key.first, key.second);
    Status status =
        (*stream)->upload(block->getData(), staging->get(), randomBlockBytes);
    if (status)
      status = generate(**stream, static_cast<std::byte *>(block->getData()),
                        members);
    // The staging memory is written again for the next group.
    if (status)
      status = (*stream)->synchronize();
    if (!status)
      return status;
  }
  return Status::ok();
}

} // namespace

Status weft::rt::cuda::loadConstants(std::shared_ptr<CudaContext> context,
                                     Device &device,
                                     std::span<const ConstantPlace> places) {
  if (Status status = StoredLoader(context, device, cut(places)).run(); !status)
    return status;
  return loadGenerated(std::move(context), device, places);
}
