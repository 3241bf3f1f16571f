//===- CudaApi.h - The part of the CUDA driver interface that is used -----===//
//
// Own declarations, so that Weft builds without CUDA; CudaApiTest.cpp compares
// them with cuda.h where that is found. Source: NVIDIA CUDA Driver API
// reference. The library is opened when a GPU is asked for and never linked.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUDAAPI_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUDAAPI_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::rt::cuda {

/// CUresult. Only what the runtime tells apart has a name.
enum class Code : int {
  Success = 0,
  OutOfMemory = 2,
  NoDevice = 100,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  NvlinkUncorrectable = 220,
  IllegalAddress = 700,
  LaunchTimeout = 702,
  ContextIsDestroyed = 709,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
};

using DeviceNumber = int;           // CUdevice
using Address = unsigned long long; // CUdeviceptr
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using StreamHandle = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;
using MemoryPool = struct CUmemPoolHandle_st *;

enum class DeviceAttribute : int {
  ClockKilohertz = 13,
  MultiprocessorCount = 16,
  L2CacheBytes = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlock = 97,
  MemoryPoolsSupported = 115,
};

enum class FunctionAttribute : int {
  StaticSharedBytes = 1,
  MaxDynamicSharedBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};

constexpr int poolReleaseThreshold = 4;        // CU_MEMPOOL_ATTR_...
constexpr unsigned streamNonBlocking = 1;      // CU_STREAM_NON_BLOCKING
constexpr unsigned eventDefault = 0;           // CU_EVENT_DEFAULT
constexpr int captureModeThreadLocal = 1;      // CU_STREAM_CAPTURE_MODE_...
constexpr int attributeClusterDimension = 4;   // CU_LAUNCH_ATTRIBUTE_...
constexpr int attributeProgrammaticSerial = 6; // Likewise.

/// CUlaunchAttribute.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } clusterDimension;
    int programmaticSerial;
  } value;
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// Every function as (member, exported name, parameters). The names end in the
/// version of the signature, as cuda.h's macros give them.
#define WEFT_CUDA_FUNCTIONS(F)                                                 \
  F(getErrorName, "cuGetErrorName", (Code, const char **))                     \
  F(getErrorString, "cuGetErrorString", (Code, const char **))                 \
  F(init, "cuInit", (unsigned))                                                \
  F(driverGetVersion, "cuDriverGetVersion", (int *))                           \
  F(deviceGetCount, "cuDeviceGetCount", (int *))                               \
  F(deviceGet, "cuDeviceGet", (DeviceNumber *, int))                           \
  F(deviceGetName, "cuDeviceGetName", (char *, int, DeviceNumber))             \
  F(deviceGetAttribute, "cuDeviceGetAttribute",                                \
    (int *, DeviceAttribute, DeviceNumber))                                    \
  F(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, DeviceNumber))           \
  F(deviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool",                      \
    (MemoryPool *, DeviceNumber))                                              \
  F(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context *, DeviceNumber))   \
  F(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceNumber))         \
  F(ctxSetCurrent, "cuCtxSetCurrent", (Context))                               \
  F(memGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                       \
  F(memPoolSetAttribute, "cuMemPoolSetAttribute", (MemoryPool, int, void *))   \
  F(memAllocAsync, "cuMemAllocAsync", (Address *, size_t, StreamHandle))       \
  F(memFreeAsync, "cuMemFreeAsync", (Address, StreamHandle))                   \
  F(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))               \
  F(memFreeHost, "cuMemFreeHost", (void *))                                    \
  F(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (Address, const void *, size_t, StreamHandle))                             \
  F(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, Address, size_t, StreamHandle))                                   \
  F(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                   \
    (Address, Address, size_t, StreamHandle))                                  \
  F(memsetD8Async, "cuMemsetD8Async",                                          \
    (Address, unsigned char, size_t, StreamHandle))                            \
  F(moduleLoadData, "cuModuleLoadData", (Module *, const void *))              \
  F(moduleUnload, "cuModuleUnload", (Module))                                  \
  F(moduleGetFunction, "cuModuleGetFunction",                                  \
    (Function *, Module, const char *))                                        \
  F(funcGetAttribute, "cuFuncGetAttribute",                                    \
    (int *, FunctionAttribute, Function))                                      \
  F(funcSetAttribute, "cuFuncSetAttribute",                                    \
    (Function, FunctionAttribute, int))                                        \
  F(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                  \
    (int *, Function, int, size_t))                                            \
  F(launchKernelEx, "cuLaunchKernelEx",                                        \
    (const LaunchConfig *, Function, void **, void **))                        \
  F(streamCreate, "cuStreamCreate", (StreamHandle *, unsigned))                \
  F(streamDestroy, "cuStreamDestroy_v2", (StreamHandle))                       \
  F(streamSynchronize, "cuStreamSynchronize", (StreamHandle))                  \
  F(streamBeginCapture, "cuStreamBeginCapture_v2", (StreamHandle, int))        \
  F(streamEndCapture, "cuStreamEndCapture", (StreamHandle, Graph *))           \
  F(eventCreate, "cuEventCreate", (Event *, unsigned))                         \
  F(eventDestroy, "cuEventDestroy_v2", (Event))                                \
  F(eventRecord, "cuEventRecord", (Event, StreamHandle))                       \
  F(eventSynchronize, "cuEventSynchronize", (Event))                           \
  F(eventElapsedTime, "cuEventElapsedTime", (float *, Event, Event))           \
  F(graphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (GraphExec *, Graph, unsigned long long))                                  \
  F(graphUpload, "cuGraphUpload", (GraphExec, StreamHandle))                   \
  F(graphLaunch, "cuGraphLaunch", (GraphExec, StreamHandle))                   \
  F(graphExecDestroy, "cuGraphExecDestroy", (GraphExec))                       \
  F(graphDestroy, "cuGraphDestroy", (Graph))

/// The functions of an opened driver library, which stays open while this
/// lives. Immutable.
struct Api {
#define WEFT_DECLARE(MEMBER, NAME, PARAMETERS) Code(*MEMBER) PARAMETERS;
  WEFT_CUDA_FUNCTIONS(WEFT_DECLARE)
#undef WEFT_DECLARE
  /// Since CUDA 12.4; null before.
  Code (*funcGetParamInfo)(Function, size_t, size_t *, size_t *);

  /// Opens the driver and initialises it. Unsupported if the library or one of
  /// the functions is missing or there is no GPU; the message says what was
  /// looked for and what to do. `library` is another file in tests.
  static Result<std::shared_ptr<const Api>>
  load(const std::string &library = "libcuda.so.1");

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string describe(Code code) const;
};

/// Whether an error leaves the process's context on the device unusable.
bool isSticky(Code code);

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUDAAPI_H
