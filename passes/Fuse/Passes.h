//===- Passes.h - Passes of the fuse phase ----------------------*- C++ -*-===//

#ifndef WEFT_PASSES_FUSE_PASSES_H
#define WEFT_PASSES_FUSE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft::fuse {

#define GEN_PASS_DECL
#include "passes/Fuse/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Fuse/Passes.h.inc"

} // namespace weft::fuse

#endif // WEFT_PASSES_FUSE_PASSES_H
