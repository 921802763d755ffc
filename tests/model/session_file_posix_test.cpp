// Tests where the state of a session can be written: a full disk and the names of devices are
// refused, and a link is followed.
#include <signal.h>
#include <sys/resource.h>

#include "base/file_source.h"
#include "gpt2/session.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::session_file_posix_test {

namespace fs = std::filesystem;

TEST_CASE("a file that cannot be written is named, and leaves nothing") {
  const TemporaryDirectory directory;
  const fs::path root = directory.path();
  Session session(odd_model());
  session.forward(random_tokens(odd_model(), 300, 1));
  const auto count = [&] { return std::distance(fs::directory_iterator(root), {}); };
  const std::pair<fs::path, std::string> cases[] = {{"", "empty"},
                                                    {std::string("a\0b", 3), "NUL"},
                                                    {root, root.string()},
                                                    {"/dev/null", "/dev/null"},
                                                    {root / "no/file", (root / "no/file").string()},
                                                    {"/proc/file", "/proc/file"}};
  for (const auto& [out, fact] : cases) {
    const std::string refused = refusal_of([&, to = out] { save_session(session, to); });
    CAPTURE(refused, fact);
    CHECK(refused.find(fact) != std::string::npos);
  }
  CHECK(count() == 0);

  const fs::path old = directory.write("old", "what was there");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t limit : {0, 100, 20000}) {  // in the header, after it, among the values
    const rlimit small = {limit, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string refused = refusal_of([&] { save_session(session, old); });
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(refused == old.string() + ": cannot be written: File too large");
    CHECK(read_file(old, 1 << 24) == "what was there");
    CHECK(count() == 1);
  }
}

TEST_CASE("a file that is there is replaced, through a link too") {
  const TemporaryDirectory directory;
  const fs::path real = directory.write("real", "what was there");
  fs::create_symlink("real", directory.path() / "link");
  Session session(odd_model());
  session.forward(random_tokens(odd_model(), 3, 1));
  save_session(session, directory.path() / "link");
  CHECK(fs::is_symlink(directory.path() / "link"));
  CHECK(load_session(Engine(odd_model()), real).position() == 3);
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 2);
}

}  // namespace gpt2::test::session_file_posix_test
