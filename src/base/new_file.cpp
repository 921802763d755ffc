#include "base/new_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "base/text.h"

namespace gpt2 {

namespace fs = std::filesystem;

NewFile::NewFile(const fs::path& file) : given_(file) {
  if (file.empty()) reject("the name of the file to write is empty");
  refuse_nul(file);
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail(ErrorCode::invalid_argument, file.string(),
         fs::is_directory(status) ? "is a directory" : "is not a regular file",
         "; choose another name");
  }
  std::error_code error;
  file_ = fs::absolute(link_target(file), error);
  if (!error) file_ = fs::weakly_canonical(file_, error);
  if (error) refuse(reason_of(error));
  partial_ = file_;
  partial_ += concat(".partial-", process_id());
  fs::remove(partial_, ignored);  // of an old process with this id, or a link to another file
  out_.open(partial_, std::ios::binary);
  if (!out_) refuse(reason_of(errno));
  // What others may not read in the old file they may not read in the new one.
  if (fs::exists(status)) fs::permissions(partial_, status.permissions(), ignored);
}

NewFile::~NewFile() {
  if (partial_.empty()) return;
  out_.close();  // Windows does not remove an open file
  std::error_code ignored;
  fs::remove(partial_, ignored);
}

void NewFile::write(Bytes bytes) {
  out_ << text_of(bytes);
  check();
}

void NewFile::commit() {
  out_.close();
  check();
  std::error_code error;
  fs::rename(partial_, file_, error);
  if (error) refuse(reason_of(error));
  partial_.clear();
}

void NewFile::refuse(const std::string& why) const {
  fail(given_.string(), "cannot be written: ", why);
}

void NewFile::check() const {
  if (!out_) refuse(reason_of(errno));
}

namespace {

namespace fs = std::filesystem;

fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// Returns the directory to make, without a trailing slash: `out` or, if that is a symbolic link to
// something that does not exist, its target. Throws if a new directory cannot have this name.
fs::path checked(const fs::path& out) {
  if (out.empty()) reject("the name of the directory to write is empty");
  refuse_nul(out);
  const fs::path directory = without_slash(link_target(without_slash(out)));
  const auto refuse = [&](const char* why) {
    fail(ErrorCode::invalid_argument, directory.string(), why);
  };
  // On Windows, "new/.." exists even if "new" does not.
  const fs::path name = directory.filename();
  if (name == "." || name == "..") refuse("expected the name of a new directory");
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(directory, ignored))) {
    refuse("exists already; choose another name");
  }
  return directory;
}

}  // namespace

NewDirectory::NewDirectory(const fs::path& out) {
  const fs::path given = checked(out);
  try {
    // This resolves "..", so that make_parents() does not create "new" for "new/../out".
    directory_ = fs::weakly_canonical(fs::absolute(given));
    partial_ = directory_;
    partial_ += concat(".partial-", process_id());
    make_parents();
    fs::remove_all(partial_);  // left behind by a killed process with the same id
    fs::create_directory(partial_);
  } catch (const fs::filesystem_error& error) {
    remove();
    fail(given.string(), "cannot be written: ", error.path1().string(), ": ",
         reason_of(error.code()));
  } catch (...) {
    remove();
    throw;
  }
}

NewDirectory::~NewDirectory() { remove(); }

void NewDirectory::commit() { fs::rename(partial_, directory_); }

void NewDirectory::make_parents() {
  fs::path parent = directory_.root_path();
  for (const fs::path& name : directory_.parent_path().relative_path()) {
    parent /= name;
    if (fs::is_directory(parent)) continue;
    if (fs::exists(fs::symlink_status(parent))) {
      throw fs::filesystem_error("", parent, std::make_error_code(std::errc::not_a_directory));
    }
    if (fs::create_directory(parent)) made_.insert(made_.begin(), parent);
  }
}

void NewDirectory::remove() noexcept {
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
  for (const fs::path& parent : made_) fs::remove(parent, ignored);  // fails if it is not empty
}

}  // namespace gpt2
