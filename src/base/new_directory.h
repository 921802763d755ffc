#pragma once

#include <filesystem>
#include <vector>

namespace gpt2 {

/// A new directory that has a temporary name while its files are written, and gets its final name
/// when it is complete, so that no program ever sees an incomplete directory. Unless commit() has
/// succeeded, the destructor removes the directory and the parent directories that were created
/// for it.
class NewDirectory {
 public:
  /// Creates the directory OUT.partial-PID and its missing parents. OUT stands for `out` or, if
  /// that is a symbolic link to something that does not exist, for its target. A later change of
  /// the working directory has no effect. Throws Error(invalid_argument) if OUT exists or cannot be
  /// the name of a new directory, and Error(invalid_file) if the system cannot create the
  /// directory.
  explicit NewDirectory(const std::filesystem::path& out);

  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory();

  /// Returns the path to write files to until commit() is called.
  [[nodiscard]] const std::filesystem::path& partial() const noexcept { return partial_; }

  /// Gives the directory its final name. Throws std::filesystem::filesystem_error.
  void commit();

 private:
  void make_parents();
  void remove() noexcept;

  std::filesystem::path directory_;  // absolute, like partial_
  std::filesystem::path partial_;
  std::vector<std::filesystem::path> made_;  // created parents, the innermost one first
};

}  // namespace gpt2
