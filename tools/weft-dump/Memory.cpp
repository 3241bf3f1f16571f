//===- Memory.cpp - Prints what a plan needs ------------------------------===//

#include "runtime/Format/ByteSize.h"
#include "tools/common/Table.h"
#include "tools/weft-dump/Dump.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace weft;
using namespace weft::rt;
using Json = nlohmann::ordered_json;

namespace {

std::string listSymbols(std::span<const SymbolValue> symbols) {
  std::string text;
  for (const SymbolValue &symbol : symbols)
    text += (text.empty() ? "" : ", ") + std::string(symbol.name) + " = " +
            std::to_string(symbol.value);
  return text.empty() ? "none" : text;
}

} // namespace

void dump::printMemory(const MemoryReport &report,
                       const MemoryQuestion &question, std::ostream &out) {
  bool onGpu = question.target != "cpu";
  out << "Memory for " << listSymbols(question.symbols) << "\n\n";
  using Align = tools::Table::Align;
  tools::Table table({{"part"}, {"size", Align::Right}, {"what it is"}});
  auto add = [&](const char *part, uint64_t bytes, const std::string &what) {
    table.addRow({part, formatBytes(bytes), what});
  };
  add("weights", report.weights,
      onGpu ? "constants" : "constants, mapped from the file");
  add("code", report.code, "machine code of all targets");
  add("state", report.stateBytes,
      std::to_string(report.states.size()) +
          " tensors that live as long as a session (KV cache)");
  add("workspace", report.workspaceBytes,
      "temporary buffers; entries share it");
  if (!onGpu)
    add("scratch", report.scratchBytes,
        "of " + std::to_string(question.threads) +
            (question.threads == 1 ? " thread" : " threads"));
  add("caller", report.callerBytes, "inputs and outputs of the largest entry");
  add("total", report.total, "");
  add("lower bound", report.lowerBound, "the total with a perfect workspace");
  table.print(out);

  out << '\n';
  tools::Table entries({{"entry"},
                        {"workspace", Align::Right},
                        {"lower bound", Align::Right},
                        {"inputs", Align::Right},
                        {"outputs", Align::Right}});
  for (const MemoryReport::EntryMemory &entry : report.entries)
    entries.addRow({entry.name, formatBytes(entry.workspace),
                    formatBytes(entry.lowerBound), formatBytes(entry.inputs),
                    formatBytes(entry.outputs)});
  entries.print(out);

  if (onGpu)
    out << "\nneeds " << formatBytes(report.total) << " of a GPU ("
        << question.target << "); nvidia-smi says how much it has free\n";
  if (question.available)
    out << '\n'
        << (report.total <= *question.available ? "fits: " : "does not fit: ")
        << formatBytes(report.total) << " of "
        << formatBytes(*question.available)
        << " that this machine has available\n";
}

Json dump::toJson(const MemoryReport &report, const MemoryQuestion &question) {
  Json json;
  json["target"] = question.target;
  json["symbols"] = Json::object();
  for (const SymbolValue &symbol : question.symbols)
    json["symbols"][std::string(symbol.name)] = symbol.value;
  json["threads"] = question.threads;
  json["weights"] = report.weights;
  json["code"] = report.code;
  json["state"] = report.stateBytes;
  json["workspace"] = report.workspaceBytes;
  json["scratch"] = report.scratchBytes;
  json["caller"] = report.callerBytes;
  json["total"] = report.total;
  json["lower_bound"] = report.lowerBound;
  json["available"] = nullptr;
  json["fits"] = nullptr;
  if (question.available) {
    json["available"] = *question.available;
    json["fits"] = report.total <= *question.available;
  }
  json["states"] = Json::array();
  for (const MemoryReport::NamedSize &state : report.states)
    json["states"].push_back({{"name", state.name}, {"size", state.bytes}});
  json["entries"] = Json::array();
  for (const MemoryReport::EntryMemory &entry : report.entries)
    json["entries"].push_back({{"name", entry.name},
                               {"workspace", entry.workspace},
                               {"lower_bound", entry.lowerBound},
                               {"inputs", entry.inputs},
                               {"outputs", entry.outputs}});
  return json;
}
