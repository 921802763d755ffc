// Tests which places model_places() lists. Windows sets the environment in another way.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gpt2/model_files.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace gpt2::test::model_places_posix_test {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> places_with(const fs::path& gpt2_models) {
  setenv("GPT2_MODELS", gpt2_models.c_str(), 1);
  const std::vector<std::string> places = model_places();
  unsetenv("GPT2_MODELS");
  return places;
}

}  // namespace

TEST_CASE("a place is listed once, although $GPT2_MODELS leads to it as well") {
  const TemporaryDirectory directory;
  const std::vector<std::string> places = places_with("");
  REQUIRE(places.size() >= 3);
  CHECK(places[0] == "the working directory");
  CHECK(places[1] == "models");
  const fs::path models = fs::absolute("models");
  const fs::path link = directory.path() / "link";
  fs::create_directory_symlink(models, link);
  for (const fs::path& same : {fs::path("models"), models, models / ".." / "models", link}) {
    CAPTURE(same);
    CHECK(places_with(same) == places);
  }
  std::vector<std::string> more = places;
  more.insert(more.end() - 1, directory.path().string());  // the cache comes last
  CHECK(places_with(directory.path()) == more);
}

}  // namespace gpt2::test::model_places_posix_test
