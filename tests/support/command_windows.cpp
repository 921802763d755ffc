#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "base/paths.h"
#include "support/command.h"
#include "support/temporary_directory.h"

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
// value counts.
std::wstring environment(Words words) {
  static const TemporaryDirectory home;
  words.push_back("USERPROFILE=" + home.path().string());
  words.push_back("GPT2_MODELS=" GPT2_MODELS_DIR);
  for (const char* name : {"PATH", "SystemRoot", "TEMP", "TMP"}) {
    if (const char* value = std::getenv(name)) words.push_back(std::string(name) + '=' + value);
  }
  std::wstring block;
  for (const std::string& word : words) block += path_of(word).wstring() + L'\0';
  return block + L'\0';
}

}  // namespace

struct Command::Process {
  HANDLE handle = nullptr;
  HANDLE output = nullptr;
  std::FILE* errors = temporary_file("");
};

Command::Command(const Words& arguments, const Surroundings& surroundings)
    : process_(std::make_unique<Process>()) {
  if (surroundings.terminal || !surroundings.output.empty()) {
    throw std::runtime_error("these surroundings need POSIX");
  }
  std::string line = quoted(surroundings.program.string());
  for (const std::string& word : arguments) line += ' ' + quoted(word);
  std::wstring wide_line = path_of(line).wstring();
  std::wstring variables = environment(surroundings.environment);
  std::FILE* const input = temporary_file(surroundings.input);
  HANDLE writing = nullptr;
  if (!CreatePipe(&process_->output, &writing, nullptr, 0)) throw std::runtime_error("no pipe");

  STARTUPINFOW startup = {};
  startup.cb = sizeof startup;
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = inherited(handle_of(input));
  startup.hStdOutput = inherited(writing);
  startup.hStdError = inherited(handle_of(process_->errors));
  PROCESS_INFORMATION started = {};
  const BOOL has_started =
      CreateProcessW(surroundings.program.c_str(), wide_line.data(), nullptr, nullptr, TRUE,
                     CREATE_UNICODE_ENVIRONMENT, variables.data(), surroundings.directory.c_str(),
                     &startup, &started);
  std::fclose(input);
  CloseHandle(writing);
  if (!has_started) throw std::runtime_error("no process");
  CloseHandle(started.hThread);
  process_->handle = started.hProcess;
}

Command::~Command() {
  if (process_->handle != nullptr) {
    TerminateProcess(process_->handle, 1);
    wait();
  }
  CloseHandle(process_->output);
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

bool Command::running() const { return WaitForSingleObject(process_->handle, 0) == WAIT_TIMEOUT; }

int Command::wait() {
  read(static_cast<std::size_t>(-1));
  WaitForSingleObject(process_->handle, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(process_->handle, &status);
  CloseHandle(process_->handle);
  process_->handle = nullptr;
  std::rewind(process_->errors);
  for (int c; (c = std::fgetc(process_->errors)) != EOF;) err += static_cast<char>(c);
  return static_cast<int>(status);
}

Outcome run(const Words& arguments, const Surroundings& surroundings) {
  Command command(arguments, surroundings);
  const int status = command.wait();
  return {status, command.out, command.err};
}

}  // namespace gpt2::test
