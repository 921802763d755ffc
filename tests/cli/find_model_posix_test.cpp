// Tests what happens when -m leads to links, named pipes, devices and directories without access.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/catch.h"
#include "support/command.h"
#include "support/model_places.h"

namespace gpt2::test::find_model_posix_test {

namespace fs = std::filesystem;

TEST_CASE("a path that exists but cannot be read is refused with the cause") {
  const ModelPlaces places;
  const auto refused = [&](const std::string& name, const std::string& cause) {
    CHECK(places.found(name) == "gpt2: " + name + ": " + cause + "\n");
    CHECK(run({"tokenize", "-m", name, "x"}, {.directory = places.root()}).err ==
          "gpt2: " + name + ": " + cause + "\n");
  };
  for (const std::string name : {"lost", "lost.safetensors", "models/lost"}) {
    fs::create_directories((places.root() / name).parent_path());
    fs::create_symlink("gone", places.root() / name);
    refused(name, "a symbolic link to 'gone', which does not exist");
  }
  REQUIRE(mkfifo((places.root() / "pipe").c_str(), 0600) == 0);
  for (const std::string name : {"pipe", "./pipe", "/dev/null"}) {
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

}  // namespace gpt2::test::find_model_posix_test
