#pragma once

#include <filesystem>
#include <vector>

namespace gpt2 {

/// A directory that is written beside its place and moved there when it is complete, so that no one
/// ever sees half of it. The destructor removes what was not moved, the parents that it made
/// included.
class NewDirectory {
 public:
  /// Makes the directory OUT.partial-PID for `out`, with the parents that are missing. Later
  /// changes of the working directory do not matter. Throws Error(invalid_argument) if `out` exists
  /// or cannot be the name of a new directory, and Error(invalid_file) if the system refuses.
  explicit NewDirectory(const std::filesystem::path& out);

  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory();

  /// Where to write, until commit() moves it.
  [[nodiscard]] const std::filesystem::path& partial() const noexcept { return partial_; }

  /// Moves the directory to its place. Throws std::filesystem::filesystem_error.
  void commit();

 private:
  void make_parents();
  void remove() noexcept;

  std::filesystem::path directory_;  // absolute, as partial_ is
  std::filesystem::path partial_;
  std::vector<std::filesystem::path> made_;  // parents, the last one first
};

}  // namespace gpt2
