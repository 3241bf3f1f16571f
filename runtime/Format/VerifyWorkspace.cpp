//===- VerifyWorkspace.cpp - Whether temporaries fit and stay apart -------===//

#include "runtime/Format/Layout.h"
#include "runtime/Format/Verify.h"

#include <algorithm>
#include <map>

using namespace weft::rt;

namespace {

constexpr size_t maxSamples = 32;
/// Where a symbol without a useful maximum is sampled.
constexpr int64_t largeSymbol = int64_t{1} << 20;

/// A Temp with its place for one set of symbol values.
struct Placed {
  const Buffer *buffer = nullptr;
  int64_t begin = 0, end = 0;
};

Result<std::vector<Placed>> placeTemps(const Entry &entry,
                                       std::span<const int64_t> symbols) {
  Result<int64_t> workspace = entry.workspaceBytes.evaluate(symbols);
  if (!workspace)
    return workspace.getStatus();
  std::vector<Placed> temps;
  for (const Buffer &buffer : entry.buffers) {
    if (buffer.kind != BufferKind::Temp)
      continue;
    Result<int64_t> offset = buffer.offset.evaluate(symbols);
    if (!offset)
      return offset.getStatus();
    Result<int64_t> bytes =
        evaluateByteSize(buffer.shape, buffer.dtype, symbols);
    if (!bytes)
      return bytes.getStatus();
    const std::string where =
        "entry '" + entry.name + "', buffer '" + buffer.name + "'";
    if (*offset % layout::paramAlignment)
      return Status::corrupt(where + " lies at offset " +
                             std::to_string(*offset) +
                             ", expected a multiple of 64");
    if (*offset > *workspace || *bytes > *workspace - *offset)
      return Status::corrupt(where + " has " + std::to_string(*bytes) +
                             " bytes at offset " + std::to_string(*offset) +
                             ", the workspace only " +
                             std::to_string(*workspace));
    if (*bytes)
      temps.push_back({&buffer, *offset, *offset + *bytes});
  }
  return temps;
}

/// Walks over the commands with the set of live buffers, which never overlap,
/// so that a new one has to be compared with its two neighbours only.
Status checkOverlap(const Entry &entry, std::vector<Placed> temps) {
  std::vector<const Placed *> byEnd;
  std::ranges::sort(temps, {},
                    [](const Placed &p) { return p.buffer->firstUse; });
  for (const Placed &temp : temps)
    byEnd.push_back(&temp);
  std::ranges::sort(byEnd, {},
                    [](const Placed *p) { return p->buffer->lastUse; });

  std::map<int64_t, const Placed *> live;
  auto ended = byEnd.begin();
  for (const Placed &temp : temps) {
    for (; (*ended)->buffer->lastUse < temp.buffer->firstUse; ++ended)
      live.erase((*ended)->begin);
    auto after = live.lower_bound(temp.begin);
    const Placed *clash = nullptr;
    if (after != live.end() && after->second->begin < temp.end)
      clash = after->second;
    else if (after != live.begin() &&
             std::prev(after)->second->end > temp.begin)
      clash = std::prev(after)->second;
    if (clash)
      return Status::corrupt("entry '" + entry.name + "': the buffers '" +
                             clash->buffer->name + "' and '" +
                             temp.buffer->name + "' overlap at command " +
                             std::to_string(temp.buffer->firstUse));
    live.emplace(temp.begin, &temp);
  }
  return Status::ok();
}

Status checkCopies(const Entry &entry, std::span<const int64_t> symbols) {
  for (const Command &command : entry.commands) {
    if (command.kind != CommandKind::Copy)
      continue;
    int64_t bytes[2];
    for (size_t side = 0; side < 2; ++side) {
      const Buffer &buffer = entry.buffers[command.buffers[side]];
      Result<int64_t> size =
          evaluateByteSize(buffer.shape, buffer.dtype, symbols);
      if (!size)
        return size.getStatus();
      bytes[side] = *size;
    }
    if (bytes[0] != bytes[1])
      return Status::corrupt(
          "entry '" + entry.name + "', copy '" + command.label +
          "': the source has " + std::to_string(bytes[0]) +
          " bytes, the destination " + std::to_string(bytes[1]));
  }
  return Status::ok();
}

} // namespace

Result<int64_t> weft::rt::evaluateByteSize(std::span<const Expr> shape,
                                           DType type,
                                           std::span<const int64_t> symbols) {
  int64_t bytes = getByteSize(type);
  for (const Expr &expr : shape) {
    Result<int64_t> dim = expr.evaluate(symbols);
    if (!dim)
      return dim.getStatus();
    if (__builtin_mul_overflow(bytes, *dim, &bytes))
      return Status::limit("the size of a tensor exceeds 64 bits");
  }
  return bytes;
}

Status weft::rt::verifyWorkspace(const Plan &plan, const Entry &entry,
                                 std::span<const int64_t> symbols) {
  Result<std::vector<Placed>> temps = placeTemps(entry, symbols);
  if (!temps)
    return temps.getStatus();
  if (Status status = checkOverlap(entry, temps.take()); !status)
    return status;
  return checkCopies(entry, symbols);
}

std::vector<std::vector<int64_t>> weft::rt::sampleSymbols(const Plan &plan) {
  std::vector<int64_t> low, high;
  for (const Symbol &symbol : plan.symbols) {
    low.push_back(symbol.min);
    high.push_back(std::max(symbol.min, std::min(symbol.max, largeSymbol)));
  }
  std::vector<std::vector<int64_t>> samples = {low};
  if (low == high)
    return samples;
  samples.push_back(high);
  for (size_t i = 0; i < low.size() && samples.size() < maxSamples - 8; ++i) {
    samples.push_back(low);
    samples.back()[i] = high[i];
  }
  // Small odd values find roundings that the extremes hide. The generator is
  // the one of Knuth's MMIX: the same plan always gets the same samples.
  uint64_t random = 1;
  for (int64_t spread = 2; samples.size() < maxSamples; spread *= 2) {
    std::vector<int64_t> &sample = samples.emplace_back(low);
    for (size_t i = 0; i < low.size(); ++i) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const int64_t range = std::min(high[i] - low[i] + 1, spread);
      sample[i] += static_cast<int64_t>((random >> 33) % range);
    }
  }
  return samples;
}
