// Tests what the commands do when they cannot write, because the disk is full, a limit of the
// system stops them, or standard output is closed.
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "gpt2/model.h"
#include "support/alphabet_model.h"
#include "support/batch.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::full_disk_posix_test {

namespace {

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

}  // namespace

TEST_CASE("a full disk is one clear error of batch, and the run resumes when there is room") {
  const Batch calm(numbered_prompts(100)), full(numbered_prompts(100));
  CHECK(calm.run().status == 0);
  const std::string whole = calm.read();
  for (const rlim_t bytes : {200, 500, 4096, 10000}) {
    const FileSizeLimit limit(bytes);
    const Outcome outcome = full.run();
    CHECK(outcome.status == 1);
    CHECK(outcome.err.starts_with("gpt2: out: cannot be written: File too large; "));
    const std::string text = full.read();
    CHECK(whole.starts_with(text));
    CHECK((text.empty() || text.ends_with("\n")));
    CHECK(text.size() <= bytes);
  }
  CHECK(full.run().status == 0);
  CHECK(full.read() == whole);
}

TEST_CASE("a disk that is full before the first record leaves no output of batch") {
  const Batch batch(numbered_prompts(2));
  const auto limited = [&] {
    const FileSizeLimit limit(100);
    return batch.run();
  };
  const Outcome outcome = limited();
  CHECK(outcome.status == 1);
  CHECK(outcome.err == "gpt2: out: cannot be written: File too large\n");
  CHECK_FALSE(std::filesystem::exists(batch.directory.path() / "out"));
}

TEST_CASE("a standard output that is full or closed is one error of any way to write") {
  const Words model = {"-m", alphabet_model()};
  for (const Words& more : {Words{"a"}, Words{"--json", "a"}, Words{"-i"}}) {
    Words words = model;
    words.insert(words.end(), more.begin(), more.end());
    for (const auto& [output, reason] :
         {std::pair{"/dev/full", "No space left on device"}, {"-", "Bad file descriptor"}}) {
      const Outcome outcome = run(words, {.input = "a\n", .output = output});
      CAPTURE(more);
      CHECK(outcome.status == 1);
      CHECK(outcome.err == std::string("gpt2: cannot write to standard output: ") + reason + "\n");
    }
  }
}

TEST_CASE("if a quantized model cannot be written in full, nothing is left but an error") {
  const TemporaryDirectory place;
  const std::string source = std::string(GPT2_MODELS_DIR) + "/gpt2-stories";
  const gpt2::Model model = gpt2::Model::load(source, {.dtype = gpt2::WeightType::int8});
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const auto save = [&] {
    const FileSizeLimit limit(1 << 20);
    gpt2::save_quantized(model, source, place.path() / "out", [](double) {});
  };
  const std::string message = refusal_of(save);
  signal(SIGXFSZ, handler);
  CHECK(message.starts_with(place.path().string() + "/out.partial-"));
  CHECK(message.ends_with("/model.safetensors: cannot be written: File too large"));
  CHECK(std::filesystem::is_empty(place.path()));
}

}  // namespace gpt2::test::full_disk_posix_test
