// Tests that one clear line says that another program, such as an antivirus, holds a file.
#include <windows.h>

#include <filesystem>
#include <string>

#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::locked_files_windows_test {

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

}  // namespace gpt2::test::locked_files_windows_test
