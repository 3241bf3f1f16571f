//===- HostKernels.cpp ----------------------------------------------------===//

#include "test/e2e/cuda/HostKernels.h"

#include "test/e2e/cuda/HostThreads.h"
#include "test/runtime/Support/RunCommand.h"

#include <dlfcn.h>
#include <fstream>
#include <stdexcept>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

/// Runs a grid; null or what went wrong. All but the arguments and the number
/// of items are in the launch.
using Launcher = const char *(*)(void *const *buffers, const int64_t *symbols,
                                 int64_t items, const host::Launch *launch);

/// A function `launch_NAME` that passes the arguments on. Pointers are passed
/// alike whatever they point to. Its own accesses are none of the kernel's.
std::string printLauncher(const HostKernelSource &source) {
  std::string types, values;
  for (uint32_t i = 0; i < source.bufferCount; ++i) {
    types += "void *, ";
    values += "b[" + std::to_string(i) + "], ";
  }
  for (uint32_t i = 0; i < source.symbolCount; ++i) {
    types += "i64, ";
    values += "s[" + std::to_string(i) + "], ";
  }
  const rt::LaunchShape &shape = source.shape;
  // As many clusters as items, or so few that a cluster has several.
  std::string clusters =
      shape.blocksPerMultiprocessor == 0 ? "items" : "items < 2 ? items : 2";
  std::string unchecked = "__attribute__((no_sanitize(\"thread\"))) ";
  std::string call = "reinterpret_cast<void (*)(" + types + "i64)>(" +
                     source.symbol + ")(" + values + "items);";
  return "extern \"C\" " + unchecked + "const char *launch_" + source.symbol +
         "(void *const *b, const long *s, long items, "
         "const weft::host::Launch *shape) {\n"
         "  auto call = [&]() " +
         unchecked + "{ " + call +
         " };\n"
         "  auto run = [](const void *c) " +
         unchecked +
         "{ (*static_cast<const decltype(call) *>(c))(); };\n"
         "  weft::host::Launch launch = *shape;\n"
         "  launch.threads = " +
         std::to_string(shape.threads) +
         ";\n"
         "  launch.sharedBytes = " +
         std::to_string(shape.sharedBytes) +
         ";\n"
         "  launch.clusterSize = " +
         std::to_string(shape.clusterSize) +
         ";\n"
         "  launch.dependent = " +
         (shape.dependentLaunch ? "true" : "false") +
         ";\n"
         "  return weft::host::runGrid({run, &call}, launch, " +
         clusters + ");\n}\n";
}

void runCompiler(const std::string &command) {
  test::CommandResult result = test::runCommand(command + " 2>&1");
  if (result.exitCode != 0)
    throw std::runtime_error(command + "\n" + result.output);
}

} // namespace

void HostKernels::Close::operator()(void *library) const { dlclose(library); }

HostKernels::HostKernels(std::span<const HostKernelSource> sources,
                         const fs::path &folder) {
  fs::create_directories(folder);
  fs::path text = folder / "kernels.cpp", library = folder / "kernels.so";
  std::ofstream file(text);
  file << "#include \"test/e2e/cuda/HostPrelude.h\"\n"
          "extern \"C\" void start_step() { weft::host::startStep(); }\n";
  for (const HostKernelSource &source : sources) {
    size_t start = source.text.find("extern \"C\" __global__");
    if (start == std::string::npos)
      throw std::runtime_error("no function in the source of '" +
                               source.symbol + "'");
    file << source.text.substr(start) << printLauncher(source);
  }
  file.close();
  std::string compiler =
      "'" WEFT_HOST_CXX "' -std=c++20 -fPIC -w -I'" WEFT_SOURCE_DIR "' ";
  std::string object = (folder / "kernels.o").string();
  runCompiler(compiler + "-O1 -ffp-contract=off -fsanitize=thread -c '" +
              text.string() + "' -o '" + object + "'");
  // No runtime of the sanitizer: its functions are in the archive.
  runCompiler(compiler + "-shared '" + object +
              "' '" WEFT_HOST_THREADS "' -o '" + library.string() + "'");
  handle.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle)
    throw std::runtime_error(dlerror());
}

bool HostKernels::has(const std::string &symbol) const {
  return dlsym(handle.get(), ("launch_" + symbol).c_str()) != nullptr;
}

void HostKernels::startStep() const {
  reinterpret_cast<void (*)()>(dlsym(handle.get(), "start_step"))();
}

std::string HostKernels::run(const std::string &symbol,
                             const HostLaunch &launch) const {
  auto launcher = reinterpret_cast<Launcher>(
      dlsym(handle.get(), ("launch_" + symbol).c_str()));
  if (!launcher)
    return "no kernel '" + symbol + "'";
  host::Launch shape = {};
  shape.buffers = launch.buffers.data();
  shape.bufferCount = unsigned(launch.buffers.size());
  shape.seed = launch.seed;
  shape.findsRaces = launch.findsRaces;
  const char *error = launcher(launch.buffers.data(), launch.symbols.data(),
                               launch.items, &shape);
  return error ? error : "";
}
