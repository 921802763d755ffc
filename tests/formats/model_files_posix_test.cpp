// Tests that the error names the true cause if the path of a model leads to nothing, to a link, a
// pipe or a directory that may not be entered.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gpt2/model.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::model_files_posix_test {

namespace fs = std::filesystem;

namespace {

std::string refusal(const fs::path& path) {
  return refusal_of([&] { (void)Model::load(path); });
}

// Root may read everything, so if the tests run as root, this runs the scope as another user.
class WithoutRights {
 public:
  WithoutRights() : user_(geteuid()) {
    if (user_ == 0) REQUIRE(seteuid(65534) == 0);
  }
  ~WithoutRights() {
    if (user_ == 0) REQUIRE(seteuid(user_) == 0);
  }

 private:
  uid_t user_;
};

}  // namespace

TEST_CASE("refused: a path that leads nowhere, or to neither a file nor a directory") {
  const TemporaryDirectory place;
  const std::string path = place.path().string();
  CHECK(refusal(path + "/none") == path + "/none: no such file or directory");
  CHECK(refusal("") == "the path of the model is empty");
  CHECK(refusal("some/name") == "some/name: no such file or directory; if this is the name of a "
                                "model, find_model() returns its path");
  fs::create_symlink("gone", place.path() / "link");
  CHECK(refusal(path + "/link") == path + "/link: a symbolic link to 'gone', which does not exist");
  fs::create_symlink("loop", place.path() / "loop");
  CHECK(refusal(path + "/loop").starts_with(path + "/loop: cannot be examined: "));
  const std::string expected =
      ": neither a file nor a directory; expected a model's directory or a file in it";
  REQUIRE(mkfifo((path + "/pipe").c_str(), 0600) == 0);
  CHECK(refusal(path + "/pipe") == path + "/pipe" + expected);
  CHECK(refusal("/dev/null") == "/dev/null" + expected);
}

TEST_CASE("refused: a dangling link in place of a file, which is not treated as missing") {
  const TemporaryDirectory place;
  const auto link = [&](const char* name) {
    fs::create_symlink("../blobs/1", place.path() / name);
    const std::string expected =
        (place.path() / name).string() + ": a symbolic link to '../blobs/1', which does not exist";
    CHECK(refusal(place.path()) == expected);
    fs::remove(place.path() / name);
  };
  link("model.safetensors");
  link("config.json");
  place.write("model.safetensors", "");
  place.write("config.json", "{}");
  link("generation_config.json");
}

TEST_CASE("refused: a directory that may not be entered") {
  const TemporaryDirectory place;
  const fs::path closed = place.path() / "closed";
  fs::create_directory(closed);
  fs::permissions(place.path(), fs::perms::all);
  fs::permissions(closed, fs::perms::none);
  const WithoutRights without_rights;
  CHECK(refusal(closed) ==
        (closed / "model.safetensors").string() + ": cannot be examined: Permission denied");
  CHECK(refusal(closed / "x") ==
        (closed / "x").string() + ": cannot be examined: Permission denied");
}

}  // namespace gpt2::test::model_files_posix_test
