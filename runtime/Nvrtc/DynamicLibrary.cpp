//===- DynamicLibrary.cpp -------------------------------------------------===//

#include "runtime/Nvrtc/DynamicLibrary.h"

#include <dlfcn.h>
#include <link.h>

using namespace weft::rt;

Result<std::unique_ptr<DynamicLibrary>>
DynamicLibrary::open(const std::string &name) {
  // Drivers leave threads and exit handlers behind, so the code must stay.
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *reason = dlerror();
    return Status::notFound(reason ? reason : "'" + name + "' does not open");
  }
  return std::unique_ptr<DynamicLibrary>(new DynamicLibrary(handle));
}

DynamicLibrary::~DynamicLibrary() { dlclose(handle); }

std::string DynamicLibrary::getPath() const {
  link_map *map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

void *DynamicLibrary::find(const char *function) const {
  return dlsym(handle, function);
}
