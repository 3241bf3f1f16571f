//===- Interrupt.cpp - Ctrl-C ends a run in good order --------------------===//

#include "tools/weft-run/Interrupt.h"

#include <csignal>

using namespace weft;

// A signal handler reaches nothing but a variable like this one.
static volatile std::sig_atomic_t isInterrupted = 0;

Interrupt::Interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { isInterrupted = 1; };
  // The second signal meets the default action; reads and writes go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() { std::signal(SIGINT, SIG_DFL); }

bool Interrupt::isRequested() const { return isInterrupted != 0; }
