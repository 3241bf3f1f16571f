//===- Reproducer.h - A kernel as a program of its own ----------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CUDA_REPRODUCER_H
#define WEFT_COMPILER_TARGET_CUDA_REPRODUCER_H

#include "runtime/Format/Plan.h"

#include <string>

namespace weft {

/// A CUDA C++ program for nvcc that includes a kernel's source, allocates its
/// buffers with random data, launches it as the runtime does and times it. The
/// sizes are those of the first command of the plan that launches the kernel;
/// the plan's symbols are constants at the top. Inputs of a step (positions,
/// tables, ...) get consistent values by their names (docs/architecture.md),
/// other integers are 0. Empty if no command launches the kernel.
///
/// `code` is the source of plan.kernels[kernel] to reproduce, in the file
/// `sourceFile` beside the program.
std::string writeReproducer(const rt::Plan &plan, size_t kernel,
                            const rt::Code &code,
                            const std::string &sourceFile);

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_REPRODUCER_H
