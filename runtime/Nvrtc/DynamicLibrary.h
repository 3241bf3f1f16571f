//===- DynamicLibrary.h - A shared library that is opened when needed -----===//

#ifndef WEFT_RUNTIME_NVRTC_DYNAMICLIBRARY_H
#define WEFT_RUNTIME_NVRTC_DYNAMICLIBRARY_H

#include "runtime/Format/Status.h"

#include <memory>
#include <string>

namespace weft::rt {

/// An open library; its code stays in the process. Immutable.
class DynamicLibrary {
public:
  /// NotFound with the system's reason. A name without a slash is looked for
  /// where the dynamic linker looks.
  static Result<std::unique_ptr<DynamicLibrary>> open(const std::string &name);

  ~DynamicLibrary();
  DynamicLibrary(const DynamicLibrary &) = delete;
  DynamicLibrary &operator=(const DynamicLibrary &) = delete;

  /// File that it was loaded from.
  std::string getPath() const;
  /// Null if there is no such function.
  void *find(const char *function) const;

private:
  explicit DynamicLibrary(void *handle) : handle(handle) {}

  void *handle;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_NVRTC_DYNAMICLIBRARY_H
