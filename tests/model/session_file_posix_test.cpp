// Tests where the state of a session can be written: a full disk and the names of devices are
// refused, and a link is followed.
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "base/file_source.h"
#include "gpt2/session.h"
#include "measure/random_model.h"
#include "support/catch.h"
#include "support/passes.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::session_file_posix_test {

namespace fs = std::filesystem;

namespace {

const Model& model() {
  static const Model made = random_model(
      {.vocab_size = 53, .n_positions = 1100, .n_embd = 18, .n_layer = 2, .n_head = 2}, {});
  return made;
}

std::string read_bytes(const fs::path& path) { return read_file(path, 1 << 24); }

}  // namespace

TEST_CASE("a file that cannot be written is named, and leaves nothing") {
  const TemporaryDirectory directory;
  const fs::path root = directory.path();
  Session session(model());
  session.forward(random_tokens(model(), 300, 1));
  const auto refusal = [&](const fs::path& out) {
    return refusal_of([&] { save_session(session, out); });
  };
  const auto count = [&] { return std::distance(fs::directory_iterator(root), {}); };
  CHECK(refusal("") == "the name of the file to write is empty");
  CHECK(refusal(std::string("a\0b", 3)).find("NUL") != std::string::npos);
  CHECK(refusal(root) == root.string() + ": is a directory; choose another name");
  CHECK(refusal("/dev/null") == "/dev/null: is not a regular file; choose another name");
  CHECK(refusal(root / "no/file") ==
        (root / "no/file").string() + ": cannot be written: No such file or directory");
  CHECK(refusal("/proc/file").starts_with("/proc/file: cannot be written: "));
  CHECK(count() == 0);

  const fs::path old = directory.write("old", "what was there");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t limit : {0, 100, 20000}) {  // in the header, after it, among the values
    const rlimit small = {limit, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string refused = refusal(old);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(refused == old.string() + ": cannot be written: File too large");
    CHECK(read_bytes(old) == "what was there");
    CHECK(count() == 1);
  }
}

TEST_CASE("a file that is there is replaced, through a link too") {
  const TemporaryDirectory directory;
  const fs::path real = directory.write("real", "what was there");
  fs::create_symlink("real", directory.path() / "link");
  Session session(model());
  session.forward(random_tokens(model(), 3, 1));
  save_session(session, directory.path() / "link");
  CHECK(fs::is_symlink(directory.path() / "link"));
  CHECK(load_session(Engine(model()), real).position() == 3);
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 2);
}

}  // namespace gpt2::test::session_file_posix_test
