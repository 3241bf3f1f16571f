//===- ProgressBar.h - How far long work is, on terminals only ------------===//

#ifndef WEFT_TOOLS_COMMON_PROGRESSBAR_H
#define WEFT_TOOLS_COMMON_PROGRESSBAR_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace weft::tools {

/// Draws "label [####----] 42%  1.2 GiB of 2.9 GiB  12 s left" on one line of
/// standard error and clears it at the end. Does nothing if standard error is
/// no terminal (or TERM is "dumb"), so that logs stay clean.
///
/// Threading: advance may be called from several threads.
class ProgressBar {
public:
  enum class Unit { Count, Bytes };

  /// Draws nothing until `total` is more than 0 and some time has passed.
  ProgressBar(std::string label, uint64_t total, Unit unit = Unit::Count);

  /// For tests: draws through `write`, with a clock of the caller.
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  ProgressBar(std::string label, uint64_t total, Unit unit,
              std::function<void(const std::string &)> write, Clock clock);

  ~ProgressBar();
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &operator=(const ProgressBar &) = delete;

  /// `amount` more of the total is done.
  void advance(uint64_t amount = 1);
  /// Removes the bar; called by the destructor too.
  void clear();

private:
  void draw(std::chrono::steady_clock::time_point now);

  std::string label;
  uint64_t total, done = 0;
  Unit unit;
  std::function<void(const std::string &)> write; ///< Empty: no terminal.
  Clock clock;
  std::chrono::steady_clock::time_point start, lastDraw;
  bool isDrawn = false;
  std::mutex mutex;
};

/// Whether standard error shows control characters as a terminal does.
bool isErrorTerminal();

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_PROGRESSBAR_H
