#pragma once

#include <filesystem>
#include <fstream>

#include "base/bytes.h"

namespace gpt2 {

/// A file that is written beside its place and moved there when it is complete, so that no one ever
/// sees half of it. A file that has the name already is replaced then. The destructor removes what
/// was not moved.
///
/// All functions throw Error(invalid_file), which names the file, if the system refuses.
class NewFile {
 public:
  /// Makes the file FILE.partial-PID. If `file` is a link to a file, the file it leads to is meant.
  /// Throws Error(invalid_argument) if `file` is there and is not a regular file.
  explicit NewFile(const std::filesystem::path& file);

  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(Bytes bytes);

  /// Moves the file to its place. REQUIRES: nothing is written afterwards.
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void check() const;

  std::filesystem::path given_;  // for messages
  std::filesystem::path file_;   // absolute, as partial_ is
  std::filesystem::path partial_;
  std::ofstream out_;
};

}  // namespace gpt2
