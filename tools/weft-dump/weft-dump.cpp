//===- weft-dump.cpp - Explains a .weft artifact --------------------------===//

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/HostMemory.h"
#include "tools/common/CommandLine.h"
#include "tools/weft-dump/Dump.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace weft;
using namespace weft::rt;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *toolName = "weft-dump";

constexpr const char *examples = R"(Examples:
  weft-dump model.weft
      everything: sections, model facts, symbols, parameters, states, kernels,
      and for each entry its inputs, outputs and commands
  weft-dump model.weft --memory --sequences 8 --context 4096
      will it fit: weights, KV cache, workspace for 8 sequences of 4096 tokens;
      nothing is loaded
  weft-dump model.weft --kernels --tokens 512
      FLOPs, bytes and FLOPs per byte of each kernel for a step of 512 tokens, the
      last of a sequence as long as --context
  weft-dump model.weft --ir fuse
      the IR as it was after the phase `fuse`
  weft-dump model.weft --verify
      reads every weight and compares it with its checksum

Exit codes: 0 fine, 1 bad input (explained), 2 wrong options, 70 a bug in Weft.)";

struct Options {
  std::string path;
  bool memory = false, kernels = false, verify = false, json = false;
  std::string ir;
  unsigned threads = 0;
  dump::Sizes sizes;
};

/// Splits NAME=VALUE; the message tells CLI11's user what was expected.
std::pair<std::string, int64_t> parseSymbol(const std::string &text) {
  size_t equals = text.find('=');
  std::optional<int64_t> value;
  if (equals != 0 && equals != std::string::npos)
    value = tools::parseWholeNumber(std::string_view(text).substr(equals + 1));
  if (!value)
    throw CLI::ValidationError("--symbol: '" + text +
                               "' is not NAME=NUMBER, as cache_blocks=64");
  return {text.substr(0, equals), *value};
}

void declareOptions(CLI::App &app, Options &options) {
  app.add_option("FILE", options.path, "The artifact (.weft)")->required();
  auto *what = app.add_option_group("What to print", "default: every section");
  what->add_flag("--memory", options.memory,
                 "What a session takes, before anything is loaded");
  what->add_flag("--kernels", options.kernels,
                 "Work and traffic of each kernel");
  what->add_option("--ir", options.ir, "The IR kept after this phase")
      ->check(tools::notEmpty())
      ->type_name("PHASE");
  what->add_flag("--verify", options.verify,
                 "Compare all weights with their checksums");
  what->require_option(0, 1);
  app.add_flag("--json", options.json,
               "As JSON: everything, or with --memory or --kernels only that");

  auto *sizes = app.add_option_group("Sizes for --memory and --kernels");
  sizes
      ->add_option("--context", options.sizes.context,
                   "Tokens of each sequence (default: the model's limit)")
      ->check(tools::wholeNumber(1));
  sizes
      ->add_option("--sequences", options.sizes.sequences,
                   "Sequences at the same time (default: 1)")
      ->check(tools::wholeNumber(1));
  sizes
      ->add_option("--tokens", options.sizes.tokens,
                   "Tokens in one step (default: 512 or the plan's limit with "
                   "--memory, 1 with --kernels)")
      ->check(tools::wholeNumber(1));
  sizes
      ->add_option("--threads", options.threads,
                   "Threads, for their scratch memory (default: one per core)")
      ->check(tools::wholeNumber(1, ThreadPool::maxThreads));
  sizes
      ->add_option_function<std::vector<std::string>>(
          "--symbol",
          [&options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              options.sizes.symbols.push_back(parseSymbol(text));
          },
          "Value of any symbol of the plan; may be repeated")
      ->type_name("NAME=VALUE");
  app.callback([&options, sizes] {
    bool anySize = std::ranges::any_of(
        sizes->get_options(), [](const CLI::Option *o) { return bool(*o); });
    if (anySize && !options.memory && !options.kernels)
      throw CLI::ValidationError("sizes go with --memory or --kernels");
  });
}

void printJson(const Json &json) {
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

Status printMemory(const Plan &plan, const Options &options) {
  Result<dump::ResolvedSizes> sizes =
      dump::resolveSizes(plan, options.sizes, 512);
  if (!sizes)
    return sizes.getStatus();
  dump::MemoryQuestion question;
  question.symbols = sizes->symbols;
  question.threads = options.threads ? options.threads : getUsableCoreCount();
  question.target = plan.target;
  if (uint64_t bytes = getAvailableMemory(); bytes != 0 && plan.target == "cpu")
    question.available = bytes;
  Result<MemoryReport> report =
      reportMemory(plan, sizes->symbols, question.threads);
  if (!report)
    return report.getStatus();
  if (options.json)
    printJson(dump::toJson(*report, question));
  else
    dump::printMemory(*report, question, std::cout);
  return Status::ok();
}

Status printKernels(const Plan &plan, const Options &options) {
  Result<dump::ResolvedSizes> sizes =
      dump::resolveSizes(plan, options.sizes, 1);
  if (!sizes)
    return sizes.getStatus();
  Result<std::vector<dump::KernelUse>> uses =
      dump::collectKernels(plan, *sizes);
  if (!uses)
    return uses.getStatus();
  if (options.json)
    printJson(dump::toJson(*uses));
  else
    dump::printKernels(*uses, sizes->symbols, std::cout);
  return Status::ok();
}

Status printIr(const Plan &plan, const std::string &phase) {
  std::string names;
  for (const DebugText &text : plan.debug) {
    if (text.name == phase) {
      std::cout << text.text;
      return Status::ok();
    }
    names += (names.empty() ? "" : ", ") + text.name;
  }
  return Status::notFound("the artifact keeps no IR of the phase '" + phase +
                          "'; it has: " + (names.empty() ? "none" : names));
}

Status verify(const Artifact &artifact) {
  Status status = artifact.verifyData();
  if (status)
    std::cout << "all " << artifact.getPlan().params.size()
              << " parameters match their checksums\n";
  return status;
}

Status dumpFile(const Options &options) {
  Result<std::unique_ptr<Artifact>> artifact = Artifact::open(options.path);
  if (!artifact)
    return artifact.getStatus();
  const Plan &plan = (*artifact)->getPlan();
  Status status;
  if (options.memory)
    status = printMemory(plan, options);
  else if (options.kernels)
    status = printKernels(plan, options);
  else if (!options.ir.empty())
    status = printIr(plan, options.ir);
  else if (options.verify)
    status = verify(**artifact);
  else if (options.json)
    printJson(dump::toJson(**artifact));
  else
    dump::printPlan(**artifact, options.path, std::cout);
  std::cout.flush();
  if (status && !std::cout)
    return Status::io("cannot write to standard output");
  return status;
}

} // namespace

int main(int argc, char **argv) {
  return tools::runMain(toolName, [&] {
    CLI::App app("Explains a compiled plan: what is in it, what it needs, what "
                 "it does.",
                 toolName);
    app.footer(examples);
    Options options;
    declareOptions(app, options);
    if (std::optional<int> code = tools::parseCommandLine(app, argc, argv))
      return *code;
    return tools::finish(toolName, dumpFile(options));
  });
}
