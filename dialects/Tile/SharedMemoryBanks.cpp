//===- SharedMemoryBanks.cpp - Conflicts of banks -------------------------===//

#include "dialects/Tile/SharedMemoryBanks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

using namespace weft::tile;

/// Bytes of a bank's word, banks, and bytes that move at a time.
static constexpr unsigned wordBytes = 4, banks = 32,
                          wavefrontBytes = banks * wordBytes;

/// Lanes that move together.
static unsigned getLanesTogether(unsigned bytes) {
  return wavefrontBytes / std::max(bytes, wordBytes);
}

unsigned weft::tile::getLeastWavefronts(unsigned lanes, unsigned bytes) {
  unsigned together = getLanesTogether(bytes);
  return (lanes + together - 1) / together;
}

unsigned weft::tile::countWavefronts(std::span<const int64_t> offsets,
                                     unsigned bytes) {
  assert(std::has_single_bit(bytes) && bytes <= 16);
  size_t together = getLanesTogether(bytes);
  unsigned count = 0;
  for (size_t first = 0; first < offsets.size(); first += together) {
    std::array<std::vector<int64_t>, banks> words;
    for (size_t lane = first; lane < std::min(first + together, offsets.size());
         ++lane) {
      assert(offsets[lane] % bytes == 0);
      for (int64_t word = offsets[lane] / wordBytes;
           word * wordBytes < offsets[lane] + bytes; ++word) {
        std::vector<int64_t> &bank = words[static_cast<size_t>(word % banks)];
        if (std::find(bank.begin(), bank.end(), word) == bank.end())
          bank.push_back(word);
      }
    }
    size_t most = 0;
    for (const std::vector<int64_t> &bank : words)
      most = std::max(most, bank.size());
    count += static_cast<unsigned>(most);
  }
  return count;
}

unsigned weft::tile::countWavefronts(const Layout &access, unsigned bytes) {
  assert(std::has_single_bit(bytes) && bytes <= 16);
  unsigned together = getLanesTogether(bytes);
  unsigned laneBits = access.inputBits(Axis::Lane);
  unsigned togetherBits =
      std::min(laneBits, static_cast<unsigned>(std::countr_zero(together)));
  Layout lanes = access.withInputs({Axis::Lane}).withOutputs({Axis::Offset});
  BitMatrix map = lanes.matrix().slice(0, togetherBits);
  // Units that a lane moves, or words: all of them, and in which banks.
  unsigned unitBits =
      static_cast<unsigned>(std::countr_zero(std::max(bytes, wordBytes)));
  auto rankOf = [&](unsigned first, unsigned end) {
    uint64_t mask = 0;
    for (unsigned i = first; i < std::min(end, map.rows()); ++i)
      mask |= uint64_t(1) << i;
    std::vector<uint64_t> columns;
    for (unsigned i = 0; i < map.columns(); ++i)
      columns.push_back(map.column(i) & mask);
    return BitMatrix(map.rows(), std::move(columns)).rank();
  };
  unsigned lineBits = static_cast<unsigned>(std::countr_zero(wavefrontBytes));
  unsigned units = rankOf(unitBits, BitMatrix::mostBits);
  unsigned places = rankOf(unitBits, lineBits);
  // A linear map takes as many inputs to every output that it has.
  return (1u << (units - places)) << (laneBits - togetherBits);
}

std::vector<int64_t> weft::tile::getOffsets(const RowAccess &access,
                                            int64_t pitch) {
  std::vector<int64_t> offsets;
  for (uint64_t lane = 0; lane < 1u << access.place.inputBits(Axis::Lane);
       ++lane) {
    auto row =
        static_cast<int64_t>(access.place.at({{Axis::Lane, lane}}, Axis::Row));
    auto column = static_cast<int64_t>(
        access.place.at({{Axis::Lane, lane}}, Axis::Column));
    offsets.push_back((row * pitch + column) * access.elementBytes);
  }
  return offsets;
}

int64_t weft::tile::getLeastSpare(const RowAccess &access, int64_t columns,
                                  int64_t step, int64_t most) {
  int64_t best = 0;
  unsigned fewest = 0;
  for (int64_t spare = 0; spare < most; spare += step) {
    unsigned wavefronts =
        countWavefronts(getOffsets(access, columns + spare), access.getBytes());
    if (spare == 0 || wavefronts < fewest) {
      best = spare;
      fewest = wavefronts;
    }
  }
  return best;
}
