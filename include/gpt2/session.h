#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "gpt2/engine.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How to make a session.
struct SessionOptions {
  /// The number of tokens that the session has room for, at most the model's n_positions. 0:
  /// n_positions.
  std::size_t max_tokens = 0;
};

/// What a session knows of its text beside its tokens.
struct TextHistory {
  std::size_t dropped = 0;  ///< how many tokens of the text slides have dropped
  std::size_t written = 0;  ///< how many of the last tokens generate() wrote after its prompt
};

/// One sequence on a model: its tokens, with their keys and values. Belongs to one thread at a
/// time.
///
/// The logits after a token depend, bit for bit, only on the tokens up to and including this one:
/// not on how calls divided the tokens, nor on the number of threads, nor on other sessions in the
/// same pass. The only exception is a session on which an observer has changed values (observer.h).
///
/// The keys and values lie in blocks of 256 tokens. Sessions that were made equal by fork() or
/// assign() share the full blocks of their common tokens. A session never writes to a block that
/// another one reads, and a block is freed with the last session that uses it. Sharing therefore
/// affects only memory and time: each of these sessions behaves as if it had computed all its
/// tokens itself, and different threads may use them at the same time.
///
/// Cost: two numbers of the engine's kv_type() for each token, layer and channel (for 1,024 tokens
/// of GPT-2 124M, 75.5 MB as f32 and 37.7 MB as f16), of which only the part that tokens have
/// reached takes memory. Shared blocks take memory once.
///
/// Example:
///   Session session(model);
///   std::span<const float> logits = session.forward(tokenizer.encode("Once upon a time"));
///   Session other = session.fork();  // the same prompt, computed once
///   logits = other.forward(tokenizer.encode(" there was"));
///   session.assign(other);  // both continue after " there was"
class Session {
 public:
  /// Makes an empty session on Engine::shared(model). Throws Error(invalid_argument) if max_tokens
  /// is more than n_positions, and std::bad_alloc.
  explicit Session(const Model& model, const SessionOptions& options = {});

  /// Makes an empty session on this engine. Throws as above.
  explicit Session(const Engine& engine, const SessionOptions& options = {});

  ~Session();

  /// A session that has been moved from can only be destroyed, or become the target of a move. All
  /// other functions, and those that it is passed to, throw Error(invalid_argument).
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Appends the tokens and returns the logits (vocab_size) after the last one. The span lives
  /// until the next call. Allocates nothing. If Engine::forward throws, so does this function, and
  /// changes nothing.
  std::span<const float> forward(std::span<const TokenId> tokens);

  /// Appends tokens without computing anything yet: they wait until the next forward pass, which
  /// computes them before its own tokens. If tokens wait, a forward pass needs no tokens of its
  /// own. Waiting tokens count in position(). Throws Error(invalid_argument), and changes nothing,
  /// if an id is outside the vocabulary or there is no room for the tokens.
  void append(std::span<const TokenId> tokens);

  /// Removes all tokens after the first `position` ones. Throws Error(invalid_argument) if the
  /// session has fewer tokens.
  ///
  /// If the next token will be written to a block that other sessions use as well, copies the
  /// tokens of this block that remain, at most 255. Otherwise allocates nothing. If it throws
  /// std::bad_alloc, nothing has changed.
  ///
  /// Sets history().written to 0, and dropped() too if `position` is 0.
  void rewind(std::size_t position);

  /// Makes room for `room` more tokens, if there is not enough: drops the oldest tokens after the
  /// first `keep` ones. Drops at least half of the tokens after the first `keep` ones, so that
  /// slides are rare even if a text grows one token at a time. The remaining tokens after the first
  /// `keep` ones wait until the next pass, which recomputes them, because positions are absolute
  /// in GPT-2. The session then behaves exactly like a new one with the tokens that were kept.
  /// Returns the number of dropped tokens: 0 if there was enough room.
  ///
  /// End-of-text tokens are treated like all others. So the first `keep` tokens may be followed by
  /// the middle of another text, and an end-of-text token may be dropped although tokens of the
  /// text before it are kept.
  ///
  /// Throws Error(invalid_argument) if there is not enough room and keep + room is more than
  /// capacity(), and std::bad_alloc. Then changes nothing.
  ///
  /// Example:
  ///   Session session(model, {.max_tokens = 64});
  ///   session.slide(16, 8);  // whatever it holds, there is room for 8 more tokens now
  std::size_t slide(std::size_t keep, std::size_t room);

