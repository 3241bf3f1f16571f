//===- Text.cpp - The sections of an artifact for people ------------------===//

#include "runtime/Format/ByteSize.h"
#include "runtime/Format/Json.h"
#include "tools/common/Table.h"
#include "tools/weft-dump/Dump.h"

using namespace weft;
using namespace weft::rt;
using tools::Table;

namespace {

using Align = Table::Align;

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : " ") + part;
  return text;
}

void printHead(const Artifact &artifact, const std::string &path,
               std::ostream &out) {
  const Plan &plan = artifact.getPlan();
  out << path << ": " << formatBytes(artifact.getFileSize()) << ", target "
      << plan.target << "\n\nSections\n";
  Table sections({{"tag"},
                  {"size", Align::Right},
                  {"offset", Align::Right},
                  {"required"}});
  for (const SectionInfo &section : artifact.getSections())
    sections.addRow({section.tag, formatBytes(section.size),
                     std::to_string(section.offset),
                     section.required ? "yes" : "no"});
  sections.print(out, 2);

  out << "\nMeta\n";
  // Indented for reading if it is JSON, as it stands if not.
  Result<nlohmann::json> meta = parseJson(plan.metaJson);
  std::string text = meta ? meta->dump(2) : plan.metaJson;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    out << "  " << text.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

void printSymbols(const Plan &plan, std::ostream &out) {
  out << "\nSymbols\n";
  Table table(
      {{"name"}, {"min", Align::Right}, {"max", Align::Right}, {"fixed"}});
  for (const Symbol &symbol : plan.symbols)
    table.addRow({symbol.name, std::to_string(symbol.min),
                  symbol.max == INT64_MAX ? "-" : std::to_string(symbol.max),
                  symbol.perSession ? "per session" : "per run"});
  table.print(out, 2);
}

void printParams(const Plan &plan, std::ostream &out) {
  uint64_t total = 0;
  Table table({{"name"},
               {"type"},
               {"shape"},
               {"layout"},
               {"size", Align::Right},
               {"file"}});
  for (const Param &param : plan.params) {
    total += param.size;
    table.addRow({param.name, rt::getName(param.dtype),
                  formatShape(param.shape), param.layout,
                  formatBytes(param.size),
                  param.generated.isUsed ? "generated"
                  : param.file == 0 ? "DATA"
                                    : plan.externalFiles[param.file - 1].path});
  }
  out << "\nParameters: " << plan.params.size() << ", " << formatBytes(total)
      << '\n';
  table.print(out, 2);
}

void printStates(const Plan &plan, std::ostream &out) {
  out << "\nStates: " << plan.states.size() << '\n';
  Table table({{"name"}, {"type"}, {"shape"}});
  for (const State &state : plan.states)
    table.addRow(
        {state.name, rt::getName(state.dtype), formatShape(state.shape, plan)});
  table.print(out, 2);
}

/// "256 threads, 48 KiB shared, cluster 2, persistent 1, dependent".
std::string describeLaunch(const Code &code) {
  if (code.kind == Code::Kind::Elf)
    return "";
  const LaunchShape &shape = code.launch;
  std::string text = std::to_string(shape.threads) + " threads";
  if (shape.sharedBytes)
    text += ", " + formatBytes(shape.sharedBytes) + " shared";
  if (shape.clusterSize > 1)
    text += ", cluster " + std::to_string(shape.clusterSize);
  if (shape.blocksPerMultiprocessor)
    text += ", persistent " + std::to_string(shape.blocksPerMultiprocessor);
  if (shape.dependentLaunch)
    text += ", dependent";
  return text;
}

void printKernels(const Plan &plan, std::ostream &out) {
  out << "\nKernels: " << plan.kernels.size() << '\n';
  Table table({{"name"},
               {"computes"},
               {"target"},
               {"kind"},
               {"needs"},
               {"launch"},
               {"code", Align::Right},
               {"scratch", Align::Right},
               {"schedule"}});
  for (const Kernel &kernel : plan.kernels) {
    bool isFirst = true;
    for (const Code &code : kernel.code) {
      table.addRow({isFirst ? kernel.name : "", isFirst ? kernel.program : "",
                    code.target, dump::getName(code.kind), join(code.features),
                    describeLaunch(code), formatBytes(code.bytes.size()),
                    isFirst ? formatBytes(kernel.scratchBytes) : "",
                    isFirst ? kernel.schedule : ""});
      isFirst = false;
    }
  }
  table.print(out, 2);
}

/// What a command works on: the kernel of a launch, the sides of a copy.
std::string describeWork(const Plan &plan, const Entry &entry,
                         const Command &command) {
  auto getBufferName = [&](size_t i) {
    return entry.buffers[command.buffers[i]].name;
  };
  switch (command.kind) {
  case CommandKind::Launch:
    return plan.kernels[command.kernel].name;
  case CommandKind::Copy:
    return getBufferName(0) + " -> " + getBufferName(1);
  case CommandKind::Fill:
    return getBufferName(0) + " = " + std::to_string(command.kernel);
  }
  return "?";
}

void printEntry(const Plan &plan, const Entry &entry, std::ostream &out) {
  std::vector<std::string> names = dump::getValueNames(plan, entry);
  out << "\nEntry " << entry.name << '\n';
  Table arguments({{"kind"}, {"name"}, {"type"}, {"shape"}});
  size_t temps = 0;
  for (const Buffer &buffer : entry.buffers) {
    temps += buffer.kind == BufferKind::Temp;
    if (buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output)
      arguments.addRow({dump::getName(buffer.kind), buffer.name,
                        rt::getName(buffer.dtype),
                        formatShape(buffer.shape, plan)});
  }
  arguments.print(out, 2);
  out << "  workspace   " << entry.workspaceBytes.print(names) << " bytes for "
      << temps << " temporary buffers\n"
      << "  lower bound " << entry.lowerBoundBytes.print(names) << " bytes\n\n";
  Table commands({{"#", Align::Right},
                  {"command"},
                  {"label"},
                  {"work"},
                  {"grid"},
                  {"flops"},
                  {"bytes"}});
  for (size_t i = 0; i < entry.commands.size(); ++i) {
    const Command &command = entry.commands[i];
    bool isLaunch = command.kind == CommandKind::Launch;
    bool isCounted = !command.countedFlops.getOps().empty();
    commands.addRow(
        {std::to_string(i), rt::getName(command.kind), command.label,
         describeWork(plan, entry, command),
         isLaunch ? command.grid.print(names) : "",
         (isCounted ? command.countedFlops : command.flops).print(names),
         (isCounted ? command.countedBytes : command.bytes).print(names)});
  }
  commands.print(out, 2);
}

void printFiles(const Plan &plan, std::ostream &out) {
  out << "\nFiles\n";
  Table table({{"name"}, {"kind"}, {"size", Align::Right}});
  for (const ExternalFile &file : plan.externalFiles)
    table.addRow({file.path, "beside the artifact", formatBytes(file.size)});
  for (const auto &[name, bytes] : plan.tokenizerFiles)
    table.addRow({name, "tokenizer", formatBytes(bytes.size())});
  for (const DebugText &text : plan.debug)
    table.addRow({text.name, "IR (--ir " + text.name + ")",
                  formatBytes(text.text.size())});
  table.print(out, 2);
}

} // namespace

