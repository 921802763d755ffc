// Tests gpt2 generate where a shell limits it, makes it ignore signals, or stops reading.
#include <signal.h>
#include <unistd.h>

#include <string>

#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::generate_posix_test {

namespace {

const Surroundings kShell = {.program = "/bin/sh"};

// The arguments with which kShell runs `before` and then the command, with the alphabet model.
Words after(const std::string& before, const Words& arguments) {
  Words words = {"-c", before + "; exec \"$0\" \"$@\"", command_path(), "-m", alphabet_model()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

TEST_CASE("if not all threads can start, the text is still the same") {
  if (is_slow()) return;                         // emulators and sanitizers need more
  const std::string limit = "ulimit -v 300000";  // 64 stacks take 512 MiB
  const Outcome outcome = run(after(limit, {"--greedy", "-n", "4", "-t", "64", "abc"}), kShell);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "abcdefg\n");
  CHECK(outcome.err == "");
}

TEST_CASE("a second Ctrl-C ends a command that hangs") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path(), 20'000);
  Command command(
      {"-m", directory.path().string(), "--max-new-tokens", "20000", "--threads", "1", "a"});
  command.fill_output();
  for (; command.running(); usleep(1000)) command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
}

TEST_CASE("a signal that the command was told to ignore stays ignored") {
  const std::string ignore = "trap '' HUP INT";  // as nohup and & do
  Command command(after(ignore, {"-n", "1000", "a"}), kShell);
  command.read(3);
  command.send(SIGHUP);
  command.send(SIGINT);
  CHECK(command.wait() == 0);
  CHECK(command.out.size() > 1000);
}

TEST_CASE("if the reader goes away, the command dies of SIGPIPE without a message") {
  const std::string ignore = GENERATE(":", "trap '' PIPE");  // some parents ignore SIGPIPE
  Command command(after(ignore, {"-n", "1000", "a"}), kShell);
  command.read(3);
  command.close_output();
  CHECK(command.wait() == -SIGPIPE);
  CHECK(command.err == "");
}

}  // namespace gpt2::test::generate_posix_test
