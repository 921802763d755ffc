// Tests that the error names the true cause if the path of a model leads to nothing, to a link, a
// pipe or a directory that may not be entered.
#include <sys/stat.h>
#include <unistd.h>

#include "gpt2/model.h"
#include "support/test.h"

namespace gpt2::test::model_files_posix_test {

namespace fs = std::filesystem;

namespace {

void refused(const fs::path& path, std::string_view fact, ErrorCode code) {
  check_refused([&] { (void)Model::load(path); }, {path.string(), fact}, code);
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
  const fs::path root = place.path();
  refused(root / "none", "no such file or directory", ErrorCode::not_found);
  refused("", "the path of the model is empty", ErrorCode::invalid_argument);
  refused("some/name", "find_model()", ErrorCode::not_found);
  fs::create_symlink("gone", root / "link");
  refused(root / "link", "a symbolic link to 'gone'", ErrorCode::not_found);
  fs::create_symlink("loop", root / "loop");
  refused(root / "loop", "cannot be examined: ", ErrorCode::invalid_file);
  REQUIRE(mkfifo((root / "pipe").c_str(), 0600) == 0);
  for (const fs::path& path : {root / "pipe", fs::path("/dev/null")}) {
    refused(path, "neither a file nor a directory", ErrorCode::invalid_file);
  }
}

TEST_CASE("refused: a dangling link in place of a file, which is not treated as missing") {
  const TemporaryDirectory place;
  const auto link = [&](const char* name) {
    fs::create_symlink("../blobs/1", place.path() / name);
    check_refused([&] { (void)Model::load(place.path()); },
                  {(place.path() / name).string(), "a symbolic link to '../blobs/1'"},
                  ErrorCode::not_found);
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
  for (const fs::path& path : {closed, closed / "x"}) {
    refused(path, "cannot be examined: Permission denied", ErrorCode::invalid_file);
  }
}

}  // namespace gpt2::test::model_files_posix_test
