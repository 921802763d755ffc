#include "base/paths.h"

#include "base/fail.h"
#include "base/system/process.h"

namespace gpt2 {

namespace fs = std::filesystem;

std::filesystem::path with_home(const std::filesystem::path& path) {
  if (path.empty() || *path.begin() != "~") return path;
  const std::filesystem::path home = home_directory();
  return home.empty() ? home : (home / path.lexically_relative("~")).lexically_normal();
}

void refuse_nul(const fs::path& path) {
  if (path.native().find('\0') == fs::path::string_type::npos) return;
  reject(quote(path.string(), 4096), ": the name has a NUL byte, which no file's name can have");
}

fs::file_type type_of(const fs::path& path, std::error_code& error) {
  if (const BuiltInFile* const file = find_built_in(path)) {
    return file->begin == nullptr ? fs::file_type::directory : fs::file_type::regular;
  }
  return fs::status(path, error).type();
}

bool is_there(const fs::path& path) {
  refuse_nul(path);
  std::error_code error;
  const fs::file_type type = type_of(path, error);
  // A file cannot have a name that is too long, so such a file does not exist.
  if (type == fs::file_type::not_found || error == std::errc::filename_too_long) {
    if (!fs::is_symlink(fs::symlink_status(path, error))) return false;
    fail(ErrorCode::not_found, path.string(), "a symbolic link to ",
         quote(fs::read_symlink(path, error).string(), 4096), ", which does not exist");
  }
  if (type == fs::file_type::none) fail(path.string(), "cannot be examined: ", reason_of(error));
  return true;
}

fs::path directory_of(const fs::path& path) {
  if (path.empty()) reject("the path of the model is empty");
  if (!is_there(path)) {
    const bool may_be_name = !path.has_root_directory() && !path.native().starts_with('.');
    fail(ErrorCode::not_found, path.string(), "no such file or directory",
         may_be_name ? "; if this is the name of a model, find_model() returns its path" : "");
  }
  std::error_code ignored;
  const fs::file_type type = type_of(path, ignored);
  if (type == fs::file_type::directory) return path;
  if (type == fs::file_type::regular) return path.has_parent_path() ? path.parent_path() : ".";
  fail(path.string(),
       "neither a file nor a directory; expected a model's directory or a file in it");
}

fs::path link_target(fs::path path) {
  constexpr int kMaxLinks = 40;
  std::error_code ignored;
  const auto leads_nowhere = [&] {
    return fs::is_symlink(path, ignored) && !fs::exists(path, ignored);
  };
  for (int links = 0; links < kMaxLinks && leads_nowhere(); ++links) {
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  return path;
}

bool same_file(const fs::path& a, const fs::path& b) {
  const auto resolved = [](const fs::path& path) {
    std::error_code ignored;
    return fs::weakly_canonical(fs::absolute(link_target(path), ignored), ignored);
  };
  const fs::path place = resolved(a);
  return !place.empty() && place == resolved(b);
}

}  // namespace gpt2
