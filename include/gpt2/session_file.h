#pragma once

#include <filesystem>

#include "gpt2/session.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Writes the state of a session to a file: its tokens, the keys and values of those that have been
/// computed, and how many tokens slides have dropped. load_session() makes a session of it that
/// goes on, bit for bit, like this one, without computing anything anew: on any supported machine,
/// with any number of threads.
///
/// The file also has the type of the model's weights and of the keys and values, a hash of the
/// model, and a checksum over everything. It is written as FILE.partial-PID and then renamed, so
/// that `file` is never half-written. A file that was there before is replaced, and stays if
/// anything fails.
///
/// Cost: two numbers for each computed token, layer and channel, in the type that the engine holds
/// keys and values in: for 1,000 tokens of GPT-2 124M, 73.7 MB of f32 or 36.9 MB of f16.
///
/// REQUIRES: no other thread uses the session or saves to the same file meanwhile. Throws
/// Error(invalid_argument) if the session was moved from or if `file` is something that cannot be
/// replaced (a directory, a device), and Error(invalid_file) if the system refuses to write. In
/// that case, nothing is left behind.
///
/// Example:
///   const Engine engine(model);
///   Session session(engine);
///   session.forward(tokenizer.encode("A long prompt, which takes seconds to read"));
///   save_session(session, "prompt.state");
///   Session later = load_session(engine, "prompt.state");  // takes milliseconds
void save_session(const Session& session, const std::filesystem::path& file);

/// Makes a session from a file that save_session() has written. Its tokens, and how many of them
/// wait, are those of the session that was saved. options.max_tokens may differ, but must be at
/// least the number of tokens.
///
/// The engine's kv_type() must be the type of the saved keys and values, and its model the one of
/// the saved session. To check that, the file has a hash of the config's numbers, of all biases and
/// parameters of LayerNorm, and of samples of each matrix: its shape, its type and 4 KB from 16
/// places. So a model of another size, of another weight type or with other training is refused,
/// but not one that differs only between the samples of its matrices. To hash all weights would
/// take seconds for large models.
///
/// The file may come from anyone: nothing is allocated before its length, its checksum and all its
/// numbers have been checked. But the checksum only finds accidents: whoever makes a file on
/// purpose chooses the keys and values, and so what the model writes. The file must not be
/// shortened meanwhile, because it is mapped.
///
/// Cost: reads the file twice. Less than 0.1 s for 1,000 tokens of GPT-2 124M.
///
/// Throws Error: not_found if there is no such file; invalid_file if it cannot be read, is no such
/// file, is damaged, belongs to another model or has another type of weights or of keys and values;
/// invalid_argument if options.max_tokens is less than the number of tokens or more than the model
/// has positions.
/// Throws std::bad_alloc.
[[nodiscard]] Session load_session(const Engine& engine, const std::filesystem::path& file,
                                   const SessionOptions& options = {});

}  // namespace gpt2
