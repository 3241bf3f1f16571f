//===- DumpKernels.cpp - CUDA kernels as files for people -----------------===//

#include "compiler/Target/Cuda/DumpKernels.h"
#include "compiler/Target/Cuda/Reproducer.h"
#include "passes/Kernel/CudaArch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace weft;

/// A name of a file without folders.
static std::string makeFileName(const CompiledCudaKernel &kernel) {
  std::string name = kernel.program + "." + kernel.arch;
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '.' && c != '-')
      c = '_';
  return name;
}

static llvm::Error writeFile(llvm::StringRef folder, const llvm::Twine &name,
                             llvm::StringRef content) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return llvm::createStringError("cannot write '" + path.str().str() +
                                   "': " + error.message());
  return llvm::Error::success();
}

/// Blocks that fit on one multiprocessor together.
static unsigned getOccupancy(const CudaArch &arch,
                             const rt::KernelResources &resources,
                             const rt::LaunchShape &launch) {
  // Registers are given to warps in units of 256; the system keeps 1 KiB of
  // shared memory for each block.
  uint64_t warpRegisters = llvm::alignTo(resources.registers * 32, 256);
  uint64_t warps = llvm::divideCeil(launch.threads, 32u);
  uint64_t shared = resources.staticSharedBytes + launch.sharedBytes + 1024;
  return unsigned(std::min<uint64_t>(
      {arch.blocksPerMultiprocessor,
       arch.threadsPerMultiprocessor / std::max<uint64_t>(warps * 32, 1),
       CudaArch::registers / std::max<uint64_t>(warpRegisters * warps, 1),
       arch.sharedBytesPerMultiprocessor / shared}));
}

static std::string writeReport(const CompiledCudaKernel &kernel,
                               const rt::Kernel *record,
                               const std::string &nvrtcVersion) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const rt::LaunchShape &launch = kernel.cubin.launch;
  stream << "kernel           " << kernel.program << "\n"
         << "computes         " << (record ? record->program : "?") << "\n"
         << "function         " << kernel.cubin.symbol << "\n"
         << "architecture     " << kernel.arch << "\n"
         << "schedule         " << kernel.schedule << "\n"
         << "threads          " << launch.threads << "\n"
         << "shared memory    " << launch.sharedBytes << " dynamic";
  if (const auto &resources = kernel.details.report.resources) {
    stream << ", " << resources->staticSharedBytes << " static bytes\n"
           << "registers        " << resources->registers << "\n"
           << "barriers         " << resources->barriers << "\n"
           << "stack, spills    " << resources->stackBytes << ", "
           << resources->spillStoreBytes << " stored, "
           << resources->spillLoadBytes << " loaded bytes";
    if (const CudaArch *arch = findCudaArch(kernel.arch))
      stream << "\noccupancy        " << getOccupancy(*arch, *resources, launch)
             << " blocks on a multiprocessor";
  }
  stream << "\ncluster          " << launch.clusterSize << "\n"
         << "grid             ";
  if (launch.blocksPerMultiprocessor)
    stream << "at most " << launch.blocksPerMultiprocessor
           << " blocks on a multiprocessor, which loop over the items\n";
  else
    stream << "one block for each item\n";
  stream << "dependent launch " << (launch.dependentLaunch ? "yes" : "no")
         << "\n"
         << "cubin            " << kernel.cubin.bytes.size() << " bytes, "
         << (kernel.fromCache ? "from the cache" : "compiled") << ", NVRTC "
         << nvrtcVersion << "\n"
         << "options         ";
  for (const std::string &option : kernel.source.features)
    stream << " " << option;
  stream << "\n";
  if (!kernel.notes.empty())
    stream << "\nnotes\n";
  for (const std::string &note : kernel.notes)
    stream << "  " << note << "\n";
  stream << "\nlog\n" << kernel.details.log;
  return text;
}

static llvm::Error dumpKernel(const rt::Plan &plan,
                              const CompiledCudaKernel &kernel,
                              const std::string &nvrtcVersion,
                              const std::string &folder) {
  auto found =
      std::ranges::find(plan.kernels, kernel.program, &rt::Kernel::name);
  const rt::Kernel *record = found == plan.kernels.end() ? nullptr : &*found;
  std::string name = makeFileName(kernel);
  std::string main = record
                         ? writeReproducer(plan, found - plan.kernels.begin(),
                                           kernel.source, name + ".cu")
                         : "";
  auto toText = [](const rt::Bytes &bytes) {
    return llvm::toStringRef(llvm::ArrayRef(bytes.data(), bytes.size()));
  };
  const std::pair<const char *, llvm::StringRef> optional[] = {
      {".ptx", kernel.details.ptx}, {".main.cu", main}};
  std::string report = writeReport(kernel, record, nvrtcVersion);
  if (llvm::Error error =
          writeFile(folder, name + ".cu", toText(kernel.source.bytes)))
    return error;
  if (llvm::Error error =
          writeFile(folder, name + ".cubin", toText(kernel.cubin.bytes)))
    return error;
  if (llvm::Error error = writeFile(folder, name + ".txt", report))
    return error;
  for (auto [suffix, content] : optional)
    if (!content.empty())
      if (llvm::Error error = writeFile(folder, name + suffix, content))
        return error;
  return llvm::Error::success();
}

llvm::Error weft::dumpKernels(const rt::Plan &plan,
                              llvm::ArrayRef<CompiledCudaKernel> kernels,
                              const std::string &nvrtcVersion,
                              const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot create '" + folder +
                                   "': " + error.message());
  for (const CompiledCudaKernel &kernel : kernels)
    if (llvm::Error error = dumpKernel(plan, kernel, nvrtcVersion, folder))
      return error;
  return llvm::Error::success();
}
