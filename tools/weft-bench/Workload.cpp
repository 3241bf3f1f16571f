//===- Workload.cpp - What a run computes and moves -----------------------===//

#include "tools/weft-bench/Workload.h"

#include <algorithm>
#include <cctype>

using namespace weft;
using namespace weft::rt;

std::string weft::classifyLabel(const std::string &label) {
  std::string result;
  for (size_t i = 0; i < label.size();) {
    size_t end = std::min(label.find('.', i), label.size());
    bool number = end > i && std::all_of(label.begin() + i, label.begin() + end,
                                         [](unsigned char c) {
                                           return std::isdigit(c) != 0;
                                         });
    result += number ? "*" : label.substr(i, end - i);
    if (end < label.size())
      result += '.';
    i = end + 1;
  }
  return result;
}

/// The part of a command's traffic that temporaries do not explain: those may
/// stay in caches from one command to the next.
static double compulsoryBytes(const CommandEvent &event) {
  double persistent = 0;
  for (uint32_t index : event.command.buffers)
    if (event.entry.buffers[index].kind != BufferKind::Temp)
      persistent += double(event.bufferBytes[index]);
  return std::min(double(event.bytes), persistent);
}

void Workload::record(const CommandEvent &event) {
  if (event.commandIndex == 0 || steps.empty())
    steps.emplace_back();
  steps.back().flops += double(event.flops);
  steps.back().bytes += compulsoryBytes(event);

  std::string kernel, program;
  if (event.command.kind == CommandKind::Launch) {
    kernel = event.plan.kernels[event.kernel].name;
    program = event.plan.kernels[event.kernel].program;
  }
  std::string label = classifyLabel(event.command.label);
  auto add = [&](KernelRow &row, std::string name) {
    row.label = std::move(name);
    row.kernel = kernel;
    row.target = event.target;
    ++row.launches;
    row.flops += event.flops;
    row.bytes += event.bytes;
    row.seconds += double(event.endTime - event.beginTime) * 1e-9;
  };
  add(rows[label], label);
  if (!kernel.empty())
    add(kernelRows[kernel], std::move(program));
}

CommandHook Workload::makeHook() {
  return [this](const CommandEvent &event) {
    record(event);
    return Status::ok();
  };
}

static std::vector<KernelRow>
sortByTime(const std::map<std::string, KernelRow> &rows) {
  std::vector<KernelRow> result;
  for (const auto &[label, row] : rows)
    result.push_back(row);
  std::sort(result.begin(), result.end(),
            [](const KernelRow &a, const KernelRow &b) {
              return a.seconds > b.seconds;
            });
  return result;
}

std::vector<KernelRow> Workload::getRows() const { return sortByTime(rows); }

std::vector<KernelRow> Workload::getRowsByKernel() const {
  return sortByTime(kernelRows);
}
