//===- Workload.h - What a run computes and moves -------------------------===//

#ifndef WEFT_TOOLS_WEFTBENCH_WORKLOAD_H
#define WEFT_TOOLS_WEFTBENCH_WORKLOAD_H

#include "runtime/Exec/CommandHook.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {

/// Sums over the launches of one class of labels (numbers in a label are
/// replaced by '*', so that all layers count together) or of one kernel, whose
/// label is then what it computes.
struct KernelRow {
  std::string label, kernel, target;
  int64_t launches = 0, flops = 0, bytes = 0;
  double seconds = 0;
};

/// One run of an entry.
struct StepWork {
  double flops = 0;
  /// Bytes that cannot come from anywhere but memory or a cache that held them
  /// since the last step: constants, states, inputs and outputs.
  double bytes = 0;
};

/// Collects the work of the runs it watches. Not thread-safe.
class Workload {
public:
  /// For Session::addHook; the workload must outlive the hook.
  rt::CommandHook makeHook();

  const std::vector<StepWork> &getSteps() const { return steps; }
  /// By time, longest first.
  std::vector<KernelRow> getRows() const;
  std::vector<KernelRow> getRowsByKernel() const;

private:
  void record(const rt::CommandEvent &event);

  std::vector<StepWork> steps;
  std::map<std::string, KernelRow> rows, kernelRows;
};

/// "layers.3.attention" -> "layers.*.attention".
std::string classifyLabel(const std::string &label);

} // namespace weft

#endif // WEFT_TOOLS_WEFTBENCH_WORKLOAD_H
