#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

// The functions that look for a file find those that are a part of the program, too
// (find_built_in).

namespace gpt2 {

/// Returns the path that is written like this in UTF-8. On Windows, the constructor of a path would
/// read the bytes in another encoding. string() of the result is `text` again. On Windows, names
/// are in UTF-16, so there the result has U+FFFD in place of bytes that are not UTF-8.
[[nodiscard]] std::filesystem::path path_of(std::string_view text);

/// Returns the path with the home directory in place of a "~" that is all of it or stands before
/// its first slash. Returns an empty path if there is such a "~" and no home directory.
[[nodiscard]] std::filesystem::path with_home(const std::filesystem::path& path);

/// Throws Error(invalid_argument) if the path contains a NUL byte. The system would treat the NUL
/// as the end of the name, and open another file.
void refuse_nul(const std::filesystem::path& path);

/// Returns what there is at `path`. Follows symbolic links.
[[nodiscard]] std::filesystem::file_type type_of(const std::filesystem::path& path,
                                                 std::error_code& error);

/// Returns whether there is a file or directory at `path`. Follows symbolic links.
///
/// Throws instead of returning false if something may exist but cannot be examined. If such a file
/// were treated as absent, the caller would misread the directory without noticing. Throws
/// Error(not_found) if `path` is a symbolic link to something that does not exist,
/// Error(invalid_file) if the system returns an error (permission denied, a loop of links), and the
/// error of refuse_nul().
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// Returns `path` if it is a directory, or the directory that contains the file `path`, because a
/// user may name a model by any of its files. Throws the errors of is_there(), Error(not_found) if
/// nothing exists at `path`, and Error(invalid_file) if it is something else (a pipe, a device).
[[nodiscard]] std::filesystem::path directory_of(const std::filesystem::path& path);

/// Returns where a file is created that is written to `path`: where its symbolic links lead if
/// nothing exists there, and otherwise `path` itself. Returns another link if they form a loop.
[[nodiscard]] std::filesystem::path link_target(std::filesystem::path path);

/// Returns whether two paths lead to the same file, which need not exist, also through symbolic
/// links.
[[nodiscard]] bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace gpt2
