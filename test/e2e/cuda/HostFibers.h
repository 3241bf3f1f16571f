//===- HostFibers.h - Threads that are switched by hand ---------*- C++ -*-===//
//
// Fibers on one thread of the host, each with a stack of its own, between whose
// top and the next stack lies a page that cannot be touched.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTFIBERS_H
#define WEFT_TEST_E2E_CUDA_HOSTFIBERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::host {

class Fibers {
public:
  Fibers() = default;
  Fibers(const Fibers &) = delete;
  Fibers &operator=(const Fibers &) = delete;
  ~Fibers();

  /// Makes `count` fibers that run `enter`, which must not return. What earlier
  /// ones had on their stacks is dropped.
  void reset(size_t count, void (*enter)());

  /// Runs a fiber until it calls leave().
  void run(size_t fiber);
  /// Goes on behind run(). Called by the fiber that runs.
  void leave();

  bool isOnStack(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(memory) < bytes;
  }

private:
  char *memory = nullptr;
  size_t bytes = 0;
  std::vector<void *> tops; ///< Stack pointers of the fibers that do not run.
  void *scheduler = nullptr;
  size_t current = 0;
};

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTFIBERS_H
