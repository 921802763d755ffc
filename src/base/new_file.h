#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace gpt2 {

/// Writes a file atomically: to FILE.partial-PID in the same directory, which commit() renames to
/// FILE. If commit() was not called, the destructor removes FILE.partial-PID; this file is left
/// behind only if the process is killed.
///
/// To find out before long work whether the file can be written, make a NewFile and destroy it.
///
/// If FILE is a symbolic link, its target is replaced, or created if nothing is there, and the link
/// remains. A loop of links is an error.
///
/// All functions throw Error(invalid_file), which names the file and the reason, if the system
/// reports an error, for example because the disk is full.
///
/// Belongs to one thread at a time. Two objects in one process must not write the same file. Cost:
/// a file stream and a rename; nothing is flushed to the disk.
///
/// Example:
///   const std::vector<float> vector = {1.0f, 2.0f};
///   NewFile file("vector.bin");
///   file.write(std::as_bytes(std::span(vector)));
///   file.commit();
class NewFile {
 public:
  /// Makes the file FILE.partial-PID. Throws Error(invalid_argument) if the name is empty, or if
  /// `file` exists and is not a regular file (for example, a directory or a device).
  explicit NewFile(const std::filesystem::path& file);

  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  ~NewFile();

  /// Appends the bytes. They are buffered, so an error may be reported by a later call or by
  /// commit(). REQUIRES: commit() has not been called.
  void write(std::span<const std::byte> bytes);

  /// Renames the file to FILE. If that fails, the destructor still removes FILE.partial-PID.
  /// REQUIRES: commit() has not succeeded before.
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void check() const;

  std::filesystem::path given_;    // for messages
  std::filesystem::path file_;     // absolute, like partial_
  std::filesystem::path partial_;  // "" once it has been moved
  std::ofstream out_;
};

/// The same for a directory. Unless commit() has succeeded, the destructor removes the directory
/// and the parent directories that were created for it.
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
