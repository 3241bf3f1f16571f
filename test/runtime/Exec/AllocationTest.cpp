//===- AllocationTest.cpp - Running an entry allocates nothing ------------===//
//
// A program of its own: it replaces operator new, which sanitizers do too.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Exec/ToySession.h"

#include <atomic>
#include <cstdlib>
#include <new>

using namespace weft::rt;

static std::atomic<uint64_t> allocationCount{0};
void *operator new(size_t size) {
  ++allocationCount;
  if (void *data = std::malloc(size))
    return data;
  throw std::bad_alloc();
}
void operator delete(void *data) noexcept { std::free(data); }
void operator delete(void *data, size_t) noexcept { std::free(data); }

namespace {

TEST_F(ToySession, RunningAllocatesNothing) {
  make(2, 64);
  Step large(16), small(1);
  std::array<Argument, 2> largeIn = large.inputs(), smallIn = small.inputs();
  std::array<Argument, 2> largeOut = large.outputs(),
                          smallOut = small.outputs();
  ASSERT_OK(session->run("step", largeIn, largeOut));
  uint64_t before = allocationCount;
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK(session->run("step", smallIn, smallOut));
    ASSERT_OK(session->run("step", largeIn, largeOut));
  }
  EXPECT_EQ(allocationCount, before);
}

} // namespace
