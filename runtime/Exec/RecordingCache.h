//===- RecordingCache.h - Recorded runs by their sizes --------------------===//

#ifndef WEFT_RUNTIME_EXEC_RECORDINGCACHE_H
#define WEFT_RUNTIME_EXEC_RECORDINGCACHE_H

#include "runtime/Device/Device.h"

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace weft::rt {

/// Recordings of one entry, one for each set of symbol values; those that were
/// not used for longest go first. Not thread-safe.
class RecordingCache {
public:
  /// Sets of sizes that are remembered at once.
  static constexpr size_t capacity = 32;

  /// What is known of a set of sizes.
  struct Item {
    std::vector<int64_t> symbols;
    std::unique_ptr<Recording> recording; ///< Null: none was made yet.
    uint64_t runs = 0;                    ///< Including the current one.
  };

  /// Counts a run with the given sizes. Valid until the next call.
  Item &use(std::span<const int64_t> symbols);

  /// Device memory of all recordings, as far as known.
  uint64_t getBytes() const;
  /// How many recordings there are.
  size_t getCount() const;

private:
  std::list<Item> items; ///< Last used first.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_RECORDINGCACHE_H
