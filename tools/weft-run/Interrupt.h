//===- Interrupt.h - Ctrl-C ends a run in good order ----------------------===//

#ifndef WEFT_TOOLS_WEFTRUN_INTERRUPT_H
#define WEFT_TOOLS_WEFTRUN_INTERRUPT_H

namespace weft {

/// While it lives, the first SIGINT is only noted and a second one ends the
/// process as usual. One at a time.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  /// Whether the signal has come.
  bool isRequested() const;
};

} // namespace weft

#endif // WEFT_TOOLS_WEFTRUN_INTERRUPT_H
