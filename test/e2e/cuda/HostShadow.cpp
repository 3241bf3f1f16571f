//===- HostShadow.cpp -----------------------------------------------------===//

#include "test/e2e/cuda/HostShadow.h"

using namespace weft::host;

void Shadow::startCluster(size_t threads) {
  ++serial;
  fenced.assign(threads, 0);
  usedLists = 0;
}

Shadow::Cell *Shadow::findPage(uintptr_t page) {
  auto &slot = recent[page % std::size(recent)];
  if (slot.page != page || !slot.cells) {
    std::unique_ptr<Cell[]> &cells = pages[page];
    if (!cells)
      cells = std::make_unique<Cell[]>(pageBytes / granule);
    slot = {page, cells.get()};
  }
  return slot.cells;
}

/// Whether an event is known to who makes an access.
static bool isBefore(Epoch event, const Access &access) {
  if (event.count == 0)
    return true;
  if (event.count == Shadow::underWay)
    return false;
  return event.source == access.thread || covers(access.known, event);
}

std::optional<Conflict> Shadow::record(const Access &access) {
  uintptr_t end = access.address + access.size;
  for (uintptr_t at = access.address / granule; at * granule < end; ++at) {
    Cell *page = findPage(at * granule / pageBytes);
    if (std::optional<Conflict> conflict =
            record(page[at % (pageBytes / granule)], access))
      return conflict;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::record(Cell &cell, const Access &access) {
  using Kind = Conflict::Kind;
  if (cell.serial != serial) {
    bool isSameLaunch = !access.isShared && cell.serial >= launch;
    bool wasRead = isSameLaunch && (cell.readBefore || cell.reads[0].count);
    bool wasWritten = isSameLaunch && cell.write.count;
    if (wasWritten || (access.isWrite && wasRead))
      return Conflict{Kind::OtherCluster, {}, wasWritten};
    cell = Cell();
    cell.serial = serial;
    cell.readBefore = wasRead;
  }
  if (!isBefore(cell.write, access))
    return Conflict{Kind::Unordered, cell.write, true};
  if (access.isBulk && cell.write.count && cell.write.source < fenced.size() &&
      cell.write.count > fenced[cell.write.source])
    return Conflict{Kind::Unfenced, cell.write, true};
  if (!access.isWrite) {
    addReader(cell, access);
    return std::nullopt;
  }
  if (cell.readBefore)
    return Conflict{Kind::OtherCluster, {}, false};
  for (Epoch read : cell.reads)
    if (!isBefore(read, access))
      return Conflict{Kind::Unordered, read, false};
  if (cell.many != none) {
    const std::vector<uint32_t> &counts = lists[cell.many];
    for (uint32_t source = 0; source < counts.size(); ++source)
      if (!isBefore({source, counts[source]}, access))
        return Conflict{Kind::Unordered, {source, counts[source]}, false};
  }
  cell = {serial, false, access.event, {}, none};
  return std::nullopt;
}

void Shadow::addReader(Cell &cell, const Access &access) {
  for (Epoch &read : cell.reads)
    if (read.source == access.event.source || isBefore(read, access)) {
      read = access.event;
      return;
    }
  if (!access.isShared) {
    cell.reads[1] = access.event;
    return;
  }
  if (cell.many == none) {
    if (usedLists == lists.size())
      lists.emplace_back();
    cell.many = uint32_t(usedLists++);
    lists[cell.many].clear();
  }
  std::vector<uint32_t> &counts = lists[cell.many];
  if (counts.size() <= access.event.source)
    counts.resize(std::max<size_t>(access.event.source + 1, 2 * fenced.size()));
  counts[access.event.source] = access.event.count;
}

void Shadow::finishCopy(uintptr_t address, size_t size, Epoch event) {
  for (uintptr_t at = address / granule; at * granule < address + size; ++at) {
    Cell &cell = findPage(at * granule / pageBytes)[at % (pageBytes / granule)];
    if (cell.serial == serial && cell.write.count == underWay)
      cell.write = event;
  }
}
