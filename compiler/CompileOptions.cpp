//===- CompileOptions.cpp - What a compilation is asked to do -------------===//

#include "compiler/CompileOptions.h"

#include "passes/Kernel/CpuLevel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace weft;

llvm::Expected<std::vector<std::string>>
weft::parseTarget(llvm::StringRef target) {
  auto [kind, names] = target.split(':');
  if (kind != "cpu")
    return llvm::createStringError("unknown target '" + target.str() +
                                   "'; expected cpu or cpu:LEVEL[,LEVEL...]");
  std::vector<std::string> levels;
  if (names.empty()) {
    const CpuLevel &baseline = getCpuLevels().front();
    const CpuLevel &host = getHostCpuLevel();
    levels.push_back(baseline.name.str());
    if (host.name != baseline.name)
      levels.push_back(host.name.str());
    return levels;
  }
  llvm::SmallVector<llvm::StringRef> parts;
  names.split(parts, ',');
  // Baseline first, whatever the order on the command line.
  for (const CpuLevel &level : getCpuLevels())
    if (llvm::is_contained(parts, level.name))
      levels.push_back(level.name.str());
  for (llvm::StringRef part : parts)
    if (!findCpuLevel(part))
      return llvm::createStringError("unknown CPU level '" + part.str() +
                                     "'; expected one of " + listCpuLevels());
  return levels;
}
