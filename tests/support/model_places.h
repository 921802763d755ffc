#pragma once

#include <system_error>

#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test {

/// The name of a snapshot in HuggingFace's cache.
inline const std::string kCommit = "607a30d783dfa663caf39e06633721c8d4cfcd7e";

/// A directory with the alphabet model and with links to it. The tests tell the links apart by the
/// path that `gpt2 info` prints. The directory above it is the test's own as well, so that ".."
/// does not lead to the directory of temporary files, in which other programs may have put a model.
class ModelPlaces {
 public:
  ModelPlaces() { write_alphabet_model(root() / "the_model"); }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// On Windows, few users may make links, so this makes a copy there. So does HuggingFace's cache.
  void link(const std::filesystem::path& place) const {
    std::filesystem::create_directories((root() / place).parent_path());
    std::error_code error;
    std::filesystem::create_directory_symlink(root() / "the_model", root() / place, error);
    if (error) std::filesystem::copy(root() / "the_model", root() / place);
  }

  /// Makes a repository of HuggingFace's cache, whose revision main is the model. Returns the path
  /// of its snapshot.
  std::string cache(const std::filesystem::path& repository) const {
    link(repository / "snapshots" / kCommit);
    write(repository / "refs/main", kCommit);
    return (root() / repository / "snapshots" / kCommit).generic_string();
  }

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories((root() / file).parent_path());
    std::ofstream(root() / file, std::ios::binary) << text;
  }

  /// Returns the path to which -m `name` leads, or the error message if it leads nowhere. The
  /// path has slashes on every system.
  [[nodiscard]] std::string found(const std::string& name, const Words& environment = {}) const {
    const Outcome outcome =
        run({"info", "-m", name}, {.directory = root(), .environment = environment});
    if (outcome.status != 0) return outcome.err;
    const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
    const std::string path = first.substr(first.find_first_not_of(' ', first.find(' ')));
    return std::filesystem::path(path).generic_string();
  }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path root_ = directory_.path() / "places";
};

}  // namespace gpt2::test
