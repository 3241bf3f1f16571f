//===- Json.cpp - The sections of an artifact as JSON ---------------------===//

#include "runtime/Format/Json.h"
#include "tools/weft-dump/Dump.h"

using namespace weft;
using namespace weft::rt;
using Json = nlohmann::ordered_json;

namespace {

/// Sizes are numbers where they are constant and text over symbols otherwise.
Json toJson(const Expr &expr, const std::vector<std::string> &names) {
  if (expr.isConstant())
    if (Result<int64_t> value = expr.evaluate({}))
      return *value;
  return expr.print(names);
}

Json toJson(const std::vector<Expr> &shape,
            const std::vector<std::string> &names) {
  Json dimensions = Json::array();
  for (const Expr &dimension : shape)
    dimensions.push_back(toJson(dimension, names));
  return dimensions;
}

Json toJson(const Kernel &kernel) {
  Json codes = Json::array();
  for (const Code &code : kernel.code) {
    Json json = {{"kind", dump::getName(code.kind)},
                 {"target", code.target},
                 {"features", code.features},
                 {"symbol", code.symbol},
                 {"size", code.bytes.size()}};
    if (code.kind != Code::Kind::Elf)
      json["launch"] = {
          {"threads", code.launch.threads},
          {"shared_bytes", code.launch.sharedBytes},
          {"cluster_size", code.launch.clusterSize},
          {"blocks_per_multiprocessor", code.launch.blocksPerMultiprocessor},
          {"dependent_launch", code.launch.dependentLaunch}};
    codes.push_back(json);
  }
  return {{"name", kernel.name},
          {"program", kernel.program},
          {"schedule", kernel.schedule},
          {"buffers", kernel.bufferCount},
          {"symbols", kernel.symbolCount},
          {"scratch_bytes", kernel.scratchBytes},
          {"code", codes}};
}

Json toJson(const Plan &plan, const Command &command,
            const std::vector<std::string> &names) {
  Json json = {{"kind", rt::getName(command.kind)},
               {"label", command.label},
               {"buffers", command.buffers}};
  if (command.kind == CommandKind::Launch) {
    json["kernel"] = plan.kernels[command.kernel].name;
    json["symbols"] = toJson(command.symbols, names);
    json["grid"] = toJson(command.grid, names);
  } else if (command.kind == CommandKind::Fill) {
    json["value"] = command.kernel;
  }
  bool isCounted = !command.countedFlops.getOps().empty();
  json["flops"] =
      toJson(isCounted ? command.countedFlops : command.flops, names);
  json["bytes"] =
      toJson(isCounted ? command.countedBytes : command.bytes, names);
  return json;
}

Json toJson(const Plan &plan, const Entry &entry) {
  const std::vector<std::string> names = dump::getValueNames(plan, entry);
  Json symbols = Json::array(), buffers = Json::array(),
       commands = Json::array();
  for (uint32_t symbol : entry.symbols)
    symbols.push_back(plan.symbols[symbol].name);
  for (const Buffer &buffer : entry.buffers) {
    Json json = {{"name", buffer.name},
                 {"kind", dump::getName(buffer.kind)},
                 {"dtype", rt::getName(buffer.dtype)},
                 {"shape", toJson(buffer.shape, names)}};
    if (buffer.kind == BufferKind::Temp) {
      json["offset"] = toJson(buffer.offset, names);
      json["first_use"] = buffer.firstUse;
      json["last_use"] = buffer.lastUse;
    } else if (buffer.kind == BufferKind::Param) {
      json["param"] = plan.params[buffer.index].name;
    } else if (buffer.kind == BufferKind::State) {
      json["state"] = plan.states[buffer.index].name;
    }
    buffers.push_back(json);
  }
  for (const Command &command : entry.commands)
    commands.push_back(toJson(plan, command, names));
  return {{"name", entry.name},
          {"symbols", symbols},
          {"workspace_bytes", toJson(entry.workspaceBytes, names)},
          {"lower_bound_bytes", toJson(entry.lowerBoundBytes, names)},
          {"buffers", buffers},
          {"commands", commands}};
}

} // namespace

Json dump::toJson(const Artifact &artifact) {
  const Plan &plan = artifact.getPlan();
  std::vector<std::string> names = getSymbolNames(plan);
  Json json = {{"target", plan.target}, {"size", artifact.getFileSize()}};
  for (const SectionInfo &section : artifact.getSections())
    json["sections"].push_back({{"tag", section.tag},
                                {"required", section.required},
                                {"offset", section.offset},
                                {"size", section.size}});
  Result<nlohmann::json> meta = parseJson(plan.metaJson);
  json["meta"] = meta ? Json(*meta) : Json(plan.metaJson);
  json["symbols"] = Json::array();
  for (const Symbol &symbol : plan.symbols)
    json["symbols"].push_back(
        {{"name", symbol.name},
         {"min", symbol.min},
         {"max", symbol.max == INT64_MAX ? Json() : Json(symbol.max)},
         {"per_session", symbol.perSession}});
  json["external_files"] = Json::array();
  for (const ExternalFile &file : plan.externalFiles)
    json["external_files"].push_back(
        {{"path", file.path}, {"size", file.size}});
  json["params"] = Json::array();
  for (const Param &param : plan.params) {
    Json row = {{"name", param.name},
                {"dtype", rt::getName(param.dtype)},
                {"shape", param.shape},
                {"layout", param.layout}};
    if (param.generated.isUsed) {
      row["generated"] = {{"deviation", param.generated.deviation},
                          {"seed", param.generated.seed}};
    } else {
      row["file"] = param.file;
      row["offset"] = param.offset;
    }
    row["size"] = param.size;
    json["params"].push_back(row);
  }
  json["states"] = Json::array();
  for (const State &state : plan.states)
    json["states"].push_back({{"name", state.name},
                              {"dtype", rt::getName(state.dtype)},
                              {"shape", ::toJson(state.shape, names)}});
  json["kernels"] = Json::array();
  for (const Kernel &kernel : plan.kernels)
    json["kernels"].push_back(::toJson(kernel));
  json["entries"] = Json::array();
  for (const Entry &entry : plan.entries)
    json["entries"].push_back(::toJson(plan, entry));
  json["tokenizer_files"] = Json::array();
  for (const auto &[name, bytes] : plan.tokenizerFiles)
    json["tokenizer_files"].push_back({{"name", name}, {"size", bytes.size()}});
  json["ir"] = Json::array();
  for (const DebugText &text : plan.debug)
    json["ir"].push_back(text.name);
  return json;
}
