#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What differs between operating systems.

namespace gpt2::cli {

// Files that are read or extended piece by piece, by the descriptors of the C library. If a
// function fails, errno has the reason.

/// These return the descriptor of the file, or -1.
[[nodiscard]] int open_to_read(const std::string& name);
[[nodiscard]] int open_to_append(const std::string& name);  ///< creates the file if it is missing
[[nodiscard]] int open_standard_input();

void close_file(int file);

[[nodiscard]] bool is_terminal(int file);
[[nodiscard]] bool is_regular(int file);

/// Returns the size of a regular file.
[[nodiscard]] std::size_t size_of(int file);

/// Waits until the file has bytes or ends, but at most this long. Returns whether it does.
[[nodiscard]] bool has_input(int file, int milliseconds);

/// Reads up to `count` bytes. Returns how many there were, 0 at the end, or -1.
[[nodiscard]] std::ptrdiff_t read_some(int file, char* bytes, std::size_t count);

/// Writes all of the text at the end of the file. Returns whether that succeeded.
[[nodiscard]] bool append_to(int file, std::string_view text);

[[nodiscard]] bool shorten(int file, std::size_t bytes);

/// Locks the file until it is closed, where the file system can. Returns false if another process
/// has locked it.
[[nodiscard]] bool lock(int file);

[[nodiscard]] bool flush_to_disk(int file);

// Signals.

/// From now on, the first SIGINT (Ctrl-C), SIGTERM or SIGHUP is only recorded, so that the work in
/// progress can end cleanly. A second one, whichever it is, ends the process, except a SIGHUP after
/// a SIGHUP. A signal that the process already ignores stays ignored; for example, nohup makes a
/// process ignore SIGHUP.
void note_interrupts();

/// Returns whether a signal was recorded.
[[nodiscard]] bool interrupted();

/// Forgets a signal that was recorded, because the command has done what it asks for.
void obey_interrupt();

/// From now on, signals have their default action again. A Ctrl-C that was recorded is forgotten;
/// any other signal stays recorded.
void forget_ctrl_c();

/// If a signal was recorded, ends the process by that signal. A shell stops a loop when a command
/// in it dies of SIGINT; after an ordinary exit, whatever its status, the shell would continue with
/// the next command.
void end_if_interrupted();

/// After a write that failed: returns whether it failed because nobody reads the pipe any more.
[[nodiscard]] bool pipe_was_closed();

/// Ends the process as a write to a pipe without a reader does by default.
[[noreturn]] void end_by_closed_pipe();

/// Becomes the program with this name and these arguments, and returns only if that fails.
void become(const std::vector<std::string>& words);

// The standard streams.

inline constexpr int kStdin = 0, kStdout = 1, kStderr = 2;

/// Sets them so that they carry bytes unchanged, and terminals so that they show UTF-8 and colours.
/// From now on, a write to a pipe without a reader, or to a file that has become too long, fails
/// instead of ending the process, so that the error message can name the file. `main` calls it
/// first.
void prepare_streams();

/// The keys that end the input from a terminal.
extern const char* const kEndKeys;

}  // namespace gpt2::cli
