// Tests what a console of Windows shows, and that one clear line says that another program, such as
// an antivirus, holds a file. (That Ctrl-C works on a console is tested by the other tests that
// call Command::send().)
#include <windows.h>

#include "base/paths.h"
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::console_windows_test {

namespace {

// The command on a console of its own, which has no window. The test uses it, too, while this
// lives.
class Console {
 public:
  explicit Console(const std::wstring& arguments) {
    std::wstring line = L"gpt2 " + arguments;
    STARTUPINFOW startup = {};
    startup.cb = sizeof startup;
    PROCESS_INFORMATION started = {};
    REQUIRE(CreateProcessW(gpt2::path_of(command_path()).c_str(), line.data(), nullptr, nullptr,
                           FALSE, CREATE_NO_WINDOW, nullptr, nullptr, &startup, &started));
    CloseHandle(started.hThread);
    process_ = started.hProcess;
    FreeConsole();
    for (int i = 0; i < kTries && !AttachConsole(started.dwProcessId); ++i) Sleep(kPause);
    output_ = open(L"CONOUT$");
    input_ = open(L"CONIN$");
  }

  ~Console() {
    TerminateProcess(process_, 1);
    for (const HANDLE handle : {process_, output_, input_}) CloseHandle(handle);
    FreeConsole();
  }

  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Waits until the console shows the text.
  [[nodiscard]] bool shows(const std::wstring& text) const {
    for (int i = 0; i < kTries; ++i, Sleep(kPause)) {
      if (screen().find(text) != std::wstring::npos) return true;
    }
    return false;
  }

  void type(const std::wstring& keys) const {
    for (const wchar_t key : keys) {
      INPUT_RECORD record = {};
      record.EventType = KEY_EVENT;
      record.Event.KeyEvent.wRepeatCount = 1;
      record.Event.KeyEvent.uChar.UnicodeChar = key;
      if (key == L'\r') record.Event.KeyEvent.wVirtualKeyCode = VK_RETURN;
      for (const BOOL is_down : {TRUE, FALSE}) {
        record.Event.KeyEvent.bKeyDown = is_down;
        DWORD count = 0;
        REQUIRE(WriteConsoleInputW(input_, &record, 1, &count));
      }
    }
  }

  [[nodiscard]] DWORD wait() const {
    WaitForSingleObject(process_, kTries * kPause);
    DWORD status = 0;
    GetExitCodeProcess(process_, &status);
    return status;
  }

 private:
  static constexpr int kTries = 600;
  static constexpr DWORD kPause = 50;  // ms

  static HANDLE open(const wchar_t* name) {
    return CreateFileW(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                       nullptr, OPEN_EXISTING, 0, nullptr);
  }

  // Returns all characters on the console, without the ends of lines.
  [[nodiscard]] std::wstring screen() const {
    CONSOLE_SCREEN_BUFFER_INFO info = {};
    if (!GetConsoleScreenBufferInfo(output_, &info)) return L"";
    const int columns = info.dwSize.X, rows = info.dwCursorPosition.Y + 1;
    std::wstring text(static_cast<std::size_t>(columns * rows), L' ');
    DWORD count = 0;
    ReadConsoleOutputCharacterW(output_, text.data(), static_cast<DWORD>(text.size()), {0, 0},
                                &count);
    return text;
  }

  HANDLE process_ = nullptr, output_ = nullptr, input_ = nullptr;
};

}  // namespace

TEST_CASE("a console shows names in any language, and takes lines that are typed") {
  const TemporaryDirectory place;
  const std::filesystem::path model = place.path() / L"mod\u00e8le_\u0416";
  std::filesystem::copy(alphabet_model(), model);
  const Console console(L"-i -n 3 --greedy -m \"" + model.wstring() + L"\"");
  CHECK(console.shows(L"mod\u00e8le_\u0416: "));
  console.type(L"ab\r");
  CHECK(console.shows(L"cde"));
  console.type(L"/quit\r");
  CHECK(console.wait() == 0);
}

namespace {

// A file that no other program can open.
class HeldFile {
 public:
  explicit HeldFile(const std::filesystem::path& path)
      : file_(CreateFileW(path.c_str(), GENERIC_READ, 0, nullptr, OPEN_EXISTING, 0, nullptr)) {
    REQUIRE(file_ != INVALID_HANDLE_VALUE);
  }
  ~HeldFile() { CloseHandle(file_); }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

 private:
  HANDLE file_;
};

std::string error_of(Words words, const std::filesystem::path& held) {
  words.insert(words.end(), {"-n", "1"});
  const HeldFile file(held);
  const Outcome outcome = run(words);
  CHECK(outcome.status == 1);
  CHECK(outcome.out == "");
  return outcome.err;
}

}  // namespace

TEST_CASE("a file that another program holds is one clear error") {
  const TemporaryDirectory place;
  const std::filesystem::path model = place.path() / "model";
  std::filesystem::copy(alphabet_model(), model);
  const std::string name = model.string();
  for (const char* const part : {"config.json", "model.safetensors"}) {
    const std::filesystem::path file = model / part;
    CHECK(error_of({"-m", name, "ab"}, file) ==
          "gpt2: cannot open " + file.string() + ": another program uses it\n");
  }
  const std::string prompt = place.write("prompt", "ab\n").string();
  CHECK(error_of({"-m", name, "-f", prompt}, prompt) ==
        "gpt2: cannot read " + prompt + ": another program uses it\n");
  const std::string out = place.write("out", "").string();
  CHECK(error_of({"batch", "--lines", prompt, "-o", out, "-m", name}, out) ==
        "gpt2: " + out + ": cannot be written: another program uses it\n");
  const std::string state = place.write("state", "gpt2sess").string();
  CHECK(error_of({"-m", name, "--save-state", state, "ab"}, state) ==
        "gpt2: cannot open " + state + ": another program uses it\n");
}

}  // namespace gpt2::test::console_windows_test
