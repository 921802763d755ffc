#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gpt2/engine.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How to make a session.
struct SessionOptions {
  /// The number of tokens that the session has room for; 0: the model's n_positions, which is also
  /// the most.
  std::size_t max_tokens = 0;
};

/// One sequence on a model: its tokens, with their keys and values. Belongs to one thread at a
/// time.
///
/// The logits after a token depend, bit for bit, on the tokens up to it and on nothing else: not on
/// how calls divided them, on the engine's threads or on other sessions in the same pass.
///
/// The keys and values lie in blocks of 256 tokens. Sessions that were made equal by fork() or
/// assign() share the full blocks of their common tokens. A session never writes to a block that
/// another one reads, and blocks are freed with the last session that uses them. So sharing shows
/// in memory and time only: each of these sessions behaves like one that has computed all its
/// tokens itself, and different threads may use them at the same time.
///
/// Cost: two numbers of the engine's kv_type() for each token, layer and channel (for 1,024 tokens
/// of GPT-2 124M, 75.5 MB as f32 and 37.7 MB as f16), of which only what tokens have reached takes
/// memory. Shared blocks take memory once.
///
/// Example:
///   Session session(model);
///   std::span<const float> logits = session.forward(tokenizer.encode("Once upon a time"));
///   Session other = session.fork();  // the same prompt, computed once
///   logits = other.forward(tokenizer.encode(" there was"));
///   session.assign(other);  // both go on from " there was"
class Session {
 public:
  /// On Engine::shared(model). Throws Error(invalid_argument) if max_tokens is more than the model
  /// has positions, and std::bad_alloc.
  explicit Session(const Model& model, const SessionOptions& options = {});

  /// On an engine of the caller's. Throws as above.
  explicit Session(const Engine& engine, const SessionOptions& options = {});

  ~Session();

  /// The session moved from can only be destroyed or get another session by operator=.
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Appends the tokens and returns the logits (vocab_size) after the last one. The span lives
  /// until the next call. Allocates nothing. Throws as Engine::forward does, and then changes
  /// nothing.
  std::span<const float> forward(std::span<const TokenId> tokens);

  /// Appends tokens without computing anything yet: the next forward pass reads them together with
  /// its own, which may then be none. They count in position(). Throws Error(invalid_argument), and
  /// changes nothing, for an id outside the vocabulary or more tokens than there is room for.
  void append(std::span<const TokenId> tokens);

  /// Forgets everything after the first `position` tokens. Throws Error(invalid_argument) for a
  /// position that has not been reached.
  ///
  /// If the next token belongs to a block that other sessions use too, copies what remains of that
  /// block, at most 255 tokens. Otherwise allocates nothing. Throws std::bad_alloc and then changes
  /// nothing.
  ///
  /// Rewinding to position 0 also forgets what slides have dropped.
  void rewind(std::size_t position);

  /// Makes room for `room` more tokens, if there is not enough: drops the oldest tokens after the
  /// first `keep` ones. At least half of the tokens after those are dropped, so that a text that
  /// grows token by token slides seldom. The others wait, to be computed anew by the next pass,
  /// because positions are absolute in GPT-2. So the session goes on exactly as a new one with the
  /// tokens kept. Returns how many tokens were dropped; 0 if there is room already.
  ///
  /// No token is special: the first `keep` ones are followed by the middle of a text, and an
  /// end-of-text token may be dropped while tokens of the text before it are kept.
  ///
  /// Throws Error(invalid_argument) if there is not enough room and keep + room is more than
  /// capacity(), and std::bad_alloc. Then changes nothing.
  ///
  /// Example:
  ///   Session session(model, {.max_tokens = 64});
  ///   session.slide(16, 8);  // whatever it holds, there is room for 8 more tokens now
  std::size_t slide(std::size_t keep, std::size_t room);

  /// Returns a second session in the same state, on the same engine. Computes nothing. The two
  /// share the full blocks of 256 tokens. Copies the keys and values of the other tokens, at most
  /// 255. Throws std::bad_alloc.
  [[nodiscard]] Session fork() const;

  /// Brings this session to the tokens of `other`, those that wait included. Computes nothing. This
  /// is how the sequences of a beam search are reordered: several sessions that continue the same
  /// text are assigned to one another at every step.
  ///
  /// Shares the full blocks of 256 tokens. Of the tokens after them, at most 255, copies those from
  /// the first one that differs (73 KB of f32 for each token of GPT-2 124M), or all of them if this
  /// session shares the block that they belong to. Allocates nothing unless this session shares a
  /// block that it has to write to from now on, which cannot happen unless `other` has fewer full
  /// blocks.
  ///
  /// REQUIRES: both sessions are of the same model and have keys and values of the same type, but
  /// their engines may differ; this session has room for the tokens of `other`; no other thread
  /// uses either of them meanwhile. Throws Error(invalid_argument) if the models or types differ,
  /// if there is no room or if either session was moved from, and std::bad_alloc. Then changes
  /// nothing.
  void assign(const Session& other);

  /// The same for the first `position` tokens of `other` alone, as the beginning of a new text:
  /// what slides have dropped before them is forgotten. Throws as above, and also if `other` has
  /// fewer tokens.
  void assign(const Session& other, std::size_t position);

  /// The bytes that a session of a model with this config takes once it holds `max_tokens` tokens,
  /// with keys and values of this type, if it shares no block with another session. For planning:
  /// how many sessions fit in memory. REQUIRES: type is not `automatic` (see Engine::kv_type).
  [[nodiscard]] static std::size_t memory_bytes(const Config& config, KVType type,
                                                std::size_t max_tokens) noexcept;

  /// The tokens so far, those that wait included. The span lives until the next call that changes
  /// the session.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept;

  [[nodiscard]] std::size_t position() const noexcept;  ///< tokens so far
  [[nodiscard]] std::size_t waiting() const noexcept;   ///< the last of these, not computed yet
  [[nodiscard]] std::size_t capacity() const noexcept;  ///< tokens there is room for

  /// The tokens of the text that slides have dropped. The noise that tokens are drawn with counts
  /// them, so that it never repeats within a text (see SequenceLimits::dropped).
  [[nodiscard]] std::size_t dropped() const noexcept;

  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] const Engine& engine() const noexcept;

  struct Impl;
  [[nodiscard]] Impl* impl() const noexcept { return impl_.get(); }  ///< nullptr after a move

 private:
  std::unique_ptr<Impl> impl_;
};

/// Engine::forward of the first slice's engine. Does nothing for no slices.
void forward(std::span<const Slice> slices);

}  // namespace gpt2
