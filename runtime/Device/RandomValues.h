//===- RandomValues.h - Values of parameters that hold no data ------------===//

#ifndef WEFT_RUNTIME_DEVICE_RANDOMVALUES_H
#define WEFT_RUNTIME_DEVICE_RANDOMVALUES_H

#include "runtime/Format/Plan.h"

#include <cstddef>
#include <span>

namespace weft::rt {

/// Bytes of the block of random values that large tensors repeat.
constexpr size_t randomBlockBytes = size_t(32) << 20;

/// Where in the block a tensor with the given seed starts, in bytes; a multiple
/// of 4 KiB, so that tensors with different seeds differ. The tensor goes on at
/// the start of the block when it comes to its end.
size_t getRandomOffset(uint64_t seed);

/// One block of values of `dtype` (f32, f16 or bf16) with mean 0 and the given
/// standard deviation: sums of four uniform numbers (Irwin and Hall), which are
/// nearly normal and never beyond 3.5 deviations. The same on every machine.
void makeRandomBlock(std::span<std::byte> block, DType dtype, double deviation);

/// Fills a tensor as getRandomOffset says.
void fillRandom(std::span<std::byte> tensor, DType dtype,
                const GeneratedValues &values);

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_RANDOMVALUES_H
