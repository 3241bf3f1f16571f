//===- HostFeatures.h - What the processor can execute --------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CPU_HOSTFEATURES_H
#define WEFT_RUNTIME_DEVICE_CPU_HOSTFEATURES_H

#include <span>
#include <string>
#include <vector>

namespace weft::rt {

/// LLVM names ("avx2", "fma", "avx512bf16", ...) of the instruction sets that
/// this processor has and whose registers the operating system saves (XGETBV),
/// sorted. Only names that Weft's targets use are known. Empty on machines that
/// are not x86-64.
const std::vector<std::string> &getHostFeatures();

/// Whether getHostFeatures has all the given names. A name that is not known
/// counts as missing.
bool hasAllFeatures(std::span<const std::string> features);

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CPU_HOSTFEATURES_H
