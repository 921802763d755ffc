#include "support/temporary_directory.h"

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/paths.h"

namespace gpt2::test {

TemporaryDirectory::TemporaryDirectory() {
  std::random_device random;
  do {
    path_ = std::filesystem::temp_directory_path() / ("gpt2_test_" + std::to_string(random()));
  } while (!std::filesystem::create_directory(path_));
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryDirectory::write(std::string_view name,
                                                std::string_view bytes) const {
  const std::filesystem::path file = path_ / path_of(name);
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file;
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace gpt2::test
