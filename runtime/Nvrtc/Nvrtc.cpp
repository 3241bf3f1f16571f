//===- Nvrtc.cpp - NVIDIA's run-time compiler, loaded when needed ---------===//

#include "runtime/Nvrtc/Nvrtc.h"

#include "runtime/Nvrtc/DynamicLibrary.h"

#include <cstdlib>
#include <filesystem>

using namespace weft::rt;

namespace {

/// Results of NVRTC's functions that are told apart here (nvrtcResult).
enum NvrtcResult : int {
  success = 0,
  outOfMemory = 1,
  invalidOption = 5,
  compilationError = 6,
  builtinOperationFailure = 7,
};

/// nvrtcProgram: a pointer to something that only NVRTC knows.
using Program = struct OpaqueProgram *;

constexpr const char *sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char *folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
constexpr const char *defaultInstallation = "/usr/local/cuda";

} // namespace

/// NVRTC's C functions; the types are those of nvrtc.h.
struct weft::rt::NvrtcFunctions {
  int (*getVersion)(int *major, int *minor);
  int (*getNumSupportedArchs)(int *count);
  int (*getSupportedArchs)(int *archs);
  const char *(*getErrorString)(int result);
  int (*createProgram)(Program *program, const char *source, const char *name,
                       int headerCount, const char *const *headers,
                       const char *const *includeNames);
  int (*destroyProgram)(Program *program);
  int (*compileProgram)(Program program, int optionCount,
                        const char *const *options);
  int (*getCubinSize)(Program program, size_t *size);
  int (*getCubin)(Program program, char *cubin);
  int (*getPtxSize)(Program program, size_t *size);
  int (*getPtx)(Program program, char *ptx);
  int (*getLogSize)(Program program, size_t *size);
  int (*getLog)(Program program, char *log);
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The name of the first function that is missing, or null.
static const char *resolve(const DynamicLibrary &library,
                           NvrtcFunctions &functions) {
  const char *missing = nullptr;
  auto get = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        library.find(name));
    if (!function && !missing)
      missing = name;
  };
  get("nvrtcVersion", functions.getVersion);
  get("nvrtcGetNumSupportedArchs", functions.getNumSupportedArchs);
  get("nvrtcGetSupportedArchs", functions.getSupportedArchs);
  get("nvrtcGetErrorString", functions.getErrorString);
  get("nvrtcCreateProgram", functions.createProgram);
  get("nvrtcDestroyProgram", functions.destroyProgram);
  get("nvrtcCompileProgram", functions.compileProgram);
  get("nvrtcGetCUBINSize", functions.getCubinSize);
  get("nvrtcGetCUBIN", functions.getCubin);
  get("nvrtcGetPTXSize", functions.getPtxSize);
  get("nvrtcGetPTX", functions.getPtx);
  get("nvrtcGetProgramLogSize", functions.getLogSize);
  get("nvrtcGetProgramLog", functions.getLog);
  return missing;
}

/// CUDA installations to look into, besides the dynamic linker's folders.
static std::vector<std::string> getInstallations(const std::string &cudaPath) {
  if (!cudaPath.empty())
    return {cudaPath};
  std::vector<std::string> installations;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable); value && *value)
      installations.push_back(value);
  installations.push_back(defaultInstallation);
  return installations;
}

using LibraryPtr = std::unique_ptr<DynamicLibrary>;

static Result<LibraryPtr> findLibrary(const std::string &cudaPath) {
  std::string problems;
  auto open = [&](const std::string &file) -> LibraryPtr {
    Result<LibraryPtr> library = DynamicLibrary::open(file);
    if (library)
      return library.take();
    std::error_code error;
    // A file that is there and cannot be loaded is worth a word.
    if (std::filesystem::exists(file, error))
      problems += "; " + library.getStatus().getMessage();
    return nullptr;
  };
  std::string searched;
  if (cudaPath.empty()) {
    searched = "the dynamic linker's folders";
    for (const char *soname : sonames)
      if (LibraryPtr library = open(soname))
        return library;
  }
  for (const std::string &installation : getInstallations(cudaPath)) {
    for (const char *soname : sonames)
      for (const char *folder : folders)
        if (LibraryPtr library =
                open(std::filesystem::path(installation) / folder / soname))
          return library;
    searched += (searched.empty() ? "" : ", ") + installation;
  }
  return Status::unsupported(
      "cannot compile for CUDA without NVRTC, NVIDIA's run-time compiler: "
      "looked for libnvrtc.so.13 and libnvrtc.so.12 in " +
      searched + problems +
      "; install the CUDA toolkit, version 12 or 13 (its NVRTC package is "
      "enough), or say where it is: weft-compile --cuda-path, or the variable "
      "CUDA_HOME");
}

Nvrtc::Nvrtc(LibraryPtr library)
    : library(std::move(library)),
      functions(std::make_unique<NvrtcFunctions>()) {}

Nvrtc::~Nvrtc() = default;

Result<Nvrtc::Ptr> Nvrtc::load(const std::string &cudaPath) {
  Result<LibraryPtr> library = findLibrary(cudaPath);
  if (!library)
    return library.getStatus();
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc(library.take()));
  if (Status status = nvrtc->prepare(); !status)
    return status;
  return Ptr(std::move(nvrtc));
}

