//===- CudaApi.cpp --------------------------------------------------------===//

#include "runtime/Device/Cuda/CudaApi.h"

#include "runtime/Nvrtc/DynamicLibrary.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

Result<std::shared_ptr<const Api>> Api::load(const std::string &library) {
  struct OpenApi : Api {
    std::unique_ptr<DynamicLibrary> library;
  };
  constexpr const char *advice =
      "; a GPU needs the NVIDIA driver. Install it, make its library visible "
      "(in containers: the NVIDIA container runtime), or choose --device cpu "
      "with a plan that was compiled for it";
  Result<std::unique_ptr<DynamicLibrary>> opened =
      DynamicLibrary::open(library);
  if (!opened)
    return Status::unsupported("the CUDA driver cannot be used: " +
                               opened.getStatus().getMessage() + advice);
  auto api = std::make_shared<OpenApi>();
  api->library = opened.take();
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        api->library->find(name));
    return function != nullptr;
  };
#define WEFT_FIND(MEMBER, NAME, PARAMETERS)                                    \
  if (!find(api->MEMBER, NAME))                                                \
    return Status::unsupported("the CUDA driver '" + library +                 \
                               "' has no function " NAME                       \
                               "; it is too old: version 12.0 or newer is "    \
                               "needed");
  WEFT_CUDA_FUNCTIONS(WEFT_FIND)
#undef WEFT_FIND
  find(api->funcGetParamInfo, "cuFuncGetParamInfo");

  if (Code code = api->init(0); code != Code::Success)
    return Status::unsupported(
        "the CUDA driver does not start: " + api->describe(code) + advice);
  return std::shared_ptr<const Api>(std::move(api));
}

std::string Api::describe(Code code) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(code, &name) != Code::Success || !name)
    return "CUDA error " + std::to_string(int(code));
  if (getErrorString(code, &text) != Code::Success || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

bool weft::rt::cuda::isSticky(Code code) {
  switch (code) {
  case Code::EccUncorrectable:
  case Code::NvlinkUncorrectable:
  case Code::IllegalAddress:
  case Code::LaunchTimeout:
  case Code::ContextIsDestroyed:
  case Code::Assert:
  case Code::HardwareStackError:
  case Code::IllegalInstruction:
  case Code::MisalignedAddress:
  case Code::InvalidAddressSpace:
  case Code::InvalidPc:
  case Code::LaunchFailed:
    return true;
  default:
    return false;
  }
}
