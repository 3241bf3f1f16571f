//===- EmitSource.cpp - Kernels of the cuda dialect as CUDA C++ -----------===//

#include "compiler/Target/Cuda/EmitSource.h"
#include "compiler/Target/Cuda/EmitSourcePrinter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;

ArrayRef<StringRef> weft::cudaCompileFlags() {
  static constexpr StringRef flags[] = {"-std=c++17", "--fmad=false"};
  return flags;
}

std::string weft::getCudaSymbol(cuda::KernelOp kernel) {
  // CUDA declares functions such as norm() that a kernel must not be called.
  std::string symbol = "weft_";
  for (char c : kernel.getSymName())
    symbol += llvm::isAlnum(c) ? c : '_';
  return symbol;
}

rt::LaunchShape weft::getLaunchShape(cuda::KernelOp kernel) {
  rt::LaunchShape shape;
  shape.threads = kernel.getThreads();
  shape.sharedBytes = kernel.getShared();
  shape.clusterSize = kernel.getCluster();
  shape.blocksPerMultiprocessor = kernel.getBlocksPerMultiprocessor();
  shape.dependentLaunch = kernel.getDependentLaunch();
  return shape;
}

/// An attribute in one line of a comment.
static std::string printAttribute(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto string = dyn_cast_or_null<StringAttr>(attribute))
    out << string.getValue();
  else if (attribute)
    attribute.print(out);
  // A backslash at the end would make the next line a comment too.
  for (char &c : text)
    if (c == '\n' || c == '\r' || c == '\\')
      c = ' ';
  return text;
}

/// What the kernel is, and the attributes that passes left on it and on the
/// module around it.
static std::string printHeader(cuda::KernelOp kernel) {
  std::string text = "// " + printAttribute(kernel.getSymNameAttr()) +
                     ": printed by Weft for " + kernel.getArch().str() + "\n";
  auto add = [&](Operation *op) {
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      text += "// " + printAttribute(attribute.getName()) + ": " +
              printAttribute(attribute.getValue()) + "\n";
  };
  if (auto module = kernel->getParentOfType<ModuleOp>())
    add(module);
  add(kernel);
  text += "// " + std::to_string(kernel.getThreads()) + " threads, " +
          std::to_string(kernel.getShared()) + " bytes of shared memory, ";
  if (kernel.getCluster() > 1)
    text += "clusters of " + std::to_string(kernel.getCluster()) + ", ";
  if (int64_t blocks = kernel.getBlocksPerMultiprocessor())
    text += "at most " + std::to_string(blocks) +
            " blocks on a multiprocessor that loop over the items\n";
  else
    text += "one block for each item\n";
  return text;
}

FailureOr<CudaSource> weft::emitCudaSourceParts(cuda::KernelOp kernel) {
  cuda::SourcePrinter printer(kernel);
  if (failed(printer.print(getCudaSymbol(kernel))))
    return failure();
  return CudaSource{printer.getPrelude().print(),
                    printHeader(kernel) + printer.getText()};
}

FailureOr<std::string> weft::emitCudaSource(cuda::KernelOp kernel) {
  FailureOr<CudaSource> parts = emitCudaSourceParts(kernel);
  if (failed(parts))
    return failure();
  return parts->prelude + "\n" + parts->kernel;
}

/// An attribute of the kernel or of the module around it.
static Attribute findAttribute(cuda::KernelOp kernel, StringRef name) {
  if (Attribute attribute = kernel->getAttr(name))
    return attribute;
  auto module = kernel->getParentOfType<ModuleOp>();
  return module ? module->getAttr(name) : nullptr;
}

FailureOr<std::vector<CudaKernel>> weft::emitCudaKernels(ModuleOp module) {
  std::vector<CudaKernel> kernels;
  WalkResult result = module.walk([&](cuda::KernelOp kernel) {
    FailureOr<std::string> source = emitCudaSource(kernel);
    if (failed(source))
      return WalkResult::interrupt();
    Attribute programName = findAttribute(kernel, "tile.program");
    std::string program =
        programName ? printAttribute(programName) : kernel.getSymName().str();
    std::string symbol = getCudaSymbol(kernel);
    auto same = llvm::find_if(kernels, [&](const CudaKernel &other) {
      return other.program == program && other.arch == kernel.getArch() &&
             other.symbol == symbol;
    });
    if (same == kernels.end())
      same = kernels.insert(
          same, {program, symbol, kernel.getArch().str(), /*candidates=*/{}});
    same->candidates.push_back(
        {std::move(*source), getLaunchShape(kernel),
         printAttribute(findAttribute(kernel, "tile.schedule"))});
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return kernels;
}
