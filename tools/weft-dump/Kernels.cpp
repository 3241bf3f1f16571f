//===- Kernels.cpp - Work and traffic of each kernel ----------------------===//

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

Status addCommand(const Command &command, std::span<const int64_t> symbols,
                  dump::KernelUse &use) {
  struct Part {
    const Expr &expr;
    int64_t &sum;
  };
  for (const Part &part :
       {Part{command.grid, use.grid}, Part{command.flops, use.flops},
        Part{command.bytes, use.bytes}}) {
    Result<int64_t> value = part.expr.evaluate(symbols);
    if (!value)
      return Status(value.getStatus().getCode(),
                    "command '" + command.label +
                        "': " + value.getStatus().getMessage());
    if (__builtin_add_overflow(part.sum, *value, &part.sum))
      return Status::limit("the work of command '" + command.label +
                           "' is too large to count; use smaller sizes");
  }
  ++use.launches;
  return Status::ok();
}

} // namespace

Result<std::vector<dump::KernelUse>>
dump::collectKernels(const Plan &plan, std::span<const SymbolValue> symbols) {
  Result<SymbolLimits> limits = makeLimits(plan, symbols);
  if (!limits)
    return limits.getStatus();
  std::vector<KernelUse> uses;
  for (const Entry &entry : plan.entries) {
    std::vector<KernelUse> ofEntry(plan.kernels.size());
    for (const Command &command : entry.commands)
      if (command.kind == CommandKind::Launch)
        if (Status status =
                addCommand(command, limits->maximum, ofEntry[command.kernel]);
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
