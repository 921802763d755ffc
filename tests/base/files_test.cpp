// Tests how files are mapped and read, which names of directories save_quantized writes to (and
// that require_new_directory gives the same answer beforehand), and that paths with a NUL byte are
// refused everywhere.
#include "base/checked_math.h"
#include "base/file_source.h"
#include "base/mapped_file.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/tokenizer.h"
#include "support/alphabet_model.h"
#include "support/test.h"

namespace gpt2::test::files_test {

namespace fs = std::filesystem;

namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

const Model& small_model() {
  static const Model model = Model::load(alphabet_model(), {.dtype = WeightType::int8});
  return model;
}

// Returns why `out` is refused, which both functions must agree on.
std::string refusal(const fs::path& out) {
  const std::string early = refusal_of([&] { require_new_directory(out); });
  CHECK(refusal_of([&] { save_quantized(small_model(), alphabet_model(), out); }) == early);
  return early;
}

std::ptrdiff_t count(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), {});
}

}  // namespace

TEST_CASE("a mapped file has the bytes of the file, and keeps them if it is a copy") {
  const TemporaryDirectory directory;
  const std::string text("ab\0c", 4);
  const auto path = directory.write("file", text);
  CHECK(text_of(MappedFile(path)) == text);
  const MappedFile copied(path, FileAccess::copy);
  directory.write("file", "");
  CHECK(text_of(copied) == text);
  CHECK(MappedFile(path).bytes().empty());
  CHECK(MappedFile(path, FileAccess::copy).bytes().empty());
}

TEST_CASE("a copy of a mapped file keeps it mapped at the same addresses") {
  const TemporaryDirectory directory;
  auto first = std::make_optional<MappedFile>(directory.write("file", "content"));
  const std::byte* const address = first->bytes().data();
  const MappedFile second = *first;
  first.reset();
  CHECK(second.bytes().data() == address);
  CHECK(text_of(second) == "content");
}

TEST_CASE("bytes outside a mapped file are not dropped") {
  const TemporaryDirectory directory;
  const MappedFile file(directory.write("file", std::string(100, 'x')));
  std::vector<std::byte> other(std::size_t{1} << 20, std::byte{1});  // would become zero
  file.drop_pages(other);
  CHECK(std::ranges::all_of(other, [](std::byte b) { return b == std::byte{1}; }));
  const MappedFile empty(directory.write("empty", ""));
  empty.drop_pages(other);
  empty.drop_pages({});
  CHECK(std::ranges::all_of(other, [](std::byte b) { return b == std::byte{1}; }));
}

TEST_CASE("refused: a missing file, a directory and a file that is too long to be read") {
  const TemporaryDirectory directory;
  const auto map = [](const std::filesystem::path& path) { const MappedFile file(path); };
  const std::filesystem::path missing = directory.path() / "missing";
  check_refused([&] { map(missing); }, {missing.string(), "No such file"}, ErrorCode::not_found);
  check_refused([&] { map(directory.path()); }, {directory.path().string(), "is a directory"});
  const std::filesystem::path file = directory.write("file", "12345");
  CHECK(read_file(file, 5) == "12345");
  check_refused([&] { (void)read_file(file, 4); }, {file.string(), "5 bytes", "at most 4"});
}

TEST_CASE("checked arithmetic has a result if and only if the result fits") {
  constexpr std::size_t kMax = ~std::size_t{0};
  const auto product = [](std::vector<std::size_t> factors, std::size_t last = 1) {
    return checked_product(std::span<const std::size_t>(factors), last);
  };
  CHECK(product({kMax / 2}, 2) == kMax - 1);
  CHECK_FALSE(product({kMax / 2 + 1}, 2));
  CHECK(product({}) == 1u);
  CHECK(product({2, 3, 4}) == 24u);
  CHECK(product({0, kMax, kMax}) == 0u);
  CHECK_FALSE(product({kMax, kMax, 0}));
}

TEST_CASE("require_new_directory refuses what save_quantized cannot write, and leaves no trace",
          "[posix]") {
  const TemporaryDirectory place;
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
  const TemporaryDirectory place;
  const fs::path root = place.path();
  save_quantized(small_model(), alphabet_model(), root / "new/../out");
  CHECK(count(root) == 1);
  fs::create_directory(root / "old");
  save_quantized(small_model(), alphabet_model(), root / "old/../out2/");
  CHECK(fs::is_empty(root / "old"));
  CHECK(Model::load(root / "out2").config().vocab_size == small_model().config().vocab_size);
}

TEST_CASE("a path with a NUL byte is refused, and does not name the file before it") {
  const std::string path = alphabet_model() + std::string("\0.bak", 5);
  const std::string file = alphabet_model() + "/config.json" + std::string("\0x", 2);
  const std::function<void()> calls[] = {
      [&] { (void)Model::load(path); }, [&] { (void)Tokenizer::load(path); },
      [&] { (void)find_model(path); }, [&] { (void)Config::load(file); }};
  for (const auto& call : calls) check_refused(call, {"\\x00"}, ErrorCode::invalid_argument);
}

}  // namespace gpt2::test::files_test
