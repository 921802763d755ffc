#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/paths.h"
#include "base/system/last_error_windows.h"
#include "cli/system/system.h"

namespace gpt2::cli {
namespace {

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

// The functions of the C library would not let others rename the file while it is open, and this
// command itself does that.
int open_file(const std::string& name, DWORD access, DWORD disposition, int flags) {
  const HANDLE file = CreateFileW(path_of(name).c_str(), access,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  disposition, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const std::error_code error = last_error();
    errno = error.category() == std::generic_category() ? error.value() : EINVAL;
    std::error_code ignored;
    if (std::filesystem::is_directory(path_of(name), ignored)) errno = EISDIR;  // it was EACCES
    return -1;
  }
  return _open_osfhandle(reinterpret_cast<std::intptr_t>(file), flags | _O_BINARY | _O_NOINHERIT);
}

}  // namespace

int open_to_read(const std::string& name) {
  return open_file(name, GENERIC_READ, OPEN_EXISTING, _O_RDONLY);
}

int open_to_append(const std::string& name) {
  return open_file(name, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, _O_RDWR | _O_APPEND);
}

int open_standard_input() { return _dup(0); }

void close_file(int file) { _close(file); }

bool is_terminal(int file) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of(file), &mode) != 0;
}

bool is_regular(int file) { return GetFileType(handle_of(file)) == FILE_TYPE_DISK; }

std::size_t size_of(int file) {
  const std::int64_t size = _filelengthi64(file);
  return size < 0 ? 0 : static_cast<std::size_t>(size);
}

// Only a pipe can be asked. A read of a terminal ends with the line, and Ctrl-C ends it, too.
bool has_input(int file, int milliseconds) {
  const HANDLE handle = handle_of(file);
  if (GetFileType(handle) != FILE_TYPE_PIPE) return true;
  for (int waited = 0;; ++waited) {
    DWORD bytes = 0;
    if (!PeekNamedPipe(handle, nullptr, 0, nullptr, &bytes, nullptr)) return true;  // it has ended
    if (bytes > 0) return true;
    if (waited == milliseconds) return false;
    Sleep(1);
  }
}

std::ptrdiff_t read_some(int file, char* bytes, std::size_t count) {
  return _read(file, bytes, static_cast<unsigned>(count));
}

bool append_to(int file, std::string_view text) {
  constexpr std::size_t kMaxWrite = 1 << 30;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kMaxWrite);
    const int count = _write(file, part.data(), static_cast<unsigned>(part.size()));
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool shorten(int file, std::size_t bytes) {
  return _chsize_s(file, static_cast<std::int64_t>(bytes)) == 0;
}

bool flush_to_disk(int file) { return _commit(file) == 0; }

// What Windows locks, others cannot even read. Therefore this locks a byte that no file reaches.
bool lock(int file) {
  constexpr DWORD kHow = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  OVERLAPPED place = {};
  place.OffsetHigh = 0x40000000;
  if (LockFileEx(handle_of(file), kHow, 0, 1, 0, &place)) return true;
  return GetLastError() != ERROR_LOCK_VIOLATION && GetLastError() != ERROR_IO_PENDING;
}

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

// The C library has no errno for the system's error, so it sets EINVAL.
bool pipe_was_closed() { return errno == EPIPE || _doserrno == ERROR_NO_DATA; }

void end_by_closed_pipe() { std::_Exit(1); }

// The shells of Windows have no bash.
void become(const std::vector<std::string>& /*words*/) {}

const char* const kEndKeys = "Ctrl-Z and Enter";

void prepare_streams() {
  for (std::FILE* const stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
  SetConsoleCP(CP_UTF8);
  SetConsoleOutputCP(CP_UTF8);
  // A console shows a character only if its bytes come together. Whoever writes flushes the stream.
  for (std::FILE* const stream : {stdout, stderr}) {
    std::setvbuf(stream, nullptr, _IOFBF, 1 << 16);
    DWORD mode = 0;
    const HANDLE console = handle_of(_fileno(stream));
    if (!GetConsoleMode(console, &mode)) continue;
    SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

}  // namespace gpt2::cli
