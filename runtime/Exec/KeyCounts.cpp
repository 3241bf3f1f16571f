//===- KeyCounts.cpp - How many keys attention sees in a run --------------===//

#include "runtime/Exec/KeyCounts.h"

#include <algorithm>

using namespace weft::rt;

namespace {

/// The keys that a token sees: [first, last).
struct KeyRange {
  int64_t first, last;
};

KeyRange getVisible(const KeyCount &count, int64_t position, int64_t length) {
  KeyRange range = {0, count.isCausal ? position + 1 : length};
  // A window that is wider than any position is none.
  if (count.window && count.window <= uint64_t(INT32_MAX))
    range.first = std::max<int64_t>(0, position + 1 - int64_t(count.window));
  return range;
}

} // namespace

int64_t weft::rt::countKeys(const KeyCount &count,
                            const SequenceInputs &inputs) {
  int64_t sum = 0;
  for (size_t s = 0; s + 1 < inputs.sequenceStarts.size(); ++s) {
    const auto tokens = int64_t(inputs.positions.size());
    const int64_t begin =
        std::clamp<int64_t>(inputs.sequenceStarts[s], 0, tokens);
    const int64_t end =
        std::clamp<int64_t>(inputs.sequenceStarts[s + 1], begin, tokens);
    const int64_t length = s < inputs.sequenceLengths.size()
                               ? inputs.sequenceLengths[s]
                               : end - begin;
    KeyRange all = {INT64_MAX, 0};
    for (int64_t row = begin; row < end; ++row) {
      const KeyRange range = getVisible(count, inputs.positions[row], length);
      all = {std::min(all.first, range.first), std::max(all.last, range.last)};
      if (count.kind == KeyCount::Kind::Seen)
        sum += std::max<int64_t>(0, range.last - range.first);
    }
    if (count.kind == KeyCount::Kind::Read)
      sum += std::max<int64_t>(0, all.last - std::min(all.first, all.last));
  }
  return sum;
}

/// Elements of a buffer with one dimension.
static Result<int64_t> countElements(const Entry &entry, uint32_t buffer,
                                     std::span<const int64_t> symbols) {
  constexpr int64_t most = 1 << 24;
  const Buffer &input = entry.buffers[buffer];
  Result<int64_t> count = input.shape[0].evaluate(symbols);
  if (count && *count > most)
    return Status::invalid("the work of entry '" + entry.name + "' with " +
                           std::to_string(*count) + " " + input.name +
                           " cannot be counted; give smaller sizes");
  return count;
}

Result<std::vector<int64_t>> weft::rt::countKeysOfEvenStep(
    const Entry &entry, std::span<const int64_t> symbols, int64_t context) {
  std::vector<int64_t> values;
  for (const KeyCount &count : entry.keyCounts) {
    Result<int64_t> tokens = countElements(entry, count.positions, symbols);
    if (!tokens)
      return tokens.getStatus();
    Result<int64_t> starts =
        countElements(entry, count.sequenceStarts, symbols);
    if (!starts)
      return starts.getStatus();
    const int64_t sequences = std::max<int64_t>(*starts - 1, 1);
    std::vector<int32_t> positions, sequenceStarts = {0}, lengths;
    for (int64_t s = 0; s < sequences; ++s) {
      const int64_t end = *tokens * (s + 1) / sequences;
      const int64_t own = end - int64_t(positions.size());
      const int64_t length =
          count.sequenceLengths == KeyCount::noBuffer
              ? own
              : std::clamp<int64_t>(context, own, INT32_MAX - 1);
      for (int64_t i = length - own; i < length; ++i)
        positions.push_back(int32_t(i));
      sequenceStarts.push_back(int32_t(end));
      lengths.push_back(int32_t(length));
    }
    values.push_back(countKeys(count, {positions, sequenceStarts, lengths}));
  }
  return values;
}

Result<Work> weft::rt::evaluateWork(const Command &command,
                                    std::span<const int64_t> values) {
  const bool isCounted = !command.countedFlops.getOps().empty();
  Result<int64_t> flops =
      (isCounted ? command.countedFlops : command.flops).evaluate(values);
  if (!flops)
    return flops.getStatus();
  Result<int64_t> bytes =
      (isCounted ? command.countedBytes : command.bytes).evaluate(values);
  if (!bytes)
    return bytes.getStatus();
  return Work{*flops, *bytes};
}
