#include "base/new_directory.h"

#include <system_error>

#include "base/fail.h"
#include "base/paths.h"
#include "base/process_id.h"
#include "base/reason.h"

namespace gpt2 {
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
