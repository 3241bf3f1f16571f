//===- LanguageModel.h - An artifact that generates text ------------------===//
//
//   Result<std::unique_ptr<LanguageModel>> model =
//       LanguageModel::open("model.weft");
//   auto ids = (*model)->encodePrompt("Once upon a time");
//   auto session = (*model)->createSession({.contextLength = 512});
//   Generator &generator = (*session)->getGenerator();
//   SequenceId sequence = generator.addSequence();
//   generator.append(sequence, *ids);
//   auto text = (*session)->generateText({.sequence = sequence});
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_LANGUAGEMODEL_H
#define WEFT_RUNTIME_LLM_LANGUAGEMODEL_H

#include "runtime/Exec/Program.h"
#include "runtime/Exec/Session.h"
#include "runtime/Llm/Generator.h"
#include "runtime/Llm/SessionRunner.h"
#include "runtime/Llm/Tokenizer/Tokenizer.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

class GenerationSession;

/// Sizes of a session. Everything is allocated when it is made.
struct GenerationSessionOptions {
  int64_t contextLength = 0;   ///< Tokens of one sequence; 0: the model's.
  int64_t sequences = 1;       ///< That can be in one step.
  int64_t tokensPerStep = 512; ///< Longer prompts are computed in pieces.
  /// Logit rows of a step; more make scoring faster. At least `sequences`.
  int64_t logitsPerStep = 16;
  /// Cache blocks for all sequences together; 0: enough for `sequences` of
  /// `contextLength` tokens.
  int64_t cacheBlocks = 0;
};

/// The sizes that a model and wishes of the user give: the values of a plan's
/// symbols. LimitExceeded, naming both numbers, for a context longer than the
/// model's or the plan's.
Result<std::vector<SymbolValue>>
chooseSymbols(const Plan &plan, const ModelMeta &meta,
              GenerationSessionOptions &options);

/// Immutable after `open`; may be shared between threads.
class LanguageModel {
public:
  /// Opens the artifact, its tokenizer and its kernels. `threads` and `device`
  /// as in createDevice; without a device, that of the plan's target. Errors
  /// name the file.
  static Result<std::unique_ptr<LanguageModel>>
  open(const std::string &path, unsigned threads = 0,
       std::string_view device = "");

  /// As open, with a program that is loaded already.
  static Result<std::unique_ptr<LanguageModel>>
  create(std::shared_ptr<Program> program);

  const ModelMeta &getMeta() const { return meta; }
  const Plan &getPlan() const { return program->getPlan(); }
  Program &getProgram() const { return *program; }

  /// Null if the artifact has none: then only ids go in and out.
  const Tokenizer *getTokenizer() const { return tokenizer.get(); }

  /// Ids of a text as the start of a sequence: with the special tokens that
  /// the tokenizer adds, and exactly one beginning-of-sequence id where the
  /// model wants it. Special tokens written in the text count as such.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// Ids of a text that goes on from other text: nothing is added.
  Result<std::vector<int32_t>> encodeContinuation(std::string_view text) const;
  Result<std::string> decode(std::span<const int32_t> ids) const;

  /// A session of its own; the model must outlive it.
  Result<std::unique_ptr<GenerationSession>>
  createSession(GenerationSessionOptions options = {}) const;

private:
  LanguageModel(std::shared_ptr<Program> program, ModelMeta meta,
                std::unique_ptr<Tokenizer> tokenizer);

  Status needTokenizer() const;

  std::shared_ptr<Program> program;
  ModelMeta meta;
  std::unique_ptr<Tokenizer> tokenizer;
};

/// What a generation hands out as it goes.
struct TextPiece {
  /// Null for the last piece, where text was held back after the last token.
  const TokenEvent *token;
  /// Text that is complete by now: whole UTF-8 characters, possibly none, never
  /// a part of a stop string.
  std::string_view text;
};

/// Text of one sequence.
struct TextRequest {
  SequenceId sequence = 0;
  GenerationOptions options = {};
  /// The text ends before the first of these that appears in it.
  std::vector<std::string> stopStrings = {};
  /// Called for each token; returns whether to go on. May be empty.
  std::function<bool(const TextPiece &)> onPiece = nullptr;
};

struct TextResult {
  std::string text; ///< All pieces joined.
  GenerationResult tokens;
  /// The stop string that ended the text; empty if none did. The tokens that
  /// hold it stay in the sequence: rewind to take them out.
  std::string stopString;
};

/// Not thread-safe.
class GenerationSession {
public:
  Generator &getGenerator() { return *generator; }
  Session &getSession() { return *session; }
  const GenerationSessionOptions &getOptions() const { return options; }

  /// Generates, decodes and streams. Without a tokenizer there is no text, and
  /// stop strings are an InvalidArgument. Failures of the request (a logit that
  /// is not a number) come back as the call's status.
  Result<TextResult> generateText(const TextRequest &request);

private:
  friend class LanguageModel;
  GenerationSession(const LanguageModel &model,
                    GenerationSessionOptions options)
      : model(model), options(options) {}

  const LanguageModel &model;
  GenerationSessionOptions options;
  // In the order of their dependence.
  std::unique_ptr<Session> session;
  std::unique_ptr<SessionRunner> runner;
  std::unique_ptr<Generator> generator;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_LANGUAGEMODEL_H
