//===- Nvrtc.cpp ----------------------------------------------------------===//

#include "runtime/Device/Cuda/Nvrtc.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

Result<std::unique_ptr<Nvrtc>>
Nvrtc::open(std::span<const std::string> libraries) {
  std::string reasons;
  for (const std::string &name : libraries) {
    Result<std::unique_ptr<DynamicLibrary>> library =
        DynamicLibrary::open(name);
    if (!library) {
      reasons +=
          (reasons.empty() ? "" : "; ") + library.getStatus().getMessage();
      continue;
    }
    std::unique_ptr<Nvrtc> nvrtc(new Nvrtc());
    nvrtc->library = library.take();
    auto find = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          nvrtc->library->find(symbol));
      return function != nullptr;
    };
    bool isComplete = true;
#define WEFT_FIND(RESULT, MEMBER, NAME, PARAMETERS)                            \
  isComplete &= find(nvrtc->MEMBER, NAME);
    WEFT_NVRTC_FUNCTIONS(WEFT_FIND)
#undef WEFT_FIND
    int major = 0, minor = 0;
    if (!isComplete || nvrtc->version(&major, &minor) != 0) {
      reasons +=
          (reasons.empty() ? "'" : "; '") + name + "' lacks functions of NVRTC";
      continue;
    }
    nvrtc->versionText = std::to_string(major) + "." + std::to_string(minor);
    return nvrtc;
  }
  return Status::unsupported(
      "it would have to be compiled here, for which NVRTC of CUDA 12 or 13 is "
      "needed (" +
      reasons + "); install it or put its folder into LD_LIBRARY_PATH");
}

std::string Nvrtc::explain(void *program, int result) const {
  std::string text = getErrorString(result);
  size_t size = 0;
  if (!program || getLogSize(program, &size) != 0 || size <= 1)
    return text;
  std::string log(size, '\0');
  if (getLog(program, log.data()) != 0)
    return text;
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  // The first errors say what is wrong; hundreds follow from them.
  constexpr size_t most = 1000;
  if (log.size() > most)
    log = log.substr(0, most) + "...";
  return text + ": " + log;
}

Result<std::vector<uint8_t>>
Nvrtc::compile(const std::string &source, const std::string &name,
               std::span<const std::string> options) const {
  struct Program {
    const Nvrtc &nvrtc;
    void *handle = nullptr;
    ~Program() {
      if (handle)
        nvrtc.destroyProgram(&handle);
    }
  } program{*this};
  auto fail = [&](int result) {
    return Status::unsupported(
        "NVRTC " + versionText +
        " does not compile it: " + explain(program.handle, result));
  };
  if (int result = createProgram(&program.handle, source.c_str(), name.c_str(),
                                 0, nullptr, nullptr))
    return fail(result);
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());
  if (int result =
          compileProgram(program.handle, int(pointers.size()), pointers.data()))
    return fail(result);
  size_t size = 0;
  if (int result = getCubinSize(program.handle, &size))
    return fail(result);
  std::vector<uint8_t> cubin(size);
  if (int result =
          getCubin(program.handle, reinterpret_cast<char *>(cubin.data())))
    return fail(result);
  return cubin;
}
