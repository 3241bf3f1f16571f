//===- ProgressBar.cpp ----------------------------------------------------===//

#include "tools/common/ProgressBar.h"

#include "runtime/Format/ByteSize.h"
#include "tools/common/Table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

using namespace weft::tools;

namespace {

constexpr auto drawInterval = std::chrono::milliseconds(100);
constexpr unsigned barWidth = 24;

void writeToError(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string formatSeconds(double seconds) {
  auto whole = uint64_t(seconds + 0.5);
  if (whole < 100)
    return std::to_string(whole) + " s";
  if (whole < 100 * 60)
    return std::to_string((whole + 30) / 60) + " min";
  return std::to_string((whole + 1800) / 3600) + " h";
}

} // namespace

bool weft::tools::isErrorTerminal() {
  const char *term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

ProgressBar::ProgressBar(std::string label, uint64_t total, Unit unit)
    : ProgressBar(std::move(label), total, unit,
                  isErrorTerminal()
                      ? writeToError
                      : std::function<void(const std::string &)>(),
                  std::chrono::steady_clock::now) {}

ProgressBar::ProgressBar(std::string label, uint64_t total, Unit unit,
                         std::function<void(const std::string &)> write,
                         Clock clock)
    : label(std::move(label)), total(total), unit(unit),
      write(std::move(write)), clock(std::move(clock)) {
  start = lastDraw = this->clock();
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::advance(uint64_t amount) {
  if (!write || total == 0)
    return;
  std::lock_guard lock(mutex);
  done += amount;
  std::chrono::steady_clock::time_point now = clock();
  if (now - lastDraw >= drawInterval)
    draw(now);
}

void ProgressBar::draw(std::chrono::steady_clock::time_point now) {
  lastDraw = now;
  isDrawn = true;
  double fraction = std::min(1.0, double(done) / double(total));
  auto filled = unsigned(fraction * barWidth);
  auto format = [&](uint64_t amount) {
    return unit == Unit::Bytes ? rt::formatBytes(amount)
                               : formatCount(double(amount));
  };
  double elapsed = std::chrono::duration<double>(now - start).count();
  // "\r" to the start of the line, "\x1b[K" clears what is right of the cursor.
  std::string line = "\r" + label + " [" + std::string(filled, '#') +
                     std::string(barWidth - filled, '-') + "] " +
                     std::to_string(unsigned(fraction * 100)) + "%  " +
                     format(done) + " of " + format(total);
  if (fraction > 0)
    line += "  " + formatSeconds(elapsed / fraction - elapsed) + " left";
  write(line + "\x1b[K");
}

void ProgressBar::clear() {
  std::lock_guard lock(mutex);
  if (isDrawn)
    write("\r\x1b[K");
  isDrawn = false;
}
