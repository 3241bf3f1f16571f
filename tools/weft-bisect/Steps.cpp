//===- Steps.cpp - weft-bisect: what the entry is run on ------------------===//

#include "tools/weft-bisect/Steps.h"

#include "runtime/Llm/StepBuilder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace weft;
using namespace weft::bisect;

llvm::StringRef weft::bisect::getEntryName(const rt::ModelMeta &meta) {
  return meta.kind == rt::ModelMeta::Kind::Decoder ? "step" : "encode";
}

static Step makeEncoderStep(std::span<const int32_t> ids) {
  auto count = int64_t(ids.size());
  std::vector<int32_t> positions(ids.size()), zeros(ids.size());
  std::iota(positions.begin(), positions.end(), 0);
  Step step;
  step.inputs["tokens"] = {{ids.begin(), ids.end()}, {count}};
  step.inputs["positions"] = {positions, {count}};
  step.inputs["token_types"] = {zeros, {count}};
  step.inputs["sequence_ids"] = {zeros, {count}};
  step.inputs["sequence_starts"] = {{0, int32_t(count)}, {2}};
  step.symbols["tokens"] = count;
  step.symbols["sequences"] = 1;
  return step;
}

static Step makeDecoderStep(const rt::StepInputs &inputs, int64_t cacheBlocks) {
  Step step;
  for (const rt::StepInputField &field : rt::getStepInputFields()) {
    const std::array<int64_t, 2> sizes = field.getShape(inputs);
    std::vector<int64_t> shape(sizes.begin(), sizes.begin() + field.getRank());
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    std::vector<int32_t> values(count);
    if (count != 0)
      std::memcpy(values.data(), field.getData(inputs),
                  count * sizeof(int32_t));
    step.inputs[std::string(field.name)] = {values, shape};
  }
  step.symbols["tokens"] = int64_t(inputs.tokens.size());
  step.symbols["sequences"] = int64_t(inputs.contextLengths.size());
  step.symbols["logits"] = int64_t(inputs.logitRows.size());
  step.symbols["table_width"] = inputs.tableWidth;
  step.symbols["adjustments"] = int64_t(inputs.adjustmentPlaces.size() / 2);
  step.symbols["cache_blocks"] = cacheBlocks;
  return step;
}

rt::Result<std::vector<Step>>
weft::bisect::makeSteps(const rt::ModelMeta &meta, std::span<const int32_t> ids,
                        int64_t singles) {
  if (ids.empty())
    return rt::Status::invalid("the prompt has no tokens; give some text with "
                               "--prompt or some ids with --ids");
  for (int32_t id : ids)
    if (id < 0 || id >= meta.vocabularySize)
      return rt::Status::invalid("token id " + std::to_string(id) +
                                 " is not in the vocabulary; it has the ids 0 "
                                 "to " +
                                 std::to_string(meta.vocabularySize - 1));
  auto length = int64_t(ids.size());
  if (length > meta.contextLength)
    return rt::Status::limit("the prompt has " + std::to_string(length) +
                             " tokens, the model takes at most " +
                             std::to_string(meta.contextLength));
  if (meta.kind == rt::ModelMeta::Kind::Encoder)
    return std::vector<Step>{makeEncoderStep(ids)};

  // A block more than needed, so that the cache is not used from its start to
  // its end.
  int64_t blocks = (length + meta.blockSize - 1) / meta.blockSize + 1;
  rt::Result<rt::KvCache> cache = rt::KvCache::create(blocks, meta.blockSize);
  if (!cache)
    return cache.getStatus();
  rt::SequencePiece piece;
  piece.sequence = cache->addSequence();
  piece.logits = rt::SequencePiece::Logits::All;
  // Of the last row of a step: the largest of changed logits.
  rt::RowSampling sampling;
  sampling.ids = int32_t(meta.vocabularySize);
  const rt::LogitAdjustment adjustments[] = {{ids.back(), 1.25f, -0.5f}};
  piece.sampling = &sampling;
  piece.adjustments = adjustments;
  piece.ropeChoice = meta.ropeSwitchLength && length > *meta.ropeSwitchLength;
  rt::StepBuilder builder(/*hasRopeChoice=*/true, /*leastLogits=*/1,
                          /*widestTable=*/0, /*samples=*/true);
  std::vector<Step> steps;
  int64_t prompt = std::max<int64_t>(1, length - singles);
  for (int64_t begin = 0, count = prompt; begin < length;
       begin += count, count = 1) {
    piece.tokens = ids.subspan(begin, count);
    if (rt::Status s = cache->append(piece.sequence, count); !s)
      return s;
    if (rt::Status s = builder.build(*cache, std::span(&piece, 1)); !s)
      return s;
    steps.push_back(makeDecoderStep(builder.getInputs(), blocks));
  }
  return steps;
}
