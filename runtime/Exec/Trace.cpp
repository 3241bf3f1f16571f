//===- Trace.cpp ----------------------------------------------------------===//

#include "runtime/Exec/Trace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::rt;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view head = "{\"displayTimeUnit\":\"ns\","
                                  "\"traceEvents\":[";
constexpr std::string_view tail = "\n]}\n";

/// Large enough that writing does not disturb what is measured.
constexpr size_t flushThreshold = 256 * 1024;

/// Writes all bytes at `offset`; false on an error, with errno.
bool writeAt(int file, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(file, bytes.data(), bytes.size(), off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes.remove_prefix(size_t(written));
    offset += uint64_t(written);
  }
  return true;
}

Json makeEvent(std::string_view name, std::string_view category,
               int64_t beginTime, int64_t endTime, uint32_t lane) {
  // The format counts in microseconds; fractions are allowed.
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", double(beginTime) / 1e3},
          {"dur", double(endTime - beginTime) / 1e3},
          {"pid", 1},
          {"tid", lane}};
}

/// One line of the file. Names come from model files, so bytes that are not
/// UTF-8 are replaced instead of making the trace invalid.
std::string toLine(const Json &event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json makeArguments(const CommandEvent &event) {
  Json arguments = {{"entry", event.entry.name},
                    {"command", event.commandIndex}};
  if (event.command.kind == CommandKind::Launch) {
    const Kernel &kernel = event.plan.kernels[event.kernel];
    arguments["kernel"] = kernel.name;
    arguments["target"] = event.target;
    arguments["grid"] = event.grid;
    if (!kernel.schedule.empty())
      arguments["schedule"] = kernel.schedule;
  }
  arguments["flops"] = event.flops;
  arguments["bytes"] = event.bytes;
  // Work per nanosecond is giga-work per second.
  if (double time = double(event.endTime - event.beginTime); time > 0) {
    arguments["gflop_per_s"] = double(event.flops) / time;
    arguments["gb_per_s"] = double(event.bytes) / time;
  }
  for (uint32_t symbol : event.entry.symbols)
    arguments["symbols"][event.plan.symbols[symbol].name] =
        event.symbols[symbol];
  return arguments;
}

} // namespace

Trace::Trace(int file, std::string path) : file(file), path(std::move(path)) {}

Trace::~Trace() { (void)close(); }

Result<std::unique_ptr<Trace>> Trace::create(const std::string &path) {
  auto fail = [&path](const char *what) {
    return Status::io("cannot " + std::string(what) + " the trace file '" +
                      path + "': " + std::strerror(errno));
  };
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    return fail("create");
  std::unique_ptr<Trace> trace(new Trace(file, path));
  struct stat info;
  if (fstat(file, &info))
    return fail("create");
  if (S_ISREG(info.st_mode) && info.st_size != 0) {
    // A mapped plan that is overwritten would end the process.
    std::string start(std::min<size_t>(head.size(), size_t(info.st_size)), 0);
    if (pread(file, start.data(), start.size(), 0) != ssize_t(start.size()) ||
        start != head)
      return Status::io("'" + path +
                        "' exists and is no trace; remove it or give another "
                        "file for the trace");
    if (ftruncate(file, 0))
      return fail("empty");
  }
  std::string empty = std::string(head) + std::string(tail);
  if (!writeAt(file, empty, 0))
    return fail("write");
  trace->end = head.size();
  return trace;
}

CommandHook Trace::makeHook(uint32_t lane) {
  return [this, lane](const CommandEvent &event) {
    return recordCommand(event, lane);
  };
}

Status Trace::recordCommand(const CommandEvent &event, uint32_t lane) {
  Json line = makeEvent(event.command.label, getName(event.command.kind),
                        event.beginTime, event.endTime, lane);
  line["args"] = makeArguments(event);
  return append(toLine(line));
}

Status Trace::recordSpan(std::string_view name, std::string_view category,
                         int64_t beginTime, int64_t endTime, uint32_t lane) {
  return append(toLine(makeEvent(name, category, beginTime, endTime, lane)));
}

Status Trace::append(std::string event) {
  std::lock_guard lock(mutex);
  if (file < 0)
    return Status::invalid("the trace '" + path + "' is closed");
  pending += hasEvents ? ",\n" : "\n";
  pending += event;
  hasEvents = true;
  return pending.size() < flushThreshold ? Status::ok() : flushLocked();
}

Status Trace::flush() {
  std::lock_guard lock(mutex);
  return flushLocked();
}

Status Trace::flushLocked() {
  if (pending.empty() || file < 0)
    return Status::ok();
  size_t eventBytes = pending.size();
  pending += tail;
  if (!writeAt(file, pending, end)) {
    int reason = errno;
    // The space of the old brackets is still there.
    if (writeAt(file, tail, end))
      (void)!ftruncate(file, off_t(end + tail.size()));
    ::close(file);
    file = -1;
    return Status::io("cannot write the trace file '" + path +
                      "': " + std::strerror(reason) +
                      "; it ends before the events that did not fit");
  }
  end += eventBytes;
  pending.clear();
  return Status::ok();
}

Status Trace::close() {
  std::lock_guard lock(mutex);
  Status status = flushLocked();
  if (file >= 0)
    ::close(file);
  file = -1;
  return status;
}
