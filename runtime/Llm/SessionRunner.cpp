//===- SessionRunner.cpp - Steps of a compiled plan -----------------------===//

#include "runtime/Llm/SessionRunner.h"

#include <algorithm>
#include <bit>

using namespace weft::rt;

static constexpr StepInputField knownInputs[] = {
    {"tokens", 0, &StepInputs::tokens},
    {"positions", 0, &StepInputs::positions},
    {"sequence_ids", 0, &StepInputs::sequenceIds},
    {"slots", 0, &StepInputs::slots},
    {"sequence_starts", 0, &StepInputs::sequenceStarts},
    {"context_lengths", 0, &StepInputs::contextLengths},
    {"block_table", StepInputField::tableColumns, &StepInputs::blockTable},
    {"logit_rows", 0, &StepInputs::logitRows},
    {"rope_choice", 0, &StepInputs::ropeChoice},
    {"sampling_counts", 2, &StepInputs::samplingCounts},
    {"sampling_options", 4, nullptr, &StepInputs::samplingOptions},
    {"adjustment_places", 2, &StepInputs::adjustmentPlaces},
    {"adjustment_values", 2, nullptr, &StepInputs::adjustmentValues},
};

std::span<const StepInputField> weft::rt::getStepInputFields() {
  return knownInputs;
}

const void *StepInputField::getData(const StepInputs &inputs) const {
  return integers ? static_cast<const void *>((inputs.*integers).data())
                  : (inputs.*floats).data();
}

std::array<int64_t, 2>
StepInputField::getShape(const StepInputs &inputs) const {
  const auto count =
      int64_t(integers ? (inputs.*integers).size() : (inputs.*floats).size());
  if (columns == 0)
    return {count, 0};
  if (columns != tableColumns)
    return {count / columns, columns};
  return {int64_t(inputs.contextLengths.size()), inputs.tableWidth};
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
  if (Status s = runner->readStates(); !s)
    return s;
  runner->limits.padTableWidth =
      !session.getProgram().getDevice().isHostMemory();
  return runner;
}

static Status unsupported(const std::string &what) {
  return Status::unsupported("the entry 'step' " + what +
                             "; this runtime cannot generate text with it: "
                             "compile the model again");
}

Status SessionRunner::readOutput(const Buffer &buffer) {
  if (buffer.name == "ids" && buffer.dtype == DType::I32 &&
      buffer.shape.size() == 1) {
    limits.samples = true;
    return Status::ok();
  }
  if (buffer.name != "logits" || buffer.dtype != DType::F32 ||
      buffer.shape.size() != 2 || !buffer.shape[1].isConstant())
    return unsupported("has the output '" + buffer.name +
                       "' where f32 'logits' [logits, vocabulary] and i32 "
                       "'ids' [logits] are expected");
  Result<int64_t> width = buffer.shape[1].evaluate({});
  if (!width)
    return width.getStatus();
  vocabularySize = *width;
  return Status::ok();
}

Status SessionRunner::readEntry(const Entry &entry) {
  for (const Buffer &buffer : entry.buffers) {
    if (buffer.kind == BufferKind::Input) {
      auto known = std::ranges::find(knownInputs, std::string_view(buffer.name),
                                     &StepInputField::name);
      if (known == std::end(knownInputs))
        return unsupported("has the unknown input '" + buffer.name + "'");
      if (buffer.dtype != known->getType() ||
          buffer.shape.size() != known->getRank() ||
          (known->columns > 0 &&
           buffer.shape[1] != Expr::constant(known->columns)))
        return unsupported(
            "has the input '" + buffer.name +
            "' with another type or shape than " + getName(known->getType()) +
            " of rank " + std::to_string(known->getRank()) +
            (known->columns > 0
                 ? " with " + std::to_string(known->columns) + " columns"
                 : ""));
      inputs.push_back({known, {0, 0}});
      limits.hasRopeChoice |= known->name == "rope_choice";
    } else if (buffer.kind == BufferKind::Output) {
      if (Status s = readOutput(buffer); !s)
        return s;
    }
  }
  if (vocabularySize == 0)
    return unsupported("has no output 'logits'");
  const bool hasInputs = std::ranges::all_of(
      std::array{"sampling_counts", "sampling_options", "adjustment_places",
                 "adjustment_values"},
      [&](std::string_view name) {
        return std::ranges::any_of(inputs, [&](const Input &input) {
          return input.field->name == name;
        });
      });
  if (limits.samples && !hasInputs)
    return unsupported("has the output 'ids' but lacks an input that says how "
                       "they are chosen");
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
      {"cache_blocks", &StepLimits::cacheBlocks},
      {"adjustments", &StepLimits::adjustments}};
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
  // A step may have the next power of two.
  limits.adjustments = int64_t(std::bit_floor(uint64_t(limits.adjustments)));
  return Status::ok();
}

/// The caches are the states whose first dimension is that of the blocks.
Status SessionRunner::readStates() {
  for (const State &state : session.getPlan().states) {
    if (!state.name.starts_with("cache."))
      continue;
    Result<TensorView> view = session.getState(state.name);
    if (!view)
      return view.getStatus();
    if (view->shape.empty() || view->shape[0] != limits.cacheBlocks)
      return unsupported("has the state '" + state.name +
                         "', whose first dimension is not that of the cache "
                         "blocks");
    uint64_t bytes = getByteSize(view->dtype);
    for (int64_t size : std::span(view->shape).subspan(1))
      bytes *= uint64_t(size);
    cacheStates.push_back({state.name, bytes});
  }
  return Status::ok();
}

Status SessionRunner::copyBlocks(std::span<const BlockCopy> copies) {
  for (const CacheState &state : cacheStates)
    for (const BlockCopy &copy : copies)
      if (Status s = session.copyInState(
              state.name, uint64_t(copy.from) * state.blockBytes,
              uint64_t(copy.to) * state.blockBytes, state.blockBytes);
          !s)
        return s;
  return Status::ok();
}

Status SessionRunner::run(const StepInputs &step, const StepOutputs &outputs) {
  arguments.clear();
  for (Input &input : inputs) {
    input.shape = input.field->getShape(step);
    // The executor does not write to inputs.
    arguments.push_back(
        {input.field->name,
         {const_cast<void *>(input.field->getData(step)),
          input.field->getType(),
          std::span(input.shape).first(input.field->getRank())}});
  }
  const std::pair<std::string_view, size_t> sizes[] = {
      {"tokens", step.tokens.size()},
      {"sequences", step.contextLengths.size()},
      {"logits", step.logitRows.size()},
      {"table_width", size_t(step.tableWidth)},
      {"adjustments", step.adjustmentPlaces.size() / 2}};
  for (SymbolValue &symbol : symbols)
    for (auto [name, size] : sizes)
      if (symbol.name == name)
        symbol.value = int64_t(size);
  const int64_t shape[] = {int64_t(step.logitRows.size()), vocabularySize};
  const Argument results[] = {
      {"logits",
       {outputs.logits.data(), DType::F32, shape},
       /*isIgnored=*/!outputs.wantsLogits},
      {"ids", {outputs.ids.data(), DType::I32, std::span(shape).first(1)}}};
  return session.run(entry, arguments,
                     std::span(results).first(limits.samples ? 2 : 1), symbols);
}
