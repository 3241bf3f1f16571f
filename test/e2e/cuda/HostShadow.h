//===- HostShadow.h - Who accessed memory last ------------------*- C++ -*-===//
//
// Finds accesses to the same memory that no synchronisation orders, one of them
// a write, wherever the threads happened to be when they made them: as
// FastTrack (Flanagan and Freund 2009), with the clocks of HostClock.h.
// Accesses are told apart in units of two bytes.
//
// Of memory that is not a block's shared memory only the last readers are
// remembered, and blocks of different clusters are never in order.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTSHADOW_H
#define WEFT_TEST_E2E_CUDA_HOSTSHADOW_H

#include "test/e2e/cuda/HostClock.h"

#include <cstddef>
#include <optional>
#include <unordered_map>

namespace weft::host {

struct Access {
  uintptr_t address = 0;
  size_t size = 0;
  bool isWrite = false, isShared = false;
  bool isBulk = false; ///< Of a copy in the asynchronous proxy.
  Epoch event;         ///< Known to who may access the memory afterwards.
  /// What it comes behind: all events of a thread and what that thread knows.
  uint32_t thread = 0;
  const Clock &known;
};

struct Conflict {
  enum class Kind {
    Unordered,    ///< Nothing orders the two.
    OtherCluster, ///< The other one was in another cluster of the launch.
    Unfenced,     ///< A copy after a write that is not fenced.
  };
  Kind kind = Kind::Unordered;
  Epoch other;
  bool otherWrote = false;
};

class Shadow {
public:
  /// The count of a copy that its thread has not waited for yet.
  static constexpr uint32_t underWay = ~0u;

  void startLaunch() { launch = serial + 1; }
  /// `threads` are the sources whose events may be of ordinary writes.
  void startCluster(size_t threads);

  /// Remembers an access; what it must not meet.
  std::optional<Conflict> record(const Access &access);
  /// A write with the count `underWay` has come to its end with this event.
  void finishCopy(uintptr_t address, size_t size, Epoch event);
  /// Earlier writes of the thread are visible to bulk copies.
  void fence(Epoch last) { fenced[last.source] = last.count; }

private:
  static constexpr size_t granule = 2, pageBytes = 4096;
  static constexpr uint32_t none = ~0u;

  struct Cell {
    uint32_t serial = 0;     ///< Of the cluster that accessed it last.
    bool readBefore = false; ///< By another cluster of the launch.
    Epoch write;
    Epoch reads[2];
    uint32_t many = none; ///< Index of `lists`, if there are more.
  };

  Cell *findPage(uintptr_t page);
  std::optional<Conflict> record(Cell &cell, const Access &access);
  void addReader(Cell &cell, const Access &access);

  uint32_t serial = 0, launch = 0;
  std::vector<uint32_t> fenced;
  std::unordered_map<uintptr_t, std::unique_ptr<Cell[]>> pages;
  struct {
    uintptr_t page = 0;
    Cell *cells = nullptr;
  } recent[16];
  /// The count of each source that has read a cell.
  std::vector<std::vector<uint32_t>> lists;
  size_t usedLists = 0;
};

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTSHADOW_H
