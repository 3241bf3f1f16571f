//===- weft-run.cpp - Runs a compiled plan --------------------------------===//

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Device.h"
#include "runtime/Llm/Sampler.h"
#include "tools/common/CommandLine.h"
#include "tools/weft-run/RunEntry.h"
#include "tools/weft-run/RunText.h"

#include <set>

using namespace weft;

static constexpr const char *kDescription =
    R"(Runs a compiled plan.

Text:   weft-run model.weft --prompt "Once upon a time" --max-tokens 100
        The prompt and the text that continues it go to standard output as they
        come; speed and finish reason go to standard error.
Tensors: weft-run model.weft --entry step --input tokens=tokens.npy ... \
             --output logits=logits.npy
        Runs any entry (weft-dump lists them) on NumPy files. bf16 tensors are
        stored as uint16, their raw bits.)";

static constexpr const char *kFooter =
    R"(Where no sampling option is given the model's own recommendation is used, which
is greedy if it has none; --temperature 0 is always greedy. The same seed gives
the same text on any number of threads.

Finish reasons: stop (end-of-sequence id or --stop), length (--max-tokens),
context_full, cancelled (Ctrl-C; a second one ends the program at once).
Exit codes: 0 done, 1 an error that is explained on standard error, 2 wrong
command line, 70 a bug in Weft, 130 cancelled by Ctrl-C.)";

