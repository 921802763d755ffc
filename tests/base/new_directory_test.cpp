// Tests what names save_quantized writes to, that require_new_directory gives the same answer
// beforehand, and that paths with a NUL byte are refused everywhere.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "gpt2/config.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/tokenizer.h"
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::new_directory_test {

namespace fs = std::filesystem;

namespace {

const Model& model() {
  static const Model model = Model::load(test::alphabet_model(), {.dtype = WeightType::int8});
  return model;
}

// Returns why `out` is refused, which both functions must agree on.
std::string refusal(const fs::path& out) {
  const std::string early = refusal_of([&] { require_new_directory(out); });
  CHECK(refusal_of([&] { save_quantized(model(), test::alphabet_model(), out); }) == early);
  return early;
}

std::ptrdiff_t count(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), {});
}

}  // namespace

TEST_CASE("require_new_directory refuses what save_quantized cannot write, and leaves no trace",
          "[posix]") {
  const test::TemporaryDirectory place;
  const fs::path root = place.path();
  fs::create_symlink(root / "nowhere", root / "dangling");
  fs::create_symlink(root / "loop", root / "loop");
  std::ofstream(root / "file") << "text";
  const auto cannot = [](const fs::path& out) { return out.string() + ": cannot be written: "; };
  CHECK(refusal("") == "the name of the directory to write is empty");
  CHECK(refusal(std::string("a\0b", 3)) ==
        "'a\\x00b': the name has a NUL byte, which no file's name can have");
  CHECK(refusal(root / "..") == (root / "..").string() + ": expected the name of a new directory");
  for (const std::string parent : {"dangling", "file"}) {
    for (const fs::path& out : {root / parent / "out", root / parent / "new/out"}) {
      CHECK(refusal(out) == cannot(out) + (root / parent).string() + ": Not a directory");
    }
  }
  CHECK(refusal(root / "loop/out").starts_with(cannot(root / "loop/out")));
  for (const fs::path& out : {root / std::string(255, 'n'), fs::path("/proc/new")}) {
    CHECK(refusal(out).starts_with(cannot(out)));
  }
  CHECK(count(root) == 3);
}

TEST_CASE("a name with dots makes no other directory, and removes none") {
  const test::TemporaryDirectory place;
  const fs::path root = place.path();
  save_quantized(model(), test::alphabet_model(), root / "new/../out");
  CHECK(count(root) == 1);
  fs::create_directory(root / "old");
  save_quantized(model(), test::alphabet_model(), root / "old/../out2/");
  CHECK(fs::is_empty(root / "old"));
  CHECK(Model::load(root / "out2").config().vocab_size == model().config().vocab_size);
}

TEST_CASE("a path with a NUL byte is refused, and does not name the file before it") {
  const std::string path = test::alphabet_model() + std::string("\0.bak", 5);
  const std::string file = test::alphabet_model() + "/config.json" + std::string("\0x", 2);
  const std::function<void()> calls[] = {
      [&] { (void)Model::load(path); }, [&] { (void)Tokenizer::load(path); },
      [&] { (void)find_model(path); }, [&] { (void)Config::load(file); }};
  for (const auto& call : calls) check_refused(call, {"\\x00"}, ErrorCode::invalid_argument);
}

}  // namespace gpt2::test::new_directory_test
