//===- HostThreads.cpp - What kernels call --------------------------------===//

#include "test/e2e/cuda/HostThreads.h"
#include "test/e2e/cuda/HostCluster.h"

#include <cstring>

using namespace weft::host;

/// Only its name is used: addresses of shared memory are numbers.
char shared_memory[1];

static Cluster cluster;

void weft::host::startStep() { cluster.startStep(); }

const char *weft::host::runGrid(Body body, const Launch &launch,
                                long long clusters) {
  return cluster.run(body, launch, clusters);
}

void weft::host::inWarp(const char *name, const void *given, void *result,
                        Collective compute) {
  cluster.inWarp(name, given, result, compute);
}
void weft::host::warpBarrier() { cluster.warpBarrier(); }
void weft::host::blockBarrier(unsigned id, unsigned threads) {
  cluster.blockBarrier(id, threads);
}
void weft::host::arriveAtCluster(bool isRelaxed) {
  cluster.arriveAtCluster(isRelaxed);
}
void weft::host::waitForCluster() { cluster.waitForCluster(); }

uint32_t weft::host::mapCluster(uint32_t address, uint32_t rank) {
  return cluster.mapCluster(address, rank);
}
void weft::host::readShared(void *to, uint32_t address, unsigned bytes,
                            bool inCluster) {
  std::memcpy(to, cluster.accessShared(address, bytes, false, inCluster),
              bytes);
}
void weft::host::writeShared(uint32_t address, const void *from, unsigned bytes,
                             bool inCluster) {
  std::memcpy(cluster.accessShared(address, bytes, true, inCluster), from,
              bytes);
}
void weft::host::readGlobal(void *to, const void *from, unsigned bytes) {
  cluster.accessGlobal(from, bytes, false);
  std::memcpy(to, from, bytes);
}
void weft::host::writeGlobal(void *to, const void *from, unsigned bytes) {
  cluster.accessGlobal(to, bytes, true);
  std::memcpy(to, from, bytes);
}

void weft::host::initMBarrier(uint32_t address, uint32_t count) {
  cluster.initMBarrier(address, count);
}
void weft::host::fenceMBarrierInit() { cluster.fenceMBarrierInit(); }
void weft::host::expectBytes(uint32_t address, uint32_t bytes) {
  cluster.expectBytes(address, bytes);
}
void weft::host::arrive(uint32_t address) { cluster.arrive(address); }
void weft::host::waitMBarrier(uint32_t address, uint32_t parity) {
  cluster.waitMBarrier(address, parity);
}

void weft::host::copyBulk(uint32_t to, const void *from, uint32_t bytes,
                          uint32_t barrier) {
  cluster.copyBulk(to, from, bytes, barrier);
}
void weft::host::storeAsync(uint32_t to, uint32_t barrier, const void *value,
                            unsigned bytes) {
  cluster.storeAsync(to, barrier, value, bytes);
}
void weft::host::copyAsync(uint32_t to, const void *from, unsigned bytes,
                           bool valid) {
  cluster.copyAsync(to, from, bytes, valid);
}
void weft::host::commitCopies() { cluster.commitCopies(); }
void weft::host::waitCopies(unsigned pending) { cluster.waitCopies(pending); }
void weft::host::fenceAsync() { cluster.fenceAsync(); }
void weft::host::waitDependency() { cluster.waitDependency(); }

// What code compiled with -fsanitize=thread calls.
#define ACCESS(size)                                                           \
  void __tsan_read##size(void *p) { cluster.accessAny(p, size, false); }       \
  void __tsan_write##size(void *p) { cluster.accessAny(p, size, true); }       \
  void __tsan_unaligned_read##size(void *p) { __tsan_read##size(p); }          \
  void __tsan_unaligned_write##size(void *p) { __tsan_write##size(p); }
extern "C" {
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void *__tsan_memcpy(void *to, const void *from, size_t size) {
  cluster.accessAny(from, size, false);
  cluster.accessAny(to, size, true);
  return std::memcpy(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
  cluster.accessAny(to, size, true);
  return std::memset(to, value, size);
}
}
