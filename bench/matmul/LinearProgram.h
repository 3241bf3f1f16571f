//===- LinearProgram.h - Text of linear layers as tile programs -*- C++ -*-===//

#ifndef WEFT_BENCH_MATMUL_LINEARPROGRAM_H
#define WEFT_BENCH_MATMUL_LINEARPROGRAM_H

#include <cstdint>
#include <string>

namespace weft::bench {

/// y [T, N] f32 = x [T, K] times w, where w is packed in panels
/// [N / 64, K / group, 64, group].
struct LinearProgram {
  std::string level = "x86-64-v4";
  int64_t inner = 0, columns = 0;
  std::string left = "f32", right = "f32";
  int64_t group = 1;
  bool dot = false;
  /// Register tile and steps of k per iteration.
  int64_t rows = 6, width = 64, unroll = 4;
  /// Panels that a single row reads at once, each as its own stream.
  int64_t panels = 1;
  /// Rows and columns of a work item.
  int64_t rowBlock = 48, columnBlock = 64;

  /// A program named `name` with the symbol "tokens".
  std::string print(const std::string &name) const;
};

} // namespace weft::bench

#endif // WEFT_BENCH_MATMUL_LINEARPROGRAM_H
