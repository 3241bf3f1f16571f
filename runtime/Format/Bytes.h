//===- Bytes.h - Bytes of a plan, owned or viewed -------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_BYTES_H
#define WEFT_RUNTIME_FORMAT_BYTES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::rt {

/// An immutable range of bytes that keeps its owner alive: either a vector that
/// the compiler made or a mapped artifact. Copies share the bytes.
class Bytes {
public:
  Bytes() = default;
  Bytes(std::vector<uint8_t> values) {
    auto shared =
        std::make_shared<const std::vector<uint8_t>>(std::move(values));
    range = *shared;
    owner = std::move(shared);
  }
  Bytes(std::span<const uint8_t> range, std::shared_ptr<const void> owner)
      : range(range), owner(std::move(owner)) {}

  operator std::span<const uint8_t>() const { return range; }
  const uint8_t *data() const { return range.data(); }
  size_t size() const { return range.size(); }
  bool empty() const { return range.empty(); }
  auto begin() const { return range.begin(); }
  auto end() const { return range.end(); }

  friend bool operator==(const Bytes &a, const Bytes &b) {
    return std::ranges::equal(a.range, b.range);
  }

private:
  std::span<const uint8_t> range;
  std::shared_ptr<const void> owner;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_BYTES_H
