//===- Kernels.cpp - Work and traffic of each kernel ----------------------===//

#include "runtime/Exec/KeyCounts.h"
#include "runtime/Exec/SymbolLimits.h"
#include "runtime/Format/ByteSize.h"
#include "tools/common/Table.h"
#include "tools/weft-dump/Dump.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace weft;
using namespace weft::rt;
using Json = nlohmann::ordered_json;

namespace {

/// FLOPs per byte of minimum traffic: what decides between memory bound and
/// compute bound (Williams et al., "Roofline", 2009). 0 without traffic.
double getIntensity(const dump::KernelUse &use) {
  return use.bytes > 0 ? double(use.flops) / double(use.bytes) : 0.0;
}

/// `values` are those of the symbols and of the entry's key counts.
Status addCommand(const Command &command, std::span<const int64_t> values,
                  dump::KernelUse &use) {
  auto name = [&](const Status &status) {
    return Status(status.getCode(),
                  "command '" + command.label + "': " + status.getMessage());
  };
  Result<int64_t> grid = command.grid.evaluate(values);
  if (!grid)
    return name(grid.getStatus());
  Result<Work> work = evaluateWork(command, values);
  if (!work)
    return name(work.getStatus());
  const std::pair<int64_t &, int64_t> sums[] = {
      {use.grid, *grid}, {use.flops, work->flops}, {use.bytes, work->bytes}};
  for (auto [sum, value] : sums)
    if (__builtin_add_overflow(sum, value, &sum))
      return Status::limit("the work of command '" + command.label +
                           "' is too large to count; use smaller sizes");
  ++use.launches;
  return Status::ok();
}

} // namespace

Result<std::vector<dump::KernelUse>>
dump::collectKernels(const Plan &plan, const ResolvedSizes &sizes) {
  Result<SymbolLimits> limits = makeLimits(plan, sizes.symbols);
  if (!limits)
    return limits.getStatus();
  std::vector<KernelUse> uses;
  for (const Entry &entry : plan.entries) {
    Result<std::vector<int64_t>> counts =
        countKeysOfEvenStep(entry, limits->maximum, sizes.context);
    if (!counts)
      return counts.getStatus();
    std::vector<int64_t> values = limits->maximum;
    values.insert(values.end(), counts->begin(), counts->end());
    std::vector<KernelUse> ofEntry(plan.kernels.size());
    for (const Command &command : entry.commands)
      if (command.kind == CommandKind::Launch)
        if (Status status =
                addCommand(command, values, ofEntry[command.kernel]);
            !status)
          return status;
    for (size_t i = 0; i < ofEntry.size(); ++i) {
      const Kernel &kernel = plan.kernels[i];
      ofEntry[i].entry = entry.name;
      ofEntry[i].kernel = kernel.name;
      ofEntry[i].program = kernel.program;
      ofEntry[i].schedule = kernel.schedule;
    }
    std::erase_if(ofEntry, [](const KernelUse &u) { return u.launches == 0; });
    std::ranges::sort(ofEntry, [](const KernelUse &a, const KernelUse &b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.kernel < b.kernel;
    });
    uses.insert(uses.end(), ofEntry.begin(), ofEntry.end());
  }
  return uses;
}

void dump::printKernels(const std::vector<KernelUse> &uses,
                        std::span<const SymbolValue> symbols,
                        std::ostream &out) {
  out << "Kernels for";
  for (const SymbolValue &symbol : symbols)
    out << ' ' << symbol.name << '=' << symbol.value;
  out << "\n\n";
  using Align = tools::Table::Align;
  tools::Table table({{"entry"},
                      {"kernel"},
                      {"launches", Align::Right},
                      {"items", Align::Right},
                      {"FLOPs", Align::Right},
                      {"bytes", Align::Right},
                      {"FLOP/B", Align::Right},
                      {"computes"},
                      {"schedule"}});
  for (const KernelUse &use : uses) {
    char intensity[32];
    std::snprintf(intensity, sizeof(intensity), "%.2f", getIntensity(use));
    table.addRow({use.entry, use.kernel, std::to_string(use.launches),
                  std::to_string(use.grid),
                  tools::formatCount(double(use.flops)),
                  formatBytes(uint64_t(use.bytes)), intensity, use.program,
                  use.schedule});
  }
  table.print(out);
}

Json dump::toJson(const std::vector<KernelUse> &uses) {
  Json json = Json::array();
  for (const KernelUse &use : uses)
    json.push_back({{"entry", use.entry},
                    {"kernel", use.kernel},
                    {"launches", use.launches},
                    {"grid", use.grid},
                    {"flops", use.flops},
                    {"bytes", use.bytes},
                    {"intensity", getIntensity(use)},
                    {"program", use.program},
                    {"schedule", use.schedule}});
  return json;
}
