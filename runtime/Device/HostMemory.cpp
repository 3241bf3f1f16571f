//===- HostMemory.cpp -----------------------------------------------------===//

#include "runtime/Device/HostMemory.h"

#include "runtime/Format/ByteSize.h"

#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/sysinfo.h>

using namespace weft::rt;

namespace {

constexpr size_t pageSize = 4096;
/// Pages of 2 MiB spare the TLB where a buffer has at least a few of them.
constexpr size_t hugePageThreshold = 8u << 20;

/// Bytes to map for a request; 0 on overflow.
size_t roundToPages(size_t size) {
  size_t rounded = (size + pageSize - 1) & ~(pageSize - 1);
  if (rounded < size)
    return 0;
  return rounded == 0 ? pageSize : rounded;
}

uint64_t getMachineMemory() {
  struct sysinfo info;
  if (sysinfo(&info) != 0)
    return UINT64_MAX;
  return (uint64_t(info.totalram) + info.totalswap) * info.mem_unit;
}

} // namespace

Result<void *> weft::rt::allocateHostMemory(size_t size,
                                            std::string_view purpose) {
  uint64_t machine = getMachineMemory();
  size_t mapped = roundToPages(size);
  // With overcommit the kernel promises more than there is and kills the
  // process at the first write; a size that can never be met is refused here.
  void *data = MAP_FAILED;
  if (mapped != 0 && mapped <= machine)
    data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return Status::outOfMemory(
        "cannot allocate " + formatBytes(size) + " (" + std::to_string(size) +
        " bytes) for " + std::string(purpose) + "; the machine has " +
        formatBytes(machine) +
        " of memory and swap. Use smaller limits (tokens per step, sequences, "
        "context) or free memory");
  if (mapped >= hugePageThreshold)
    madvise(data, mapped, MADV_HUGEPAGE); // Only advice; refusal is harmless.
  return data;
}

uint64_t weft::rt::getAvailableMemory() {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  uint64_t kibibytes = 0;
  while (in >> name >> kibibytes) {
    if (name == "MemAvailable:")
      return kibibytes * 1024;
    std::getline(in, unit);
  }
  return 0;
}

void weft::rt::freeHostMemory(void *data, size_t size) {
  munmap(data, roundToPages(size));
}
