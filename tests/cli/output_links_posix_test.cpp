// Tests that outputs are written through symbolic links: the target is replaced or created, and the
// link remains.
#include <filesystem>
#include <string>
#include <vector>

#include "support/alphabet_model.h"
#include "support/batch.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::output_links_posix_test {

namespace fs = std::filesystem;

namespace {

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

TEST_CASE("an output is written through links to a file, which may not exist yet") {
  for (const Writer writer : kWriters) {
    const Batch place(numbered_prompts(1));
    const fs::path root = place.directory.path();
    fs::create_directory(root / "below");
    fs::create_symlink("below/first", root / "link");
    fs::create_symlink("target", root / "below/first");
    const Outcome outcome = writer(place, "link");
    CAPTURE(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(fs::is_symlink(root / "link"));
    CHECK(fs::is_symlink(root / "below/first"));
    CHECK(fs::is_regular_file(fs::symlink_status(root / "below/target")));
    CHECK(fs::file_size(root / "below/target") > 0);
    place.directory.write("empty", "");
    fs::create_symlink("empty", root / "to_file");
    CHECK(writer(place, "to_file").status == 0);
    CHECK(fs::is_symlink(root / "to_file"));
    CHECK(fs::file_size(root / "empty") > 0);
  }
}

TEST_CASE("a loop of links is one error of an output") {
  for (const Writer writer : kWriters) {
    const Batch place(numbered_prompts(1));
    const fs::path root = place.directory.path();
    fs::create_symlink("loop", root / "loop");
    const Outcome outcome = writer(place, "loop");
    CHECK(outcome.status == 1);
    CHECK(outcome.err.ends_with("Too many levels of symbolic links\n"));
    CHECK(fs::is_symlink(root / "loop"));
  }
}

TEST_CASE("a batch that is refused leaves a link as it was, and a pipe is no output") {
  const Batch batch(numbered_prompts(1));
  const fs::path root = batch.directory.path();
  fs::create_symlink("target", root / "out");
  CHECK(batch.run({}, {"GPT2_TUNE=fast"}).status == 1);
  CHECK(fs::is_symlink(root / "out"));
  CHECK_FALSE(fs::exists(root / "target"));
  check_refused({"batch", "in", "-o", "/dev/fd/1"}, 1, {"/dev/fd/1", "not a regular file"},
                {.directory = root});
}

}  // namespace gpt2::test::output_links_posix_test
