//===- CudaApiTest.cpp - Our declarations and those of cuda.h -------------===//

#include "runtime/Device/Cuda/CudaApi.h"

#include "test/runtime/Device/Cuda/FakeCuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

using namespace weft::rt;
using testing::AllOf;
using testing::HasSubstr;

#if __has_include(<cuda.h>)
static_assert(sizeof(CUdeviceptr) == sizeof(cuda::Address));
static_assert(sizeof(CUlaunchAttribute) == sizeof(cuda::LaunchAttribute));
static_assert(offsetof(CUlaunchAttribute, value) ==
              offsetof(cuda::LaunchAttribute, value));
static_assert(sizeof(CUlaunchConfig) == sizeof(cuda::LaunchConfig));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) ==
              offsetof(cuda::LaunchConfig, sharedBytes));
static_assert(offsetof(CUlaunchConfig, hStream) ==
              offsetof(cuda::LaunchConfig, stream));
static_assert(offsetof(CUlaunchConfig, attrs) ==
              offsetof(cuda::LaunchConfig, attributes));
static_assert(offsetof(CUlaunchConfig, numAttrs) ==
              offsetof(cuda::LaunchConfig, attributeCount));

#define SAME(OURS, THEIRS) static_assert(int(OURS) == int(THEIRS))
SAME(cuda::Code::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cuda::Code::NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(cuda::Code::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(cuda::Code::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(cuda::Code::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(cuda::Code::NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(cuda::Code::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cuda::Code::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(cuda::Code::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(cuda::Code::Assert, CUDA_ERROR_ASSERT);
SAME(cuda::Code::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(cuda::Code::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(cuda::Code::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(cuda::Code::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(cuda::Code::InvalidPc, CUDA_ERROR_INVALID_PC);
SAME(cuda::Code::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(cuda::DeviceAttribute::MultiprocessorCount,
     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cuda::DeviceAttribute::ClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(cuda::DeviceAttribute::L2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(cuda::DeviceAttribute::ComputeCapabilityMajor,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cuda::DeviceAttribute::ComputeCapabilityMinor,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cuda::DeviceAttribute::MaxSharedMemoryPerBlock,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(cuda::DeviceAttribute::MemoryPoolsSupported,
     CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(cuda::FunctionAttribute::StaticSharedBytes,
     CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(cuda::FunctionAttribute::MaxDynamicSharedBytes,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(cuda::FunctionAttribute::NonPortableClusterSizeAllowed,
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(cuda::poolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(cuda::streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(cuda::eventDefault, CU_EVENT_DEFAULT);
SAME(cuda::captureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(cuda::attributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(cuda::attributeProgrammaticSerial,
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
#undef SAME
#endif

namespace {

TEST(CudaApi, MissingDriverIsExplained) {
  auto api = cuda::Api::load("libweft-no-such-driver.so.1");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(api.getStatus().getMessage(),
              AllOf(HasSubstr("libweft-no-such-driver.so.1"),
                    HasSubstr("NVIDIA driver"), HasSubstr("--device cpu")));
}

TEST(CudaApi, LibraryThatIsNoDriverIsExplained) {
  auto api = cuda::Api::load("libc.so.6");
  ASSERT_FALSE(api);
  EXPECT_THAT(
      api.getStatus().getMessage(),
      AllOf(HasSubstr("'libc.so.6' has no function cu"), HasSubstr("too old")));
}

TEST(CudaApi, DriverWithoutGpuIsExplained) {
  test::FakeCuda &fake = test::resetFakeCuda();
  fake.initResult = cuda::Code::NoDevice;
  auto api = cuda::Api::load(WEFT_FAKE_CUDA);
  ASSERT_FALSE(api);
  EXPECT_THAT(api.getStatus().getMessage(), HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

} // namespace
