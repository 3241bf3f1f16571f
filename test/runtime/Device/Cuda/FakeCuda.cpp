//===- FakeCuda.cpp -------------------------------------------------------===//

#include "test/runtime/Device/Cuda/FakeCuda.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace weft::rt::test;

FakeCuda &weft::rt::test::resetFakeCuda() {
  void *library = dlopen(WEFT_FAKE_CUDA, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  reinterpret_cast<void (*)()>(dlsym(library, "weftResetFakeCuda"))();
  return *reinterpret_cast<FakeCuda *(*)()>(dlsym(library, "weftFakeCuda"))();
}
