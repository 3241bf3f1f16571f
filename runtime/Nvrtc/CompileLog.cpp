//===- CompileLog.cpp - What ptxas says about a kernel --------------------===//

#include "runtime/Nvrtc/CompileLog.h"

#include "runtime/Format/ByteSize.h"

#include <algorithm>
#include <charconv>

using namespace weft::rt;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

template <typename Function>
static void forEachLine(std::string_view text, Function function) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    function(line);
    if (end == std::string_view::npos)
      return;
    text.remove_prefix(end + 1);
  }
}

static bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

static std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The number before `words` in a list like "Used 30 registers, 16 bytes smem".
template <typename Number>
static std::optional<Number> findCount(std::string_view line,
                                       std::string_view words) {
  size_t at = line.find(words);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view before = trim(line.substr(0, at));
  size_t begin = before.find_last_not_of("0123456789");
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  Number number = 0;
  auto [end, error] = std::from_chars(before.data() + begin,
                                      before.data() + before.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The text between `before` and the next `after`; empty if it is not there.
static std::string_view findBetween(std::string_view line,
                                    std::string_view before,
                                    std::string_view after) {
  size_t at = line.find(before);
  if (at == std::string_view::npos)
    return {};
  line.remove_prefix(at + before.size());
  return line.substr(0, line.find(after));
}

/// Splits "(C7511) text" and what stands before it.
static CompileMessage parseMessage(std::string_view line) {
  CompileMessage message;
  size_t colon = line.find(" : ");
  if (line.starts_with("ptxas") && colon != std::string_view::npos)
    line.remove_prefix(colon + 3);
  std::string_view code = findBetween(line, "(", ")");
  if (line.starts_with("(C") && !code.empty()) {
    message.code = code;
    line.remove_prefix(std::min(line.size(), code.size() + 2));
  }
  message.text = trim(line);
  return message;
}

CompileReport weft::rt::parseCompileLog(std::string_view log,
                                        std::string_view symbol) {
  CompileReport report;
  KernelResources sum;
  bool isEntry = false; // The lines are about `symbol` itself.
  forEachLine(log, [&](std::string_view line) {
    bool isPtxas = line.starts_with("ptxas");
    if (contains(line, "Compiling entry function '")) {
      isEntry = findBetween(line, "function '", "'") == symbol;
    } else if (contains(line, "bytes stack frame")) {
      // A function that is not inlined has its own; the kernel pays for it.
      sum.stackBytes =
          std::max(sum.stackBytes,
                   findCount<uint64_t>(line, "bytes stack frame").value_or(0));
      sum.spillStoreBytes +=
          findCount<uint64_t>(line, "bytes spill stores").value_or(0);
      sum.spillLoadBytes +=
          findCount<uint64_t>(line, "bytes spill loads").value_or(0);
    } else if (auto registers = findCount<uint32_t>(line, "registers");
               registers && isPtxas && contains(line, ": Used ")) {
      if (!isEntry)
        return;
      sum.registers = *registers;
      sum.barriers = findCount<uint32_t>(line, "barriers").value_or(0);
      sum.stackBytes = std::max(
          sum.stackBytes,
          findCount<uint64_t>(line, "bytes cumulative stack size").value_or(0));
      sum.staticSharedBytes =
          findCount<uint64_t>(line, "bytes smem").value_or(0);
      report.resources.emplace();
    } else if (isPtxas &&
               (contains(line, "(C") || line.starts_with("ptxas warning"))) {
      report.messages.push_back(parseMessage(line));
    } else if (contains(line, "): warning")) {
      report.messages.push_back(parseMessage(line));
    }
  });
  if (report.resources)
    report.resources = sum;
  return report;
}

std::string weft::rt::explainErrors(std::string_view log) {
  std::string errors;
  int context = 0; // Lines after a message that show the place.
  forEachLine(log, [&](std::string_view line) {
    if (contains(line, "): error") || contains(line, "error   :") ||
        contains(line, "fatal   :"))
      context = line.starts_with("ptxas") ? 1 : 3;
    if (context > 0) {
      --context;
      errors += "\n";
      errors += line;
    }
  });
  if (!errors.empty())
    return errors.substr(1);
  // Static shared memory beyond what every architecture has is refused by
  // ptxas without a word in NVRTC's log.
  constexpr uint64_t maxStaticShared = 48 * 1024;
  forEachLine(log, [&](std::string_view line) {
    auto bytes = findCount<uint64_t>(line, "bytes smem");
    if (bytes.value_or(0) > maxStaticShared)
      errors = "it has " + formatBytes(*bytes) +
               " of static shared memory, at most " +
               formatBytes(maxStaticShared) +
               " are allowed; use dynamic shared memory";
  });
  return errors.empty() ? "it does not say why:\n" + std::string(log) : errors;
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

/// ptxas says it with these words whenever it gives up what was asked for:
/// wgmma one after the other, setmaxnreg ignored. The codes for one and the
/// same thing differ with its cause (C7504, C7508, C7510, C7511, C7513, C7514,
/// C7515, C7520, ...), so the words decide.
static bool isPerformanceLoss(const CompileMessage &message) {
  return contains(message.text, "Potential Performance Loss");
}

static std::string quote(const CompileMessage &message) {
  return (message.code.empty() ? "" : message.code + ": ") + message.text;
}

/// Registers are given to warps in units of 8 for each thread.
static uint64_t getBlockRegisters(const KernelResources &resources,
                                  const LaunchShape &launch) {
  constexpr uint64_t unit = 8;
  return (resources.registers + unit - 1) / unit * unit *
         uint64_t(launch.threads);
}

std::optional<Rejection> weft::rt::checkResources(const CompileReport &report,
                                                  const LaunchShape &launch,
                                                  const BlockLimits &limits) {
  if (!report.resources)
    return Rejection{"is not described by the log of NVRTC, so that its "
                     "resources are not known",
                     false, UINT64_MAX};
  const KernelResources &resources = *report.resources;
  uint64_t shared = resources.staticSharedBytes + launch.sharedBytes;
  if (shared > limits.sharedBytes)
    return Rejection{"needs " + formatBytes(shared) +
                         " of shared memory, a block has at most " +
                         formatBytes(limits.sharedBytes),
                     false, UINT64_MAX};
  uint64_t registers = getBlockRegisters(resources, launch);
  if (registers > limits.registers)
    return Rejection{"needs " + std::to_string(registers) + " registers (" +
                         std::to_string(resources.registers) + " in each of " +
                         std::to_string(launch.threads) +
                         " threads), a block has at most " +
                         std::to_string(limits.registers) +
                         "; its __launch_bounds__ are missing or wrong",
                     false, UINT64_MAX};

  std::string reasons;
  // Lost tensor-core overlap costs more than any spill.
  constexpr uint64_t lossWeight = uint64_t(1) << 32;
  uint64_t weight = resources.stackBytes + resources.spillStoreBytes +
                    resources.spillLoadBytes;
  auto add = [&](const std::string &reason) {
    reasons += (reasons.empty() ? "" : "; ") + reason;
  };
  if (resources.spillStoreBytes || resources.spillLoadBytes)
    add("spills registers (" + std::to_string(resources.spillStoreBytes) +
        " bytes stored, " + std::to_string(resources.spillLoadBytes) +
        " bytes loaded, at " + std::to_string(resources.registers) +
        " registers)");
  if (resources.stackBytes)
    add("has a stack frame of " + std::to_string(resources.stackBytes) +
        " bytes");
  for (const CompileMessage &message : report.messages)
    if (isPerformanceLoss(message)) {
      weight += lossWeight;
      add("loses performance (" + quote(message) + ")");
    }
  if (reasons.empty())
    return std::nullopt;
  return Rejection{std::move(reasons), true, weight};
}
