//===- RecordingCache.cpp -------------------------------------------------===//

#include "runtime/Exec/RecordingCache.h"

#include <algorithm>

using namespace weft::rt;

RecordingCache::Item &RecordingCache::use(std::span<const int64_t> symbols) {
  auto found = std::ranges::find_if(items, [&](const Item &item) {
    return std::ranges::equal(item.symbols, symbols);
  });
  if (found != items.end()) {
    items.splice(items.begin(), items, found);
  } else {
    if (items.size() == capacity)
      items.pop_back();
    items.push_front({{symbols.begin(), symbols.end()}, nullptr, 0});
  }
  ++items.front().runs;
  return items.front();
}

uint64_t RecordingCache::getBytes() const {
  uint64_t bytes = 0;
  for (const Item &item : items)
    bytes += item.recording ? item.recording->getBytes() : 0;
  return bytes;
}

size_t RecordingCache::getCount() const {
  return size_t(std::ranges::count_if(
      items, [](const Item &item) { return item.recording != nullptr; }));
}
