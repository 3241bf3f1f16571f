//===- CudaArch.cpp - The table of GPU architectures ----------------------===//

#include "passes/Kernel/CudaArch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace weft;

static constexpr unsigned kilobytes(unsigned count) { return count * 1024; }

ArrayRef<CudaArch> weft::getCudaArchs() {
  // The system keeps 1 KiB of shared memory for each block. On 12.0 clusters
  // exist but have no multicast and no gain, so schedules may not use them.
  static const CudaArch archs[] = {
      {"sm_80", 8, 0, 108, kilobytes(163), kilobytes(164), 2048, 32,
       /*maxCluster=*/1,
       /*hasCpAsync=*/true, /*hasBulkCopy=*/false, /*hasWgmma=*/false,
       /*hasDependentLaunch=*/false},
      {"sm_86", 8, 6, 84, kilobytes(99), kilobytes(100), 1536, 16,
       /*maxCluster=*/1,
       /*hasCpAsync=*/true, /*hasBulkCopy=*/false, /*hasWgmma=*/false,
       /*hasDependentLaunch=*/false},
      {"sm_89", 8, 9, 142, kilobytes(99), kilobytes(100), 1536, 24,
       /*maxCluster=*/1,
       /*hasCpAsync=*/true, /*hasBulkCopy=*/false, /*hasWgmma=*/false,
       /*hasDependentLaunch=*/false},
      {"sm_90", 9, 0, 132, kilobytes(227), kilobytes(228), 2048, 32,
       /*maxCluster=*/8,
       /*hasCpAsync=*/true, /*hasBulkCopy=*/true, /*hasWgmma=*/false,
       /*hasDependentLaunch=*/true},
      {"sm_90a", 9, 0, 132, kilobytes(227), kilobytes(228), 2048, 32,
       /*maxCluster=*/8,
       /*hasCpAsync=*/true, /*hasBulkCopy=*/true, /*hasWgmma=*/true,
       /*hasDependentLaunch=*/true},
      {"sm_100a", 10, 0, 148, kilobytes(227), kilobytes(228), 2048, 32,
       /*maxCluster=*/8, /*hasCpAsync=*/true, /*hasBulkCopy=*/true,
       /*hasWgmma=*/false, /*hasDependentLaunch=*/true},
      {"sm_120a", 12, 0, 188, kilobytes(99), kilobytes(100), 1536, 24,
       /*maxCluster=*/1, /*hasCpAsync=*/true, /*hasBulkCopy=*/true,
       /*hasWgmma=*/false, /*hasDependentLaunch=*/true},
  };
  return archs;
}

const CudaArch *weft::findCudaArch(StringRef name) {
  const CudaArch *found = find_if(
      getCudaArchs(), [&](const CudaArch &arch) { return arch.name == name; });
  return found == getCudaArchs().end() ? nullptr : found;
}

std::string weft::listCudaArchs() {
  return join(map_range(getCudaArchs(),
                        [](const CudaArch &arch) { return arch.name.str(); }),
              ", ");
}