  /// Returns how many tokens slide() would drop. Throws the same Error.
  [[nodiscard]] std::size_t slide_size(std::size_t keep, std::size_t room) const;

  /// Returns a second session in the same state, on the same engine. Computes nothing. The two
  /// share the full blocks of 256 tokens. Copies the keys and values of the other tokens, at most
  /// 255. Throws std::bad_alloc.
  [[nodiscard]] Session fork() const;

  /// Makes this session equal to `other`, including the tokens that wait. Computes nothing. Beam
  /// search uses this function to reorder its sequences: at every step, it assigns sessions that
  /// continue the same text to one another.
  ///
  /// The two sessions share the full blocks of 256 tokens. Of the at most 255 tokens after these
  /// blocks, the function copies those from the first one that differs (73 KB of f32 for each token
  /// of GPT-2 124M), or whose values an observer may have changed, or all of them if this session
  /// shares the block that contains them. Allocates only if this session will write to a block that
  /// it shares with a third session; this is possible only if `other` has fewer full blocks than
  /// this session.
  ///
  /// REQUIRES: both sessions are of the same model and have keys and values of the same type, but
  /// their engines may differ; this session has room for the tokens of `other`; no other thread
  /// uses either of them meanwhile. Throws Error(invalid_argument) if the models or types differ,
  /// if there is no room, or if either session was moved from; and std::bad_alloc. If it throws,
  /// nothing has changed.
  void assign(const Session& other);

  /// The same, but only for the first `position` tokens of `other`, which become the beginning of a
  /// new text: dropped() is 0 afterwards. Throws as above, and also Error(invalid_argument) if
  /// `other` has fewer tokens.
  void assign(const Session& other, std::size_t position);

  /// Returns the number of bytes that a session of a model with this config takes once it holds
  /// `max_tokens` tokens, with keys and values of this type, if it shares no block with another
  /// session. Use it to plan how many sessions fit in memory. REQUIRES: type is not `automatic`
  /// (see Engine::kv_type).
  [[nodiscard]] static std::size_t memory_bytes(const Config& config, KVType type,
                                                std::size_t max_tokens) noexcept;

  /// The tokens so far, including those that wait. The span is valid until the next call that
  /// changes the session.
  [[nodiscard]] std::span<const TokenId> tokens() const;

  [[nodiscard]] std::size_t position() const;  ///< tokens so far
  [[nodiscard]] std::size_t waiting() const;   ///< the number of the last tokens that have not been
                                               ///< computed
  [[nodiscard]] std::size_t capacity() const;  ///< tokens there is room for

  /// history().dropped: the number of tokens of the text that slides have dropped. The position for
  /// which noise is generated includes them, so that noise never repeats within a text (see
  /// SequenceLimits::dropped).
  [[nodiscard]] std::size_t dropped() const;

  /// The options that count new tokens, such as min_new_tokens, count history().written tokens of
  /// the session as new if a text continues without a prompt. append() and rewind() set it to 0,
  /// because the tokens may have changed; a program that restores a state sets it again.
  [[nodiscard]] const TextHistory& history() const;
  void set_history(const TextHistory& history);

  [[nodiscard]] const Model& model() const;
  [[nodiscard]] const Engine& engine() const;

  struct Impl;
  [[nodiscard]] Impl* impl() const noexcept { return impl_.get(); }  ///< nullptr after a move

 private:
  [[nodiscard]] Impl& state() const;

  std::unique_ptr<Impl> impl_;
};

/// Runs Engine::forward on the engine of the first slice's session. Does nothing if there are no
/// slices.
void forward(std::span<const Slice> slices);

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

/// Returns whether a file begins like one that save_session() has written, for example to replace
/// no other file by a state. load_session() checks the rest. Throws Error: not_found if there is no
/// such file, invalid_file if it cannot be read or is not a regular file. Any thread may call it.
/// Cost: maps the file and reads its first 8 bytes.
///
/// Example:
///   if (is_session_file("prompt.state")) std::puts("it may be replaced by another state");
[[nodiscard]] bool is_session_file(const std::filesystem::path& file);

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

}  // namespace gnu::visibility("default")]]gpt2
