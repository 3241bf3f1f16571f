//===- Roofline.h - What this machine can do at most ----------------------===//
//
// Short measurements that the benchmark's figures are compared with, taken
// with the same number of threads: reading memory and multiply-adds in
// registers. After Williams, Waterman and Patterson, "Roofline: an insightful
// visual performance model" (CACM 2009).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_WEFTBENCH_ROOFLINE_H
#define WEFT_TOOLS_WEFTBENCH_ROOFLINE_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <string>

namespace weft {

/// Bytes per second that `threads` threads read together from a buffer of
/// `bytes` bytes (at least 64 KiB per thread), best of several passes. A buffer
/// that fits into caches measures the caches. OutOfMemory if it cannot be
/// allocated.
rt::Result<double> measureReadBandwidth(unsigned threads, size_t bytes);

struct PeakFlops {
  double f32 = 0;  ///< FLOP/s with f32 multiply-adds.
  double bf16 = 0; ///< With bf16 dot products into f32; 0: not available.
  std::string instructions; ///< "avx512f", "avx512bf16", ...
};

/// FLOP/s (a multiply-add is two) of `threads` threads with the widest vectors
/// that the processor has, best of several passes.
PeakFlops measurePeakFlops(unsigned threads);

} // namespace weft

#endif // WEFT_TOOLS_WEFTBENCH_ROOFLINE_H