/// Splits "name=value" of --input, --output and --symbol.
static std::pair<std::string, std::string> splitPair(const std::string &option,
                                                     const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw CLI::ValidationError(option,
                               "expected name=value, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Throws if a name is given twice: one of the two would be ignored.
template <typename Value>
static void
rejectRepeated(const std::string &option,
               const std::vector<std::pair<std::string, Value>> &pairs) {
  std::set<std::string> names;
  for (const auto &[name, value] : pairs)
    if (!names.insert(name).second)
      throw CLI::ValidationError(option, "'" + name + "' is given twice");
}

static std::pair<std::string, int64_t> splitSymbol(const std::string &text) {
  auto [name, value] = splitPair("--symbol", text);
  std::optional<int64_t> number = tools::parseWholeNumber(value);
  if (!number)
    throw CLI::ValidationError("--symbol",
                               "expected name=number, got '" + text + "'");
  return {name, *number};
}

static std::string checkDevice(const std::string &name) {
  return rt::checkDeviceName(name).getMessage();
}

/// The options that are about generating text, as a group of --help.
static constexpr const char *howToContinue = "How to continue";

static void addTextOptions(CLI::App &app, TextOptions &text) {
  const char *what = "What to continue (one of)";
  app.add_option("--prompt", text.prompt, "Text to continue")->group(what);
  app.add_option("--prompt-file", text.promptFile,
                 "File with the text to continue; - is standard input")
      ->group(what);
  app.add_option("--ids", text.ids, "Token ids to continue: \"1 2 3\"")
      ->group(what);

  const char *how = howToContinue;
  app.add_option("--max-tokens", text.maxTokens, "Most tokens to generate")
      ->check(tools::wholeNumber(0))
      ->capture_default_str()
      ->group(how);
  app.add_option("--temperature", text.temperature,
                 "0: always the likeliest token; 1: as the model says")
      ->group(how);
  app.add_option("--top-k", text.topK, "Only the K likeliest tokens (0: all)")
      ->check(tools::wholeNumber(0))
      ->group(how);
  app.add_option("--top-p", text.topP,
                 "Only the likeliest tokens that reach this sum (1: all)")
      ->group(how);
  app.add_option(
         "--min-p", text.minP,
         "Only tokens this fraction as likely as the likeliest (0: all)")
      ->group(how);
  app.add_option("--repetition-penalty", text.repetitionPenalty,
                 "Divides logits of tokens in prompt and output (1: off)")
      ->group(how);
  app.add_option("--presence-penalty", text.presencePenalty,
                 "Subtracted from logits of tokens in the output (0: off)")
      ->group(how);
  app.add_option("--frequency-penalty", text.frequencyPenalty,
                 "The same for each time the token is there (0: off)")
      ->group(how);
  app.add_option("--seed", text.seed, "Of the random numbers")
      ->check(tools::seedNumber())
      ->capture_default_str()
      ->group(how);
  app.add_option("--stop", text.stopStrings,
                 "End the text before this; may be given several times")
      ->check(tools::notEmpty())
      ->group(how)
      ->take_all()
      ->expected(1);
  app.add_flag("--ignore-eos", text.ignoreEos,
               "Go on after end-of-sequence ids")
      ->group(how);
  app.add_option("--context", text.contextLength,
                 "Most tokens of prompt and text; memory grows with it "
                 "(default: what the run needs, at most the model's)")
      ->check(tools::wholeNumber(1))
      ->group(how);
  app.add_option("--tokens-per-step", text.tokensPerStep,
                 "Longer prompts are computed in pieces of this size")
      ->check(tools::wholeNumber(1))
      ->capture_default_str()
      ->group(how);
  app.add_flag("--output-ids", text.outputIds,
               "Write token ids instead of text")
      ->group(how);
  app.add_flag("--logprobs", text.logProbabilities,
               "List each token's log probability on standard error")
      ->group(how);
}

/// Throws if a sampling option is out of its range; those that are not given
/// come from the model.
static void checkSampling(const TextOptions &text) {
  const rt::SamplingOptions sampling = getSampling(text, {});
  // Nothing here is about ids.
  if (rt::Status status = sampling.verify(/*vocabularySize=*/1); !status)
    throw CLI::ValidationError(status.getMessage());
}

/// Throws if an option that is about generating text was given, which a run on
/// tensors would ignore.
static void rejectTextOptions(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    if (option->get_group() == howToContinue && option->count() > 0)
      throw CLI::ValidationError(option->get_name(),
                                 "goes with a prompt, not with --entry");
}

/// Checks what the parser cannot and splits the pairs; throws as the parser.
static void checkOptions(const CLI::App &app, const TextOptions &text,
                         EntryOptions &entry,
                         const std::vector<std::string> &inputs,
                         const std::vector<std::string> &outputs,
                         const std::vector<std::string> &symbols) {
  int prompts = text.prompt.has_value() + text.promptFile.has_value() +
                text.ids.has_value();
  if (entry.entry.empty() && prompts != 1)
    throw CLI::ValidationError("exactly one of --prompt, --prompt-file, --ids "
                               "or --entry is needed");
  if (!entry.entry.empty() && prompts != 0)
    throw CLI::ValidationError("--entry runs on tensors; it takes no prompt");
  if (!entry.entry.empty())
    rejectTextOptions(app);
  if (entry.entry.empty() &&
      !(inputs.empty() && outputs.empty() && symbols.empty()))
    throw CLI::ValidationError("--input, --output and --symbol need --entry");
  checkSampling(text);
  for (const std::string &pair : inputs)
    entry.inputs.push_back(splitPair("--input", pair));
  for (const std::string &pair : outputs)
    entry.outputs.push_back(splitPair("--output", pair));
  for (const std::string &pair : symbols)
    entry.symbols.push_back(splitSymbol(pair));
  rejectRepeated("--input", entry.inputs);
  rejectRepeated("--output", entry.outputs);
  rejectRepeated("--symbol", entry.symbols);
  entry.plan = text.plan;
  entry.threads = text.threads;
  entry.device = text.device;
  entry.tracePath = text.tracePath;
}

static int run(int argc, char **argv) {
  CLI::App app(kDescription, "weft-run");
  app.footer(kFooter);
  TextOptions text;
  EntryOptions entry;
  std::vector<std::string> inputs, outputs, symbols;
  app.add_option("plan", text.plan, "The compiled model (.weft)")->required();
  addTextOptions(app, text);
  const char *tensors = "Any entry on tensors";
  app.add_option("--entry", entry.entry, "The entry to run")
      ->check(tools::notEmpty())
      ->group(tensors);
  app.add_option("--input", inputs, "name=file.npy; all inputs are needed")
      ->group(tensors)
      ->expected(1)
      ->take_all();
  app.add_option("--output", outputs, "name=file.npy to write")
      ->group(tensors)
      ->expected(1)
      ->take_all();
  app.add_option("--symbol", symbols,
                 "name=number for sizes that no input shows (cache_blocks=4)")
      ->group(tensors)
      ->expected(1)
      ->take_all();
  app.add_option("--threads", text.threads,
                 "Of the kernels (default: one per usable core)")
      ->check(tools::wholeNumber(1, rt::ThreadPool::maxThreads));
  app.add_option("--device", text.device,
                 "cpu, cuda, cuda:N or null (default: what the plan was "
                 "compiled for)")
      ->check(tools::notEmpty())
      ->check(checkDevice);
  app.add_option("--trace", text.tracePath,
                 "Chrome-trace JSON file of all commands (ui.perfetto.dev)")
      ->check(tools::notEmpty());
  app.callback(
      [&] { checkOptions(app, text, entry, inputs, outputs, symbols); });
  if (std::optional<int> code = tools::parseCommandLine(app, argc, argv))
    return *code;
  return tools::finish("weft-run",
                       entry.entry.empty() ? runText(text) : runEntry(entry));
}

int main(int argc, char **argv) {
  return tools::runMain("weft-run", [&] { return run(argc, argv); });
}
