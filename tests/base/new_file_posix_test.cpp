// Tests the permissions of a file that replaces another one.
#include <filesystem>

#include "base/new_file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace gpt2::test::new_file_posix_test {

namespace fs = std::filesystem;

TEST_CASE("a new file has the permissions of the file that it replaces") {
  const gpt2::test::TemporaryDirectory directory;
  const fs::path file = directory.write("state", "old");
  const fs::perms ours_alone = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(file, ours_alone);
  gpt2::NewFile replacement(file);
  replacement.commit();
  CHECK(fs::file_size(file) == 0);
  CHECK(fs::status(file).permissions() == ours_alone);
}

}  // namespace gpt2::test::new_file_posix_test
