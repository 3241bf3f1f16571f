//===- UsableCores.cpp - How many cores this process may use --------------===//

#include "runtime/Device/Cpu/ThreadPool.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <thread>

using namespace weft::rt;

namespace {

/// First line of a small file; empty if it cannot be read.
std::string readLine(const std::string &path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Cores behind the CPUs of the affinity mask. CPUs whose topology the kernel
/// does not tell count as a core each.
unsigned countAffinityCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
    return std::max(1u, std::thread::hardware_concurrency());
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask))
      continue;
    std::string siblings =
        readLine("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                 "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  return std::max<size_t>(1, cores.size());
}

/// CPUs that a cgroup v2 quota allows, rounded up; UINT_MAX without a quota.
/// The file holds "QUOTA PERIOD" in microseconds or "max PERIOD".
unsigned countQuotaCpus() {
  std::string line = readLine("/sys/fs/cgroup/cpu.max");
  char *rest = nullptr;
  unsigned long quota = std::strtoul(line.c_str(), &rest, 10);
  unsigned long period = rest ? std::strtoul(rest, nullptr, 10) : 0;
  if (quota == 0 || period == 0)
    return UINT32_MAX;
  return std::max<unsigned long>(1, (quota + period - 1) / period);
}

} // namespace

unsigned weft::rt::getUsableCoreCount() {
  return std::min(countAffinityCores(), countQuotaCpus());
}
