#include "base/mapped_file.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/checked_math.h"
#include "base/file_source.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::mapped_file_test {

namespace {
std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}
}  // namespace

TEST_CASE("a mapped file has the bytes of the file") {
  const gpt2::test::TemporaryDirectory directory;
  const MappedFile file(directory.write("file", std::string("ab\0c", 4)));
  CHECK(text_of(file) == std::string("ab\0c", 4));
}

TEST_CASE("a file that is copied keeps its bytes when the file changes") {
  const gpt2::test::TemporaryDirectory directory;
  const auto path = directory.write("file", std::string("ab\0c", 4));
  const MappedFile file(path, gpt2::FileAccess::copy);
  directory.write("file", "");
  CHECK(text_of(file) == std::string("ab\0c", 4));
  CHECK(MappedFile(path, gpt2::FileAccess::copy).bytes().empty());
}

TEST_CASE("an empty file maps to no bytes") {
  const gpt2::test::TemporaryDirectory directory;
  CHECK(MappedFile(directory.write("empty", "")).bytes().empty());
}

TEST_CASE("a copy of a mapped file keeps it mapped at the same addresses") {
  const gpt2::test::TemporaryDirectory directory;
  auto first = std::make_optional<MappedFile>(directory.write("file", "content"));
  const std::byte* const address = first->bytes().data();
  const MappedFile second = *first;
  first.reset();
  CHECK(second.bytes().data() == address);
  CHECK(text_of(second) == "content");
}

TEST_CASE("bytes outside a mapped file are not dropped") {
  const gpt2::test::TemporaryDirectory directory;
  const MappedFile file(directory.write("file", std::string(100, 'x')));
  std::vector<std::byte> other(std::size_t{1} << 20, std::byte{1});  // would become zero
  file.drop_pages(other);
  CHECK(std::ranges::all_of(other, [](std::byte b) { return b == std::byte{1}; }));
  const MappedFile empty(directory.write("empty", ""));
  empty.drop_pages(other);
  empty.drop_pages({});
  CHECK(std::ranges::all_of(other, [](std::byte b) { return b == std::byte{1}; }));
}

TEST_CASE("a missing file and a directory each cause an Error that says so") {
  const gpt2::test::TemporaryDirectory directory;
  const auto refusal = [](const std::filesystem::path& path) {
    return refusal_of([&] { const MappedFile file(path); });
  };
  const std::filesystem::path missing = directory.path() / "missing";
  CHECK(refusal(missing) == "cannot open " + missing.string() + ": No such file or directory");
  CHECK(refusal(directory.path()) ==
        directory.path().string() + " is a directory: expected a file");

  try {
    const MappedFile file(missing);
    FAIL("opened a missing file");
  } catch (const gpt2::Error& error) {
    CHECK(error.code() == gpt2::ErrorCode::not_found);
  }
}

TEST_CASE("read_file refuses a file that is too long before reading it") {
  const gpt2::test::TemporaryDirectory directory;
  const std::filesystem::path file = directory.write("file", "12345");
  CHECK(gpt2::read_file(file, 5) == "12345");
  CHECK(refusal_of([&] { (void)gpt2::read_file(file, 4); }) ==
        file.string() + ": 5 bytes; expected at most 4");
}

TEST_CASE("checked arithmetic has a result if and only if the result fits") {
  constexpr std::size_t kMax = ~std::size_t{0};
  const auto product = [](std::vector<std::size_t> factors, std::size_t last = 1) {
    return gpt2::checked_product(std::span<const std::size_t>(factors), last);
  };
  CHECK(product({kMax / 2}, 2) == kMax - 1);
  CHECK_FALSE(product({kMax / 2 + 1}, 2));
  CHECK(product({}) == 1u);
  CHECK(product({2, 3, 4}) == 24u);
  CHECK(product({0, kMax, kMax}) == 0u);
  CHECK_FALSE(product({kMax, kMax, 0}));
}

}  // namespace gpt2::test::mapped_file_test
