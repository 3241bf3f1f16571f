//===- HostMemory.h - Zeroed, aligned memory of the host ------------------===//

#ifndef WEFT_RUNTIME_DEVICE_HOSTMEMORY_H
#define WEFT_RUNTIME_DEVICE_HOSTMEMORY_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::rt {

/// Maps zeroed pages. They take physical memory when they are first written,
/// so that a cache for a long context costs what is used of it. Refuses what
/// is larger than the memory of the machine or than a limit of the process;
/// the message names `purpose`, the size and what there is.
Result<void *> allocateHostMemory(size_t size, std::string_view purpose);

/// Frees what allocateHostMemory gave for the same size.
void freeHostMemory(void *data, size_t size);

/// Bytes that the system could give now without swapping (MemAvailable of
/// /proc/meminfo); 0 if it does not tell.
uint64_t getAvailableMemory();

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_HOSTMEMORY_H
