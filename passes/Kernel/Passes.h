//===- Passes.h - Passes of the kernel phase --------------------*- C++ -*-===//

#ifndef WEFT_PASSES_KERNEL_PASSES_H
#define WEFT_PASSES_KERNEL_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::kernel {

#define GEN_PASS_DECL
#include "passes/Kernel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Kernel/Passes.h.inc"

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_PASSES_H
