//===- Machine.h - The limits that a run is compared with -----------------===//

#ifndef WEFT_TOOLS_WEFTBENCH_MACHINE_H
#define WEFT_TOOLS_WEFTBENCH_MACHINE_H

#include "runtime/Device/Device.h"
#include "tools/weft-bench/Roofline.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace weft {

/// The best of everything that was measured so far. A limit that other programs
/// have disturbed is too low, never too high, so more measurements make it
/// better.
struct MachineLimits {
  /// Bytes per second, read from as many bytes as a step reads, so that a model
  /// that fits into a cache is compared with that cache.
  double bandwidth = 0;
  int64_t bufferBytes = 0;
  PeakFlops peak;
  bool isDevice = false; ///< With arithmetic of its own for 16-bit types.

  /// What bounds are made with, for a model whose weights have this type.
  double getFlopsPerSecond(const std::string &dtype) const;

  /// Measures the cores and the memory that they read; `stepBytes` as above.
  rt::Status measureHost(unsigned threads, double stepBytes);
  /// The limits of a device that tells them. A `bandwidth` that is not 0 stays.
  rt::Status measureDevice(rt::Device &device);
};

/// How much of the machine others use. Not where there is no /proc/stat: then
/// nobody does.
class OtherWork {
public:
  OtherWork();

  /// Cores that other programs (and other machines of the same host) have used
  /// on average since this was made.
  double getCores() const;

private:
  double busyAtStart; ///< Seconds of all cores, without this process.
  std::chrono::steady_clock::time_point start;
};

} // namespace weft

#endif // WEFT_TOOLS_WEFTBENCH_MACHINE_H
