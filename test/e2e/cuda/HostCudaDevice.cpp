//===- HostCudaDevice.cpp -------------------------------------------------===//

#include "test/e2e/cuda/HostCudaDevice.h"

#include "runtime/Device/HostMemory.h"
#include "runtime/Device/HostStream.h"
#include "test/runtime/Support/RunCommand.h"

#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <stdexcept>

using namespace weft;
using namespace weft::rt;
namespace fs = std::filesystem;

namespace {

/// Runs a grid; null or what went wrong.
using Launcher = const char *(*)(void *const *buffers, const int64_t *symbols,
                                 int64_t grid);

const Code *findSource(const Kernel &kernel) {
  for (const Code &code : kernel.code)
    if (code.kind == Code::Kind::CudaSource)
      return &code;
  return nullptr;
}

class HostCudaKernel final : public LoadedKernel {
public:
  HostCudaKernel(const Kernel &kernel, const Code &code, Launcher launcher)
      : LoadedKernel(code.target), kernel(kernel), launcher(launcher) {}

  const Kernel &kernel;
  Launcher launcher;
};

class HostCudaDevice final : public HostDevice {
public:
  HostCudaDevice(const Plan &plan, const fs::path &folder) {
    fs::path library = compile(plan, folder);
    handle.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle)
      throw std::runtime_error(dlerror());
  }

  std::string_view getName() const override { return "cuda"; }
  std::string describe() const override { return "CUDA kernels on the host"; }
  unsigned getWorkerCount() const override { return 1; }

  Result<DeviceMemory> allocate(size_t size,
                                std::string_view purpose) override {
    Result<void *> data = allocateHostMemory(size, purpose);
    if (!data)
      return data.getStatus();
    return DeviceMemory(this, *data, size);
  }

  Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) override {
    const Code *code = findSource(kernel);
    std::string name = "launch_" + (code ? code->symbol : kernel.name);
    auto launcher =
        reinterpret_cast<Launcher>(dlsym(handle.get(), name.c_str()));
    if (!launcher)
      return Status::unsupported("no kernel '" + kernel.name + "'");
    return std::unique_ptr<LoadedKernel>(
        std::make_unique<HostCudaKernel>(kernel, *code, launcher));
  }

  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override {
    auto &loaded = static_cast<HostCudaKernel &>(kernel);
    if (Status status = checkLaunch(loaded.kernel, info); !status)
      return status;
    const char *error =
        loaded.launcher(info.buffers.data(), info.symbols.data(), info.grid);
    if (error)
      return Status(StatusCode::Internal,
                    "kernel '" + loaded.kernel.name + "': " + error);
    return Status::ok();
  }

  Status copy(void *destination, const void *source, size_t size) override {
    if (size != 0)
      std::memcpy(destination, source, size);
    return Status::ok();
  }
  Status fill(void *destination, uint8_t value, size_t size) override {
    if (size != 0)
      std::memset(destination, value, size);
    return Status::ok();
  }

private:
  struct Close {
    void operator()(void *library) const { dlclose(library); }
  };

  void release(void *data, size_t size) override { freeHostMemory(data, size); }

  /// A function `launch_NAME` that passes the arguments on. Pointers are passed
  /// alike whatever they point to.
  static std::string printLauncher(const Kernel &kernel, const Code &code) {
    std::string types, values;
    for (uint32_t i = 0; i < kernel.bufferCount; ++i) {
      types += "void *, ";
      values += "b[" + std::to_string(i) + "], ";
    }
    for (uint32_t i = 0; i < kernel.symbolCount; ++i) {
      types += "i64, ";
      values += "s[" + std::to_string(i) + "], ";
    }
    std::string call =
        "reinterpret_cast<void (*)(" + types + "i64)>(" + code.symbol + ")";
    return "extern \"C\" const char *launch_" + code.symbol +
           "(void *const *b, const long *s, long items) {\n"
           "  auto call = [&] { " +
           call + "(" + values +
           "items); };\n"
           "  auto run = [](const void *c) {"
           " (*static_cast<const decltype(call) *>(c))(); };\n"
           "  return weft::host::runGrid({run, &call}, " +
           std::to_string(code.launch.threads) + ", " +
           std::to_string(code.launch.sharedBytes) + ", items);\n}\n";
  }

  static fs::path compile(const Plan &plan, const fs::path &folder) {
    fs::create_directories(folder);
    fs::path source = folder / "kernels.cpp", library = folder / "kernels.so";
    std::ofstream file(source);
    file << "#include \"test/e2e/cuda/HostPrelude.h\"\n";
    for (const Kernel &kernel : plan.kernels) {
      const Code *code = findSource(kernel);
      if (!code)
        continue;
      std::string_view text(reinterpret_cast<const char *>(code->bytes.data()),
                            code->bytes.size());
      size_t start = text.find("extern \"C\" __global__");
      if (start == text.npos)
        throw std::runtime_error("no function in the source of '" +
                                 kernel.name + "'");
      file << text.substr(start) << printLauncher(kernel, *code);
    }
    file.close();
    std::string compiler =
        "'" WEFT_HOST_CXX "' -std=c++20 -fPIC -w -I'" WEFT_SOURCE_DIR "' ";
    std::string object = (folder / "kernels.o").string();
    run(compiler + "-O1 -ffp-contract=off -fsanitize=thread -c '" +
        source.string() + "' -o '" + object + "'");
    run(compiler +
        "-O2 -shared '" WEFT_SOURCE_DIR "/test/e2e/cuda/HostBlock.cpp' '" +
        object + "' -o '" + library.string() + "'");
    return library;
  }

  static void run(const std::string &command) {
    test::CommandResult result = test::runCommand(command + " 2>&1");
    if (result.exitCode != 0)
      throw std::runtime_error(command + "\n" + result.output);
  }

  std::unique_ptr<void, Close> handle;
};

} // namespace

std::shared_ptr<Device>
weft::e2e::createHostCudaDevice(const Plan &plan, const fs::path &folder) {
  return std::make_shared<HostCudaDevice>(plan, folder);
}
