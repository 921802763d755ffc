#pragma once

#include <filesystem>

#include "gpt2/session.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Writes the state of a session to a file: its tokens, the keys and values of those that have been
/// computed, and how many tokens slides have dropped. load_session() makes a session from it that
/// continues bit for bit like this one, on any supported machine and with any number of threads,
/// without recomputing anything.
///
/// The file also contains the types of the model's weights and of the keys and values, a hash of
/// the model, and a checksum of everything. It is written as FILE.partial-PID and then renamed, so
/// that `file` is never incomplete. An existing file is replaced on success and remains unchanged
/// on failure.
///
/// Cost: writes two numbers for each computed token, layer and channel, in the type of the engine's
/// keys and values: for 1,000 tokens of GPT-2 124M, 73.7 MB of f32 or 36.9 MB of f16.
///
/// REQUIRES: no other thread uses the session or saves to the same file meanwhile. Throws
/// Error(invalid_argument) if the session was moved from or if `file` is something that cannot be
/// replaced (a directory, a device), and Error(invalid_file) if the system reports an error while
/// writing. No partial file is left behind.
///
/// Example:
///   const Engine engine(model);
///   Session session(engine);
///   session.forward(tokenizer.encode("A long prompt, which takes seconds to read"));
///   save_session(session, "prompt.state");
///   Session later = load_session(engine, "prompt.state");  // takes milliseconds
void save_session(const Session& session, const std::filesystem::path& file);

/// Makes a session from a file that save_session() has written. It has the same tokens as the
/// session that was saved, and the same number of them wait. options.max_tokens may differ, but
/// must be at least the number of tokens.
///
/// The engine's kv_type() must be the type of the saved keys and values, and its model the one of
/// the saved session. To check the model, the file contains a hash of the config's numbers, all
/// biases, all parameters of LayerNorm, and, for each matrix, its shape, its type and samples: 4 KB
/// from 16 places. So a model of another size, of another weight type or with different training is
/// refused. A model that differs only between the samples of its matrices is not: hashing all
/// weights would take seconds for large models.
///
/// The file may be untrusted: nothing is allocated before its length, its checksum and all its
/// numbers have been checked. But the checksum only detects accidental damage: an attacker who
/// writes a file chooses its keys and values, and thereby the text that the model generates. The
/// file must not be truncated during the call, because it is mapped.
///
/// Cost: reads the file twice. Less than 0.1 s for 1,000 tokens of GPT-2 124M.
///
/// Throws Error: not_found if there is no such file; invalid_file if it cannot be read, is not a
/// session file, is damaged, belongs to another model, or has another type of weights or of keys
/// and values; invalid_argument if options.max_tokens is less than the number of tokens or more
/// than n_positions. Throws std::bad_alloc.
[[nodiscard]] Session load_session(const Engine& engine, const std::filesystem::path& file,
                                   const SessionOptions& options = {});

}  // namespace gpt2
