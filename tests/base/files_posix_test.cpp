// Tests what the system says about mapped files, a pipe in place of one, and the permissions of a
// file that replaces another one.
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapped_file.h"
#include "base/new_file.h"
#include "support/resident_file_bytes.h"
#include "support/test.h"

namespace gpt2::test::files_posix_test {

namespace fs = std::filesystem;

TEST_CASE("the last copy of a mapped file unmaps it") {
  const TemporaryDirectory directory;
  auto file = std::make_optional<MappedFile>(directory.write("file", "content"));
  void* const address = const_cast<std::byte*>(file->bytes().data());
  CHECK(msync(address, 1, MS_ASYNC) == 0);
  file.reset();
  CHECK(msync(address, 1, MS_ASYNC) != 0);  // ENOMEM: nothing is mapped there
}

TEST_CASE("pages of a mapped file that are dropped leave the memory and keep their bytes") {
  constexpr std::size_t kSize = std::size_t{16} << 20;
  const TemporaryDirectory directory;
  const MappedFile file(directory.write("file", std::string(kSize, 'x')));
  const auto intact = [&] {
    return std::ranges::all_of(file.bytes(), [](std::byte b) { return b == std::byte{'x'}; });
  };
  CHECK(intact());
  const std::size_t before = resident_file_bytes();
  REQUIRE(before >= kSize);
  file.drop_pages(file.bytes().subspan(1, kSize / 2));
  CHECK(resident_file_bytes() < before - kSize / 4);
  file.drop_pages(file.bytes());
  CHECK(resident_file_bytes() < before - kSize * 3 / 4);
  CHECK(intact());
}

TEST_CASE("a pipe causes an Error that says so") {
  const TemporaryDirectory directory;
  const fs::path pipe = directory.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal_of([&] { const MappedFile file(pipe); }) ==
        pipe.string() + " is not a regular file");
}

TEST_CASE("a new file has the permissions of the file that it replaces") {
  const TemporaryDirectory directory;
  const fs::path file = directory.write("state", "old");
  const fs::perms ours_alone = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(file, ours_alone);
  NewFile replacement(file);
  replacement.commit();
  CHECK(fs::file_size(file) == 0);
  CHECK(fs::status(file).permissions() == ours_alone);
}

}  // namespace gpt2::test::files_posix_test
