//===- Hash.cpp - XXH64 ---------------------------------------------------===//

#include "runtime/Format/Hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace weft::rt;

static_assert(std::endian::native == std::endian::little,
              "artifacts are read and written in the machine's byte order");

namespace {

constexpr uint64_t prime1 = 0x9E3779B185EBCA87;
constexpr uint64_t prime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t prime3 = 0x165667B19E3779F9;
constexpr uint64_t prime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t prime5 = 0x27D4EB2F165667C5;

template <typename T> T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

uint64_t mixIn(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * prime2, 31) * prime1;
}

void consumeStripe(std::array<uint64_t, 4> &lanes, const std::byte *stripe) {
  for (size_t i = 0; i < 4; ++i)
    lanes[i] = mixIn(lanes[i], load<uint64_t>(stripe + 8 * i));
}

} // namespace

Xxh64::Xxh64() : lanes{prime1 + prime2, prime2, 0, 0 - prime1} {}

void Xxh64::update(std::span<const std::byte> bytes) {
  const size_t held = total % pending.size();
  total += bytes.size();
  if (held) {
    const size_t taken = std::min(pending.size() - held, bytes.size());
    std::copy_n(bytes.data(), taken, pending.data() + held);
    bytes = bytes.subspan(taken);
    if (held + taken < pending.size())
      return;
    consumeStripe(lanes, pending.data());
  }
  while (bytes.size() >= pending.size()) {
    consumeStripe(lanes, bytes.data());
    bytes = bytes.subspan(pending.size());
  }
  std::copy(bytes.begin(), bytes.end(), pending.begin());
}

uint64_t Xxh64::digest() const {
  uint64_t hash;
  if (total < pending.size()) {
    hash = prime5;
  } else {
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) +
           std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = (hash ^ mixIn(0, lane)) * prime1 + prime4;
  }
  hash += total;

  const std::byte *at = pending.data();
  const std::byte *end = at + total % pending.size();
  for (; end - at >= 8; at += 8)
    hash = std::rotl(hash ^ mixIn(0, load<uint64_t>(at)), 27) * prime1 + prime4;
  if (end - at >= 4) {
    hash =
        std::rotl(hash ^ (load<uint32_t>(at) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at != end; ++at)
    hash = std::rotl(hash ^ (load<uint8_t>(at) * prime5), 11) * prime1;

  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

uint64_t weft::rt::xxh64(std::span<const std::byte> bytes) {
  Xxh64 state;
  state.update(bytes);
  return state.digest();
}

uint64_t weft::rt::xxh64OfEnds(std::span<const std::byte> bytes) {
  constexpr size_t part = size_t{1} << 20;
  if (bytes.size() <= 2 * part)
    return xxh64(bytes);
  Xxh64 state;
  state.update(bytes.first(part));
  state.update(bytes.last(part));
  return state.digest();
}
