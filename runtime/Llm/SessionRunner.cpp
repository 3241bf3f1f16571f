//===- SessionRunner.cpp - Steps of a compiled plan -----------------------===//

#include "runtime/Llm/SessionRunner.h"

#include <algorithm>

using namespace weft::rt;

static constexpr StepInputField kKnownInputs[] = {
    {"tokens", &StepInputs::tokens, 1},
    {"positions", &StepInputs::positions, 1},
    {"sequence_ids", &StepInputs::sequenceIds, 1},
    {"slots", &StepInputs::slots, 1},
    {"sequence_starts", &StepInputs::sequenceStarts, 1},
    {"context_lengths", &StepInputs::contextLengths, 1},
    {"block_table", &StepInputs::blockTable, 2},
    {"logit_rows", &StepInputs::logitRows, 1},
    {"rope_choice", &StepInputs::ropeChoice, 1},
};

std::span<const StepInputField> weft::rt::getStepInputFields() {
  return kKnownInputs;
}

Result<std::unique_ptr<SessionRunner>> SessionRunner::create(Session &session) {
  std::unique_ptr<SessionRunner> runner(new SessionRunner(session));
  Result<uint32_t> index = findEntry(session.getPlan(), "step");
  if (!index)
    return index.getStatus();
  runner->entry = *index;
  if (Status s = runner->readEntry(session.getPlan().entries[*index]); !s)
    return s;
  if (Status s = runner->readLimits(); !s)
    return s;
  runner->limits.padTableWidth =
      !session.getProgram().getDevice().isHostMemory();
  return runner;
}

Status SessionRunner::readEntry(const Entry &entry) {
  auto unsupported = [](const std::string &what) {
    return Status::unsupported("the entry 'step' " + what +
                               "; this runtime cannot generate text with it: "
                               "compile the model again");
  };
  for (const Buffer &buffer : entry.buffers) {
    if (buffer.kind == BufferKind::Input) {
      auto known = std::find_if(
          std::begin(kKnownInputs), std::end(kKnownInputs),
          [&](const StepInputField &k) { return k.name == buffer.name; });
      if (known == std::end(kKnownInputs))
        return unsupported("has the unknown input '" + buffer.name + "'");
      if (buffer.dtype != DType::I32 || buffer.shape.size() != known->rank)
        return unsupported("has the input '" + buffer.name +
                           "' with another type or rank than i32 of rank " +
                           std::to_string(known->rank));
      inputs.push_back({known->name, known->values, {0, 0}, known->rank});
      limits.hasRopeChoice |= known->name == "rope_choice";
    } else if (buffer.kind == BufferKind::Output) {
      if (buffer.name != "logits" || buffer.dtype != DType::F32 ||
          buffer.shape.size() != 2 || !buffer.shape[1].isConstant())
        return unsupported("has the output '" + buffer.name +
                           "' where f32 'logits' [logits, vocabulary] are "
                           "expected");
      Result<int64_t> width = buffer.shape[1].evaluate({});
      if (!width)
        return width.getStatus();
      vocabularySize = *width;
    }
  }
  if (vocabularySize == 0)
    return unsupported("has no output 'logits'");
  return Status::ok();
}

Status SessionRunner::readLimits() {
  const Plan &plan = session.getPlan();
  const std::vector<int64_t> &maximum = session.getLimits().maximum;
  // A size that is no symbol of the plan does not limit a step.
  const std::pair<std::string_view, int64_t StepLimits::*> known[] = {
      {"tokens", &StepLimits::tokens},
      {"sequences", &StepLimits::sequences},
      {"logits", &StepLimits::logits},
      {"table_width", &StepLimits::tableWidth},
      {"cache_blocks", &StepLimits::cacheBlocks}};
  for (auto [name, limit] : known) {
    limits.*limit = INT32_MAX;
    for (size_t i = 0; i < plan.symbols.size(); ++i) {
      if (plan.symbols[i].name != name)
        continue;
      limits.*limit = std::min<int64_t>(maximum[i], INT32_MAX);
      if (name == "logits")
        limits.leastLogits = plan.symbols[i].min;
      if (!plan.symbols[i].perSession)
        symbols.push_back({name, 0});
    }
  }
  return Status::ok();
}

Status SessionRunner::run(const StepInputs &step, std::span<float> logits) {
  arguments.clear();
  for (Input &input : inputs) {
    const std::vector<int32_t> &values = step.*input.values;
    input.shape[0] = int64_t(values.size());
    if (input.rank == 2) {
      input.shape[0] = int64_t(step.contextLengths.size());
      input.shape[1] = step.tableWidth;
    }
    // The executor does not write to inputs.
    arguments.push_back({input.name,
                         {const_cast<int32_t *>(values.data()), DType::I32,
                          std::span(input.shape, input.rank)}});
  }
  const std::pair<std::string_view, size_t> sizes[] = {
      {"tokens", step.tokens.size()},
      {"sequences", step.contextLengths.size()},
      {"logits", step.logitRows.size()},
      {"table_width", size_t(step.tableWidth)}};
  for (SymbolValue &symbol : symbols)
    for (auto [name, size] : sizes)
      if (symbol.name == name)
        symbol.value = int64_t(size);
  int64_t shape[] = {int64_t(step.logitRows.size()), vocabularySize};
  Argument output = {"logits", {logits.data(), DType::F32, shape}};
  return session.run(entry, arguments, std::span(&output, 1), symbols);
}