std::vector<std::string> dump::getSymbolNames(const Plan &plan) {
  std::vector<std::string> names;
  for (const Symbol &symbol : plan.symbols)
    names.push_back(symbol.name);
  return names;
}

std::vector<std::string> dump::getValueNames(const Plan &plan,
                                             const Entry &entry) {
  std::vector<std::string> names = getSymbolNames(plan);
  for (const KeyCount &count : entry.keyCounts)
    names.push_back(rt::getName(count));
  return names;
}

const char *dump::getName(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return "input";
  case BufferKind::Output:
    return "output";
  case BufferKind::State:
    return "state";
  case BufferKind::Param:
    return "param";
  case BufferKind::Temp:
    return "temp";
  }
  return "?";
}

const char *dump::getName(Code::Kind kind) {
  switch (kind) {
  case Code::Kind::Elf:
    return "elf";
  case Code::Kind::Cubin:
    return "cubin";
  case Code::Kind::CudaSource:
    return "cuda source";
  }
  return "?";
}

void dump::printPlan(const Artifact &artifact, const std::string &path,
                     std::ostream &out) {
  const Plan &plan = artifact.getPlan();
  printHead(artifact, path, out);
  printSymbols(plan, out);
  printParams(plan, out);
  printStates(plan, out);
  ::printKernels(plan, out);
  for (const Entry &entry : plan.entries)
    printEntry(plan, entry, out);
  printFiles(plan, out);
}
