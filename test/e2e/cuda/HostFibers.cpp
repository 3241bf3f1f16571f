//===- HostFibers.cpp -----------------------------------------------------===//

#include "test/e2e/cuda/HostFibers.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

using namespace weft::host;

// void switchStack(void **save, void *load): System V ABI, AMD64 supplement,
// keeps the registers that belong to the caller.
extern "C" void switchStack(void **save, void *load);
asm(R"(
.text
.local switchStack
.type switchStack, @function
switchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size switchStack, . - switchStack
)");

static constexpr size_t pageBytes = 4096;
static constexpr size_t stackBytes = 64 * 1024 + pageBytes;

Fibers::~Fibers() {
  if (memory)
    munmap(memory, bytes);
}

void Fibers::reset(size_t count, void (*enter)()) {
  if (count * stackBytes > bytes) {
    if (memory)
      munmap(memory, bytes);
    bytes = count * stackBytes;
    void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      std::perror("stacks of fibers");
      std::abort();
    }
    memory = static_cast<char *>(mapped);
    for (size_t i = 0; i < count; ++i)
      mprotect(memory + i * stackBytes, pageBytes, PROT_NONE);
  }
  // Stacks that look as if switchStack had been called at the start of enter.
  tops.resize(count);
  for (size_t i = 0; i < count; ++i) {
    auto *top = reinterpret_cast<void **>(memory + (i + 1) * stackBytes);
    top[-2] = reinterpret_cast<void *>(enter);
    tops[i] = top - 8;
  }
}

void Fibers::run(size_t fiber) {
  current = fiber;
  switchStack(&scheduler, tops[fiber]);
}

void Fibers::leave() { switchStack(&tops[current], scheduler); }
