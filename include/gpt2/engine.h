#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gpt2/kv_type.h"
#include "gpt2/model.h"

namespace [[gnu::visibility("default")]] gpt2 {

class Session;

/// How to make an engine.
struct EngineOptions {
  /// The number of threads that a forward pass uses, the caller's included, up to kMaxThreads. With
  /// 0 it is thread_count() (runtime.h) at most, and less for small models, for which fewer threads
  /// are faster.
  int threads = 0;

  /// How the sessions of this engine hold keys and values. It changes the results a little (see
  /// KVType).
  KVType kv_type = KVType::automatic;

  static constexpr int kMaxThreads = 1024;
};

/// One sequence's part in a forward pass. It refers to memory of the caller's, which must live
/// until the pass is over.
struct Slice {
  Session* session;                 ///< whose tokens these are
  std::span<const TokenId> tokens;  ///< appended to the session; n of them
  std::span<float> logits;  ///< (k, vocab_size), k <= n: receives the logits of the last k tokens
};

/// What forward passes on a model need besides its weights: a team of threads and the memory for
/// activations; and how sessions hold keys and values. One engine for each model is enough;
/// sessions share it. No result depends on how many threads it has, nor on which sessions share a
/// pass, bit for bit.
///
/// An Engine is a handle: copies stand for the same engine, which ends with the last of them and of
/// the sessions that use it. Any number of threads may call forward: their passes follow one
/// another. In a child process of fork() an engine starts its threads anew and works as before.
///
/// Cost: threads - 1 sleeping threads, and about 512 rows of activations (20 MB for GPT-2 124M) of
/// which only what passes use takes memory.
///
/// Example:
///   Engine engine(model, {.threads = 4});
///   Session a(engine), b(engine);
///   const std::vector<TokenId> prompt_a = {1, 2, 3}, prompt_b = {4};
///   std::vector<float> logits(2 * model.config().vocab_size);  // of the last token of each
///   const std::span<float> all(logits);
///   const Slice slices[] = {{&a, prompt_a, all.first(all.size() / 2)},
///                           {&b, prompt_b, all.last(all.size() / 2)}};
///   engine.forward(slices);
class Engine {
 public:
  /// Throws Error(invalid_argument) for a number of threads that is negative or above kMaxThreads,
  /// and Error(unsupported) for an unusable GPT2_ISA. Where the system lets fewer threads start,
  /// they do the work.
  explicit Engine(const Model& model, const EngineOptions& options = {});

  /// The engine of those sessions of `model` that are made without one, with default options. It is
  /// made when the first of them needs it and ends with the last.
  [[nodiscard]] static Engine shared(const Model& model);

  /// One forward pass over all slices: appends their tokens, which share every read of the weights,
  /// and writes the logits that are asked for. Allocates nothing.
  ///
  /// REQUIRES: each session is of this engine's model, appears once, has room for its tokens, and
  /// is used by no other thread meanwhile; the tokens are of the vocabulary; each slice has a
  /// token, or its session has tokens that wait (Session::append); `logits` has a multiple of
  /// vocab_size floats, at most one row for each token. Otherwise throws Error(invalid_argument)
  /// and changes nothing.
  void forward(std::span<const Slice> slices);

  /// The bytes that an engine with so many threads takes for a model with this config, once passes
  /// of the largest size have run. The weights and the sessions come on top.
  [[nodiscard]] static std::size_t memory_bytes(const Config& config, int threads) noexcept;

  [[nodiscard]] const Model& model() const noexcept;

  /// The most threads that a pass uses.
  [[nodiscard]] int threads() const noexcept;

  /// How the sessions of this engine hold keys and values: f32 or f16, never `automatic`.
  [[nodiscard]] KVType kv_type() const noexcept;

  struct Impl;
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;
};

}  // namespace gpt2