Result<Nvrtc::Ptr> Nvrtc::open(const std::string &file) {
  Result<LibraryPtr> library = DynamicLibrary::open(file);
  if (!library)
    return Status::unsupported("cannot compile for CUDA without NVRTC, "
                               "NVIDIA's run-time compiler: " +
                               library.getStatus().getMessage());
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc(library.take()));
  if (Status status = nvrtc->prepare(); !status)
    return status;
  return Ptr(std::move(nvrtc));
}

Status Nvrtc::prepare() {
  path = library->getPath();
  if (const char *missing = resolve(*library, *functions))
    return Status::unsupported("'" + path + "' has no function " + missing +
                               "; expected NVRTC 12 or 13");
  auto &[major, minor] = versionNumber;
  if (int result = functions->getVersion(&major, &minor))
    return Status::unsupported("'" + path + "' does not tell its version: " +
                               functions->getErrorString(result));
  version = std::to_string(major) + "." + std::to_string(minor);
  // NVRTC opens this library by its name alone, when it first compiles. What is
  // loaded already is found by that name wherever it came from. If it is not
  // here, NVRTC looks in the dynamic linker's folders and says so if it fails.
  (void)DynamicLibrary::open(std::filesystem::path(path).parent_path() /
                             ("libnvrtc-builtins.so." + version));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::vector<std::string>
Nvrtc::getArguments(const std::string &arch,
                    const NvrtcOptions &options) const {
  std::vector<std::string> arguments = {"--gpu-architecture=" + arch,
                                        "--ptxas-options=-v"};
  // From 12.9 on NVRTC keeps a cache of its own. KernelCache does that, with
  // the log, which would be missing there.
  if (versionNumber >= std::pair(12, 9))
    arguments.push_back("--no-cache");
  if (options.lineInfo)
    arguments.push_back("-lineinfo");
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  return arguments;
}

std::string Nvrtc::listArchitectures() const {
  int count = 0;
  if (functions->getNumSupportedArchs(&count) || count <= 0)
    return "";
  std::vector<int> archs(count);
  if (functions->getSupportedArchs(archs.data()))
    return "";
  std::string list;
  for (int arch : archs)
    list += (list.empty() ? "sm_" : ", sm_") + std::to_string(arch);
  return list;
}

Status Nvrtc::explainFailure(int result, const std::string &log,
                             const std::string &symbol,
                             const std::string &arch) const {
  std::string where = "kernel '" + symbol + "' for " + arch;
  std::string said = std::string(functions->getErrorString(result)) +
                     (log.empty() ? "" : "\n" + log);
  switch (result) {
  case compilationError:
    return Status::invalid("NVRTC " + version + " cannot compile " + where +
                           ": " + explainErrors(log));
  case invalidOption:
    return Status::unsupported(
        "NVRTC " + version + " does not accept the options for " + where +
        ": " + said + "\nIt knows " + listArchitectures() +
        "; a newer CUDA toolkit may know more (--cuda-path)");
  case builtinOperationFailure:
    return Status::unsupported("NVRTC " + version + " at '" + path +
                               "' cannot compile " + where + ": " + said +
                               "\nIts library libnvrtc-builtins.so." + version +
                               " is missing; install it beside libnvrtc");
  case outOfMemory:
    return Status::outOfMemory("NVRTC has no memory to compile " + where +
                               ": " + said);
  default:
    return Status::internal("NVRTC " + version + " failed on " + where + ": " +
                            said);
  }
}

Result<Cubin> Nvrtc::compileToCubin(const std::string &source,
                                    const std::string &symbol,
                                    const std::string &arch,
                                    const NvrtcOptions &options) const {
  std::vector<std::string> arguments = getArguments(arch, options);
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());

  Program created = nullptr;
  if (int result = functions->createProgram(&created, source.c_str(),
                                            (symbol + ".cu").c_str(), 0,
                                            nullptr, nullptr))
    return explainFailure(result, "", symbol, arch);
  auto destroy = [this](Program program) {
    functions->destroyProgram(&program);
  };
  std::unique_ptr<OpaqueProgram, decltype(destroy)> program(created, destroy);

  // Texts come with their final NUL. NVRTC fills what getSize said.
  auto getText = [&](auto getSize, auto get, auto &text) {
    size_t size = 0;
    if (int result = getSize(program.get(), &size))
      return result;
    text.resize(size);
    return size ? get(program.get(), reinterpret_cast<char *>(text.data()))
                : int(success);
  };
  auto dropNul = [](std::string &text) {
    while (!text.empty() && text.back() == '\0')
      text.pop_back();
  };
  int result = functions->compileProgram(program.get(), int(pointers.size()),
                                         pointers.data());
  Cubin cubin;
  getText(functions->getLogSize, functions->getLog, cubin.log);
  dropNul(cubin.log);
  if (!result)
    result = getText(functions->getCubinSize, functions->getCubin, cubin.bytes);
  if (!result && options.keepPtx)
    result = getText(functions->getPtxSize, functions->getPtx, cubin.ptx);
  if (result)
    return explainFailure(result, cubin.log, symbol, arch);
  dropNul(cubin.ptx);
  cubin.report = parseCompileLog(cubin.log, symbol);
  return cubin;
}
