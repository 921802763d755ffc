#include "cli/system/interrupts.h"

#include <windows.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace gpt2::cli {
namespace {

// The event that was recorded, or -1. An event of the console counts as a signal: Ctrl-C,
// Ctrl-Break, and that the user closes the window, logs off or shuts the machine down.
std::atomic<int> noted = -1;

// The system calls this in a thread of its own. When it returns from an event after which the
// process must end, the system ends the process, so it gives the command time to end by itself.
BOOL WINAPI note(DWORD event) {
  const bool is_second = noted.exchange(static_cast<int>(event)) >= 0;
  if (event >= CTRL_CLOSE_EVENT) Sleep(INFINITE);
  return is_second ? FALSE : TRUE;
}

}  // namespace

void note_interrupts() { SetConsoleCtrlHandler(note, TRUE); }

void forget_ctrl_c() {
  SetConsoleCtrlHandler(note, FALSE);
  int ctrl_c = CTRL_C_EVENT;
  noted.compare_exchange_strong(ctrl_c, -1);
}

void obey_interrupt() { noted = -1; }

bool interrupted() { return noted >= 0; }

// A shell stops a loop when a command in it ends with this status.
void end_if_interrupted() {
  if (interrupted()) std::_Exit(static_cast<int>(STATUS_CONTROL_C_EXIT));
}

void let_writes_fail() {}  // they do

// The C library has no errno for the system's error, so it sets EINVAL.
bool pipe_was_closed() { return errno == EPIPE || _doserrno == ERROR_NO_DATA; }

void end_by_closed_pipe() { std::_Exit(1); }

}  // namespace gpt2::cli
