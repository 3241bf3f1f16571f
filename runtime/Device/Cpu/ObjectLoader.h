//===- ObjectLoader.h - Loads one relocatable object into memory ----------===//
//
// Loads an ELF64 x86-64 object file as LLVM writes it for the PIC relocation
// model and the small code model, without a linker: all allocatable sections go
// into one mapping, text becomes executable and read-only, constants become
// read-only. Sources: System V ABI (ELF-64 Object File Format 1.5; AMD64
// Architecture Processor Supplement 1.0, relocation types).
//
// The object is validated: bounds, indices, alignments, relocation ranges. Its
// code is not; code that comes from a stranger does what it likes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CPU_OBJECTLOADER_H
#define WEFT_RUNTIME_DEVICE_CPU_OBJECTLOADER_H

#include "runtime/Format/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace weft::rt {

/// A function that objects may call by name.
struct ExternalSymbol {
  std::string_view name;
  void *address = nullptr;
};

/// memcpy, memmove and memset of the C library.
std::span<const ExternalSymbol> getMemorySymbols();

/// A loaded object. Its memory lives as long as this; thread-safe after load.
class LoadedObject {
public:
  /// Loads `object`, whose bytes are not needed afterwards. Errors: Corrupt for
  /// a malformed object; Unsupported for another machine or file type, a
  /// section or relocation kind that Weft's compiler does not emit, or an
  /// undefined symbol that `externals` does not have (with its name).
  static Result<std::unique_ptr<LoadedObject>>
  load(std::span<const uint8_t> object,
       std::span<const ExternalSymbol> externals = getMemorySymbols());

  virtual ~LoadedObject() = default;

  /// Address of a defined global function or object; null if there is none.
  virtual void *find(std::string_view name) const = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CPU_OBJECTLOADER_H
