//===- Machine.cpp - The limits that a run is compared with ---------------===//

#include "tools/weft-bench/Machine.h"

#include <algorithm>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft;
using namespace weft::rt;
using Clock = std::chrono::steady_clock;

double MachineLimits::getFlopsPerSecond(const std::string &dtype) const {
  // Processors compute f16 in f32.
  const bool isNarrow = dtype == "bf16" || (isDevice && dtype != "f32");
  const double flops = isNarrow ? std::max(peak.f32, peak.bf16) : peak.f32;
  // Without a specification only memory is a bound.
  return flops == 0 ? 1e18 : flops;
}

Status MachineLimits::measureHost(unsigned threads, double stepBytes) {
  constexpr double most = size_t(1) << 30;
  bufferBytes = std::max<int64_t>(int64_t(std::min(stepBytes, most)),
                                  64 * 1024 * threads);
  Result<double> measured = measureReadBandwidth(threads, size_t(bufferBytes));
  if (!measured)
    return measured.getStatus();
  bandwidth = std::max(bandwidth, *measured);
  PeakFlops flops = measurePeakFlops(threads);
  peak.f32 = std::max(peak.f32, flops.f32);
  peak.bf16 = std::max(peak.bf16, flops.bf16);
  peak.instructions = flops.instructions;
  return Status::ok();
}

Status MachineLimits::measureDevice(Device &device) {
  isDevice = true;
  // Much larger than any cache, and than the noise of starting.
  constexpr uint64_t most = uint64_t(4) << 30;
  const uint64_t bytes = std::min(most, device.getMemoryUse().free / 2);
  bufferBytes = int64_t(bytes);
  if (bandwidth == 0) {
    Result<double> measured = device.measureReadBandwidth(bytes);
    if (!measured)
      return Status(measured.getStatus().getCode(),
                    measured.getStatus().getMessage() +
                        "; give it with --bandwidth");
    bandwidth = *measured;
  }
  peak.f32 = device.getPeakFlops(DType::F32);
  peak.bf16 = device.getPeakFlops(DType::BF16);
  peak.instructions = "by specification";
  return Status::ok();
}

/// Seconds that all cores were busy with the work of others (proc(5): user,
/// nice, system, idle, iowait, irq, softirq, steal), to a hundredth.
static double getSecondsOfOthers() {
  std::ifstream in("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0,
         softirq = 0, steal = 0;
  if (!(in >> cpu >> user >> nice >> system >> idle >> iowait >> irq >>
        softirq >> steal))
    return 0;
  const double all = (user + nice + system + irq + softirq + steal) /
                     double(sysconf(_SC_CLK_TCK));
  rusage own = {};
  getrusage(RUSAGE_SELF, &own);
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  };
  return all - seconds(own.ru_utime) - seconds(own.ru_stime);
}

OtherWork::OtherWork()
    : busyAtStart(getSecondsOfOthers()), start(Clock::now()) {}

double OtherWork::getCores() const {
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return std::max(0.0, getSecondsOfOthers() - busyAtStart) /
         std::max(elapsed.count(), 1e-3);
}
