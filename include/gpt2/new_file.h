#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace [[gnu::visibility("default")]] gpt2 {

/// A file that is written beside its place and moved there when it is complete, so that no one ever
/// sees half of it. A file that has the name already is replaced then, and stays as it is until
/// then. The destructor removes what was not moved. Only if the process is killed, FILE.partial-PID
/// stays behind.
///
/// A NewFile that is made and destroyed at once tells, before long work, whether the file can be
/// written.
///
/// Readers of the old file, if there is one, keep what they have opened: the name then leads to the
/// new file, and the old one goes with its last reader.
///
/// All functions throw Error(invalid_file), which names the file and the reason, if the system
/// refuses, for example because the disk is full.
///
/// Belongs to one thread at a time. Two objects of one process must not have the same file. Cost:
/// that of a file stream and a rename; nothing is flushed to the disk.
///
/// Example:
///   const std::vector<float> vector = {1.0f, 2.0f};
///   NewFile file("vector.bin");
///   file.write(std::as_bytes(std::span(vector)));
///   file.commit();
class NewFile {
 public:
  /// Makes the file FILE.partial-PID. If `file` is a link to a file, the file it leads to is meant.
  /// Throws Error(invalid_argument) if the name is empty, or if `file` is there and is not a
  /// regular file (but a directory or a device).
  explicit NewFile(const std::filesystem::path& file);

  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Removes the file unless commit() has moved it. Does not throw.
  ~NewFile();

  /// Appends the bytes, which the file system may get later. So an error may come with a later call
  /// or with commit(). REQUIRES: commit() has not been called.
  void write(std::span<const std::byte> bytes);

  /// Writes the bytes over those at the beginning, such as a header that counts what follows it.
  /// Later calls of write() still append. REQUIRES: at least as many bytes have been written, and
  /// commit() has not been called.
  void overwrite(std::span<const std::byte> bytes);

  /// Moves the file to its place. If that fails, the destructor still removes what was written.
  /// REQUIRES: commit() has not succeeded before.
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void check() const;

  std::filesystem::path given_;    // for messages
  std::filesystem::path file_;     // absolute, as partial_ is
  std::filesystem::path partial_;  // "" once it has been moved
  std::ofstream out_;
};

}  // namespace gpt2
