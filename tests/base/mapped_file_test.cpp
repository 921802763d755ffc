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

}  // namespace gpt2::test::mapped_file_test
