//===- SessionRunner.h - Steps of a compiled plan -------------------------===//

#ifndef WEFT_RUNTIME_LLM_SESSIONRUNNER_H
#define WEFT_RUNTIME_LLM_SESSIONRUNNER_H

#include "runtime/Exec/Session.h"
#include "runtime/Llm/StepRunner.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

/// Runs the entry `step` of a session. Uses only those inputs of
/// docs/architecture.md that the entry declares: a model without positions in
/// its arithmetic does not take them.
class SessionRunner : public StepRunner {
public:
  /// `session` must outlive the runner, which needs its `cache.N` states for
  /// itself. NotFound if the plan has no entry `step`, Unsupported naming the
  /// input or output that is not as the step entry's definition says.
  static Result<std::unique_ptr<SessionRunner>> create(Session &session);

  StepLimits getLimits() const override { return limits; }
  int64_t getVocabularySize() const override { return vocabularySize; }
  Status run(const StepInputs &inputs, const StepOutputs &outputs) override;
  Status copyBlocks(std::span<const BlockCopy> copies) override;

private:
  /// One input of the entry and its sizes in the current run.
  struct Input {
    const StepInputField *field;
    std::array<int64_t, 2> shape;
  };

  explicit SessionRunner(Session &session) : session(session) {}

  Status readEntry(const Entry &entry);
  Status readOutput(const Buffer &buffer);
  Status readLimits();
  Status readStates();

  Session &session;
  uint32_t entry = 0;
  StepLimits limits;
  int64_t vocabularySize = 0;
  std::vector<Input> inputs;
  /// State that has a part for each cache block, all of the same size.
  struct CacheState {
    std::string name;
    uint64_t blockBytes;
  };

  std::vector<CacheState> cacheStates;
  /// Kept between steps so that a step does not allocate.
  std::vector<Argument> arguments;
  std::vector<SymbolValue> symbols;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_SESSIONRUNNER_H
