#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Files that are read or extended piece by piece, by the descriptors of the C library. If a
// function fails, errno has the reason.

namespace gpt2::cli {

/// These return the descriptor of the file, or -1.
[[nodiscard]] int open_to_read(const std::string& name);
[[nodiscard]] int open_to_append(const std::string& name);  ///< creates the file if it is missing
[[nodiscard]] int open_standard_input();

void close_file(int file);

[[nodiscard]] bool is_terminal(int file);
[[nodiscard]] bool is_regular(int file);
[[nodiscard]] bool is_same_file(int file, int other);

/// Returns the size of a regular file.
[[nodiscard]] std::size_t size_of(int file);

/// Waits until the file has bytes or ends, but at most this long. Returns whether it does.
[[nodiscard]] bool has_input(int file, int milliseconds);

/// Reads up to `count` bytes. Returns how many there were, 0 at the end, or -1.
[[nodiscard]] std::ptrdiff_t read_some(int file, char* bytes, std::size_t count);

/// Writes all of the text at the end of the file. Returns whether that succeeded.
[[nodiscard]] bool append_to(int file, std::string_view text);

/// Cuts a file off after `bytes`.
[[nodiscard]] bool shorten(int file, std::size_t bytes);

enum class Lock { taken, held_by_another, failed };

/// Makes sure that no other process locks this file until it is closed.
[[nodiscard]] Lock lock(int file);

/// Waits until what was written is on the disk.
[[nodiscard]] bool flush_to_disk(int file);

/// Makes sure that a new or renamed file is still in its directory after a power failure.
void flush_directory_of(const std::string& name);

}  // namespace gpt2::cli
