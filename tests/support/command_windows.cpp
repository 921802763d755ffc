#include "support/command.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "base/paths.h"
#include "base/system/process.h"

namespace gpt2::test {
namespace {

// Lets a child process inherit the handle.
HANDLE inherited(HANDLE handle) {
  SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  return handle;
}

HANDLE handle_of(std::FILE* file) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(file)));
}

std::FILE* temporary_file(const std::string& content) {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file");
  std::fwrite(content.data(), 1, content.size(), file);
  std::rewind(file);
  return file;
}

// Returns a word as a program's startup code understands it: in quotes, with a backslash before
// each quote, and twice as many backslashes before a quote.
std::string quoted(const std::string& word) {
  std::string text = "\"";
  std::size_t backslashes = 0;
  for (const char c : word) {
    if (c == '"') text.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text.append(backslashes, '\\') + '"';
}

// Returns the variables, each followed by a NUL, and another NUL. If a name occurs twice, the first
// value counts. The tests call the home directory HOME.
std::wstring environment(Words words) {
  static const TemporaryDirectory home;
  words.push_back("USERPROFILE=" + home.path().string());
  words.push_back("GPT2_MODELS=" GPT2_MODELS_DIR);
  for (const char* name : {"PATH", "SystemRoot", "TEMP", "TMP"}) {
    if (const char* value = std::getenv(name)) words.push_back(std::string(name) + '=' + value);
  }
  std::wstring block;
  for (std::string& word : words) {
    if (word.starts_with("HOME=")) word.replace(0, 4, kHomeVariable);
    block += path_of(word).wstring() + L'\0';
  }
  return block + L'\0';
}

[[noreturn]] void need_posix() { throw std::runtime_error("this needs POSIX"); }

void close_handle(HANDLE& handle) {
  if (handle != nullptr) CloseHandle(handle);
  handle = nullptr;
}

void make_pipe(HANDLE& reading, HANDLE& writing) {
  if (!CreatePipe(&reading, &writing, nullptr, 0)) throw std::runtime_error("no pipe");
}

BOOL WINAPI ignore(DWORD) { return TRUE; }

}  // namespace

const std::string kNullDevice = "NUL";

struct Command::Process {
  HANDLE handle = nullptr;
  DWORD id = 0;
  HANDLE input = nullptr;  // the test's end of the pipe
  HANDLE output = nullptr;
  std::FILE* errors = temporary_file("");
};

// The command has a console of its own, which shows no window, so that send() reaches no other
// process.
Command::Command(const Words& arguments, const Surroundings& surroundings)
    : process_(std::make_unique<Process>()) {
  if (surroundings.terminal || !surroundings.output.empty()) need_posix();
  std::string line = quoted(surroundings.program.string());
  for (const std::string& word : arguments) line += ' ' + quoted(word);
  std::wstring wide_line = path_of(line).wstring();
  std::wstring variables = environment(surroundings.environment);
  std::FILE* const input = temporary_file(surroundings.input);
  HANDLE reading = nullptr, writing = nullptr;
  make_pipe(process_->output, writing);
  if (surroundings.pipe) make_pipe(reading, process_->input);

  STARTUPINFOW startup = {};
  startup.cb = sizeof startup;
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = inherited(surroundings.pipe ? reading : handle_of(input));
  startup.hStdOutput = inherited(writing);
  startup.hStdError = inherited(handle_of(process_->errors));
  PROCESS_INFORMATION started = {};
  const BOOL has_started = CreateProcessW(
      surroundings.program.c_str(), wide_line.data(), nullptr, nullptr, TRUE,
      CREATE_UNICODE_ENVIRONMENT | (surroundings.console ? CREATE_NO_WINDOW : DETACHED_PROCESS),
      variables.data(), surroundings.directory.c_str(), &startup, &started);
  const auto failure = static_cast<int>(GetLastError());
  std::fclose(input);
  close_handle(reading);
  close_handle(writing);
  if (!has_started) throw std::system_error(failure, std::system_category(), "no process");
  CloseHandle(started.hThread);
  process_->handle = started.hProcess;
  process_->id = started.dwProcessId;
}

Command::~Command() {
  close_input();
  if (process_->handle != nullptr) {
    kill();
    wait();
  }
  close_output();
  std::fclose(process_->errors);
}

void Command::read(std::size_t bytes) {
  char buffer[4096];
  DWORD count = 0;
  while (out.size() < bytes && ReadFile(process_->output, buffer, sizeof buffer, &count, nullptr) &&
         count > 0) {
    out.append(buffer, count);
  }
}

void Command::write(const std::string& bytes) {
  DWORD count = 0;
  if (!WriteFile(process_->input, bytes.data(), static_cast<DWORD>(bytes.size()), &count,
                 nullptr)) {
    throw std::runtime_error("cannot write to the pipe");
  }
}

void Command::close_input() { close_handle(process_->input); }

void Command::fill_output() { need_posix(); }

void Command::close_output() { close_handle(process_->output); }

void Command::await_error(const std::string&) { need_posix(); }

void Command::type_after(const std::string&, const std::string&) { need_posix(); }

// The event reaches all processes of the command's console, to which this process has to belong.
void Command::send(int signal) const {
  if (signal != SIGINT) need_posix();
  SetConsoleCtrlHandler(ignore, TRUE);
  FreeConsole();
  const bool is_sent = AttachConsole(process_->id) && GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
  FreeConsole();
  if (!is_sent && running()) throw std::runtime_error("cannot send Ctrl-C");
}

std::vector<int> Command::signals() { return {SIGINT}; }

void Command::kill() const { TerminateProcess(process_->handle, static_cast<UINT>(kKilled)); }

bool Command::running() const { return WaitForSingleObject(process_->handle, 0) == WAIT_TIMEOUT; }

int Command::wait() {
  if (process_->output != nullptr) read(static_cast<std::size_t>(-1));
  WaitForSingleObject(process_->handle, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(process_->handle, &status);
  close_handle(process_->handle);
  std::rewind(process_->errors);
  for (int c; (c = std::fgetc(process_->errors)) != EOF;) err += static_cast<char>(c);
  return status == static_cast<DWORD>(STATUS_CONTROL_C_EXIT) ? -SIGINT : static_cast<int>(status);
}

}  // namespace gpt2::test
