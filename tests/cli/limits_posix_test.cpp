// Tests what the command does where a shell limits it or makes it ignore signals, where a reader
// stops reading, where the disk is full, and where -m or an output leads to links, named pipes,
// devices or directories without access.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/model_places.h"
#include "support/test.h"

namespace gpt2::test::limits_posix_test {

namespace fs = std::filesystem;

namespace {

const Surroundings kShell = {.program = "/bin/sh"};

// The arguments with which kShell runs `before` and then the command, with the alphabet model.
Words after(const std::string& before, const Words& arguments) {
  return joined_words(
      {"-c", before + "; exec \"$0\" \"$@\"", command_path(), "-m", alphabet_model()}, arguments);
}

// The max size of files that this process and the commands that it runs may write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

// Runs a command that writes the file `output`, in a directory with an input for gpt2 batch.
using Writer = Outcome (*)(const Batch& place, const std::string& output);

Outcome write_records(const Batch& place, const std::string& output) {
  return run({"batch", "in", "-o", output, "-n", "1"}, {.directory = place.directory.path()});
}

Outcome write_page(const Batch& place, const std::string& output) {
  return run({"inspect", "The cat", "-o", output}, {.directory = place.directory.path()});
}

Outcome save_session(const Batch& place, const std::string& output) {
  return run({"-i", "-m", alphabet_model(), "-n", "1"},
             {.input = "ab\n/save " + output + "\n", .directory = place.directory.path()});
}

const std::vector<Writer> kWriters = {write_records, write_page, save_session};

}  // namespace

TEST_CASE("if not all threads can start, the text is still the same") {
  if (is_slow()) return;                         // emulators and sanitizers need more
  const std::string limit = "ulimit -v 300000";  // 64 stacks take 512 MiB
  const Words arguments = {"--greedy", "-n", "4", "-t", "64", "abc"};
  CHECK(output_of(after(limit, arguments), kShell) == "abcdefg\n");
}

TEST_CASE("a second Ctrl-C ends a command that hangs") {
  const AlphabetModel model(20'000);
  Command command({"-m", model.name(), "--max-new-tokens", "20000", "--threads", "1", "a"});
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

TEST_CASE("a full disk is one clear error of batch, and the run resumes when there is room") {
  const Batch calm(numbered_prompts(100)), full(numbered_prompts(100));
  CHECK(calm.run({"-t", "1"}).status == 0);
  const std::string whole = calm.read();
  for (const rlim_t bytes : {100, 500, 10000}) {
    const FileSizeLimit limit(bytes);
    const Outcome outcome = full.run({"-t", "1"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err.starts_with("gpt2: out: cannot be written: File too large"));
    const std::string text = full.read();
    CHECK(whole.starts_with(text));
    CHECK((text.empty() || text.ends_with("\n")));
  }
  CHECK(full.run({"-t", "1"}).status == 0);
  CHECK(full.read() == whole);
}

TEST_CASE("if a quantized model cannot be written in full, nothing is left but an error") {
  const TemporaryDirectory place;
  place.write("story", "Once upon a time");
  const FileSizeLimit limit(1 << 20);
  check_refused({"quantize", "gpt2-stories", "out", "--text", "story"}, 1,
                {"model.safetensors: cannot be written: File too large"},
                {.directory = place.path()});
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 1);
}

TEST_CASE("a standard output that is full or closed is one error of any way to write") {
  for (const Words& more : {Words{"a"}, Words{"--json", "a"}, Words{"-i"}}) {
    for (const auto& [output, reason] :
         {std::pair{"/dev/full", "No space left on device"}, {"-", "Bad file descriptor"}}) {
      const Outcome outcome =
          run(joined_words({"-m", alphabet_model()}, more), {.input = "a\n", .output = output});
      CAPTURE(more);
      CHECK(outcome.status == 1);
      CHECK(outcome.err == std::string("gpt2: cannot write to standard output: ") + reason + "\n");
    }
  }
}

TEST_CASE("a path that exists but cannot be read is refused with the cause") {
  const ModelPlaces places;
  const auto refused = [&](const std::string& name, const std::string& cause) {
    CHECK(places.found(name) == "gpt2: " + name + ": " + cause + "\n");
  };
  for (const std::string name : {"lost", "lost.safetensors", "models/lost"}) {
    fs::create_directories((places.root() / name).parent_path());
    fs::create_symlink("gone", places.root() / name);
    refused(name, "a symbolic link to 'gone', which does not exist");
  }
  REQUIRE(mkfifo((places.root() / "pipe").c_str(), 0600) == 0);
  for (const std::string name : {"pipe", "/dev/null"}) {
    refused(name, "neither a file nor a directory; expected a model's directory or a file in it");
  }
  fs::create_symlink("loop", places.root() / "loop");
  refused("loop", "cannot be examined: Too many levels of symbolic links");
  if (geteuid() != 0) {  // root may read everything
    places.write("closed/config.json", "{}");
    fs::permissions(places.root() / "closed", fs::perms::none);
    CHECK(places.found("closed") ==
          "gpt2: closed/config.json: cannot be examined: Permission denied\n");
    fs::permissions(places.root() / "closed", fs::perms::owner_all);
  }
}

TEST_CASE("a reference that is a named pipe is not read, because that could hang") {
  const ModelPlaces places;
  const fs::path reference = places.root() / "hub/models--evil/refs/main";
  fs::create_directories(reference.parent_path());
  REQUIRE(mkfifo(reference.c_str(), 0600) == 0);
  CHECK(places.found("evil", {"HF_HUB_CACHE=" + (places.root() / "hub").string()})
            .starts_with("gpt2: no model 'evil'"));
}

TEST_CASE("an output is written through links to a file, which may not exist yet") {
  for (const Writer writer : kWriters) {
    const Batch place(numbered_prompts(1));
    const fs::path root = place.directory.path();
    fs::create_directory(root / "below");
    fs::create_symlink("below/first", root / "link");
    fs::create_symlink("target", root / "below/first");
    fs::create_symlink("loop", root / "loop");
    for (const char* const rest : {"nothing yet", "empty"}) {
      const Outcome outcome = writer(place, "link");
      CAPTURE(outcome.err, rest);
      CHECK(outcome.status == 0);
      CHECK(fs::is_symlink(root / "link"));
      CHECK(fs::is_symlink(root / "below/first"));
      CHECK(fs::is_regular_file(fs::symlink_status(root / "below/target")));
      CHECK(fs::file_size(root / "below/target") > 0);
      fs::resize_file(root / "below/target", 0);
    }
    const Outcome outcome = writer(place, "loop");
    CHECK(outcome.status == 1);
    CHECK(outcome.err.ends_with("Too many levels of symbolic links\n"));
    CHECK(fs::is_symlink(root / "loop"));
  }
}

TEST_CASE("a pipe is no output of batch") {
  const Batch batch(numbered_prompts(1));
  check_refused({"batch", "in", "-o", "/dev/fd/1"}, 1, {"/dev/fd/1", "not a regular file"},
                {.directory = batch.directory.path()});
}

}  // namespace gpt2::test::limits_posix_test
