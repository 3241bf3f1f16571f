//===- HostClock.h - What happened before what ------------------*- C++ -*-===//
//
// Vector clocks (Mattern 1989, Fidge 1988). Every source of events, a thread or
// a barrier, counts its own; a clock says up to which event of each source
// everything has happened before. An event is known to a thread if the clock
// that it has gathered from others covers it.
//
// Threads that waited at the same barrier share one clock, so that joining what
// all threads of a block know is mostly done once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTCLOCK_H
#define WEFT_TEST_E2E_CUDA_HOSTCLOCK_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weft::host {

/// An event; counts start at 1.
struct Epoch {
  uint32_t source = 0, count = 0;
};

/// Counts of the sources, 0 for those behind the end. Never changed, null if
/// nothing is known.
using Clock = std::shared_ptr<const std::vector<uint32_t>>;

inline bool covers(const Clock &clock, Epoch event) {
  return clock && event.source < clock->size() &&
         (*clock)[event.source] >= event.count;
}

/// Gathers clocks.
class ClockJoin {
public:
  void add(const Clock &clock) {
    if (!clock || std::ranges::find(added, clock) != added.end())
      return;
    added.push_back(clock);
    if (counts.empty()) {
      counts = *clock;
      return;
    }
    if (counts.size() < clock->size())
      counts.resize(clock->size());
    for (size_t i = 0; i < clock->size(); ++i)
      counts[i] = std::max(counts[i], (*clock)[i]);
  }
  void add(Epoch event) {
    if (counts.size() <= event.source)
      counts.resize(event.source + 1);
    counts[event.source] = std::max(counts[event.source], event.count);
  }
  /// What was gathered; starts anew.
  Clock take() {
    added.clear();
    return std::make_shared<const std::vector<uint32_t>>(
        std::exchange(counts, {}));
  }

private:
  std::vector<uint32_t> counts;
  std::vector<Clock> added;
};

/// Joins pairs of clocks, and remembers the last ones: all threads of a block
/// join the same two.
class ClockMemo {
public:
  Clock join(const Clock &a, const Clock &b) {
    if (!a || a == b)
      return b;
    if (!b)
      return a;
    Entry &entry = entries[(hash(a) ^ hash(b)) % entries.size()];
    if (entry.a != a || entry.b != b) {
      ClockJoin both;
      both.add(a);
      both.add(b);
      entry = {a, b, both.take()};
    }
    return entry.result;
  }

private:
  struct Entry {
    Clock a, b, result;
  };
  static size_t hash(const Clock &clock) {
    return reinterpret_cast<uintptr_t>(clock.get()) / 16;
  }
  std::array<Entry, 64> entries;
};

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTCLOCK_H
