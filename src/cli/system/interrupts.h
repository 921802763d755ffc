#pragma once

namespace gpt2::cli {

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

/// From now on, a write to a pipe without a reader, or to a file that has become too long, fails
/// instead of ending the process, so that the error message can name the file.
void let_writes_fail();

/// After a write that failed: returns whether it failed because nobody reads the pipe any more.
[[nodiscard]] bool pipe_was_closed();

/// Ends the process as if let_writes_fail() had not been called, because a write to a pipe failed.
[[noreturn]] void end_by_closed_pipe();

}  // namespace gpt2::cli
