//===- CompileOptions.cpp - What a compilation is asked to do -------------===//

#include "compiler/CompileOptions.h"

#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/CudaArch.h"
#include "runtime/Format/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace weft;

std::string Target::getName() const {
  if (!isCuda())
    return "cpu";
  std::string name = "cuda:" + llvm::join(cudaArchs, ",");
  return name.size() < rt::layout::targetCapacity ? name : "cuda";
}

/// The entries of `table` that are named, in the table's order, whatever the
/// order on the command line. `list` gives all names, for a message.
template <typename Entry>
static llvm::Expected<std::vector<std::string>>
parseNames(llvm::StringRef names, llvm::ArrayRef<Entry> table,
           llvm::StringRef what, std::string (*list)()) {
  llvm::SmallVector<llvm::StringRef> parts;
  names.split(parts, ',');
  std::vector<std::string> chosen;
  for (const Entry &entry : table)
    if (llvm::is_contained(parts, entry.name))
      chosen.push_back(entry.name.str());
  for (llvm::StringRef part : parts)
    if (!llvm::is_contained(chosen, part))
      return llvm::createStringError("unknown " + what.str() + " '" +
                                     part.str() + "'; expected one of " +
                                     list());
  return chosen;
}

static std::vector<std::string> getDefaultCpuLevels() {
  const CpuLevel &baseline = getCpuLevels().front();
  const CpuLevel &host = getHostCpuLevel();
  std::vector<std::string> levels = {baseline.name.str()};
  if (host.name != baseline.name)
    levels.push_back(host.name.str());
  return levels;
}

llvm::Expected<Target> weft::parseTarget(llvm::StringRef text) {
  auto [kind, names] = text.split(':');
  Target target;
  if (text == "cpu") {
    target.cpuLevels = getDefaultCpuLevels();
    return target;
  }
  if (kind == "cpu" && names.empty())
    return llvm::createStringError(
        "the target 'cpu:' names no level; expected cpu, or "
        "cpu:LEVEL[,LEVEL...] with " +
        listCpuLevels());
  if (kind == "cpu") {
    auto levels = parseNames(names, getCpuLevels(), "CPU level", listCpuLevels);
    if (!levels)
      return levels.takeError();
    target.cpuLevels = std::move(*levels);
    return target;
  }
  if (kind == "cuda" && names.empty())
    return llvm::createStringError(
        "the target '" + text.str() +
        "' needs an architecture: cuda:ARCH[,ARCH...] with " + listCudaArchs());
  if (kind == "cuda") {
    auto archs =
        parseNames(names, getCudaArchs(), "CUDA architecture", listCudaArchs);
    if (!archs)
      return archs.takeError();
    target.cudaArchs = std::move(*archs);
    return target;
  }
  return llvm::createStringError(
      "unknown target '" + text.str() +
      "'; expected cpu, cpu:LEVEL[,LEVEL...] with " + listCpuLevels() +
      ", or cuda:ARCH[,ARCH...] with " + listCudaArchs());
}
