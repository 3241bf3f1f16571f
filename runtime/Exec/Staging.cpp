//===- Staging.cpp --------------------------------------------------------===//

#include "runtime/Exec/Staging.h"

#include <cstring>

using namespace weft::rt;

static uint64_t alignUp(uint64_t value) {
  return (value + Staging::alignment - 1) / Staging::alignment *
         Staging::alignment;
}

Result<std::unique_ptr<Staging>>
Staging::create(Device &device, const Entry &entry,
                std::span<const int64_t> maximumBytes) {
  std::unique_ptr<Staging> staging(new Staging());
  for (uint32_t i = 0; i < entry.buffers.size(); ++i) {
    const BufferKind kind = entry.buffers[i].kind;
    if (kind != BufferKind::Input && kind != BufferKind::Output)
      continue;
    Item item;
    item.buffer = i;
    item.isInput = kind == BufferKind::Input;
    item.isPacked = uint64_t(maximumBytes[i]) <= packedBytes;
    if (item.isPacked)
      staging->getBlock(item).capacity += alignUp(uint64_t(maximumBytes[i]));
    staging->items.push_back(item);
  }
  uint64_t end = 0;
  for (Block *block : {&staging->inputs, &staging->outputs}) {
    block->offset = end;
    end += block->capacity;
    Result<std::shared_ptr<std::byte>> host = device.allocateStaging(
        block->capacity, "arguments of entry " + entry.name);
    if (!host)
      return host.getStatus();
    block->host = host.take();
  }
  for (Item &item : staging->items) {
    if (item.isPacked)
      continue;
    item.offset = end;
    end += alignUp(uint64_t(maximumBytes[item.buffer]));
  }
  Result<DeviceMemory> memory =
      device.allocate(end, "arguments of entry " + entry.name);
  if (!memory)
    return memory.getStatus();
  staging->memory = memory.take();
  return staging;
}

Status Staging::place(std::span<const int64_t> bytes, std::span<void *> data) {
  inputs.bytes = outputs.bytes = 0;
  for (Item &item : items) {
    item.bytes = uint64_t(bytes[item.buffer]);
    uint64_t end = memory.getSize();
    if (item.isPacked) {
      Block &block = getBlock(item);
      item.offset = block.offset + block.bytes;
      block.bytes += alignUp(item.bytes);
      end = block.offset + block.capacity;
    }
    if (item.offset > end || item.bytes > end - item.offset)
      return Status::corrupt(
          "an argument needs more bytes for these sizes than for the largest "
          "ones; the plan contradicts itself");
    data[item.buffer] = getDeviceData(item.offset);
  }
  return Status::ok();
}

void Staging::packInputs(const Binder &binder) {
  for (const Item &item : items)
    if (item.isInput && item.isPacked && item.bytes != 0)
      std::memcpy(getHostData(item), binder.getData(item.buffer), item.bytes);
}

Status Staging::uploadLarge(const Binder &binder, Stream &stream) {
  for (const Item &item : items)
    if (item.isInput && !item.isPacked)
      if (Status status =
              stream.upload(getDeviceData(item.offset),
                            binder.getData(item.buffer), item.bytes);
          !status)
        return status;
  return Status::ok();
}

Status Staging::downloadLarge(const Binder &binder, Stream &stream) {
  for (const Item &item : items)
    if (!item.isInput && !item.isPacked && !binder.isIgnored(item.buffer))
      if (Status status =
              stream.download(binder.getData(item.buffer),
                              getDeviceData(item.offset), item.bytes);
          !status)
        return status;
  return Status::ok();
}

Status Staging::uploadPacked(Stream &stream) {
  return stream.upload(getDeviceData(inputs.offset), inputs.host.get(),
                       inputs.bytes);
}

Status Staging::downloadPacked(Stream &stream) {
  return stream.download(outputs.host.get(), getDeviceData(outputs.offset),
                         outputs.bytes);
}

void Staging::unpackOutputs(const Binder &binder) {
  for (const Item &item : items)
    if (!item.isInput && item.isPacked && item.bytes != 0 &&
        !binder.isIgnored(item.buffer))
      std::memcpy(binder.getData(item.buffer), getHostData(item), item.bytes);
}
