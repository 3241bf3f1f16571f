//===- EmitObject.h - LLVM IR to machine code -------------------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CPU_EMITOBJECT_H
#define WEFT_COMPILER_TARGET_CPU_EMITOBJECT_H

#include "passes/Kernel/CpuLevel.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace weft {

/// Registers the X86 target with LLVM, once per process. Thread-safe.
void initializeX86Target();

/// Optimises `module` and emits it as an ELF object (or assembly text) for the
/// level. The target must have been initialised. May run in several threads on
/// modules of different LLVMContexts.
llvm::Expected<std::vector<uint8_t>>
emitObject(llvm::Module &module, const CpuLevel &level, bool assembly);

/// Names that an ELF object uses and does not define, in symbol order.
llvm::Expected<std::vector<std::string>>
findUndefinedSymbols(llvm::ArrayRef<uint8_t> object);

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CPU_EMITOBJECT_H
