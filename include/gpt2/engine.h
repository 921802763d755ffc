#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

class Session;

/// How to make an engine.
struct EngineOptions {
  /// The number of threads that a forward pass uses, including the calling thread, up to
  /// kMaxThreads. 0: thread_count() (runtime.h), which OMP_NUM_THREADS sets, or fewer for small
  /// models, which run faster on fewer threads. OMP_THREAD_LIMIT applies in both cases.
  int threads = 0;

  /// How the sessions of this engine hold keys and values. It changes the results a little (see
  /// KVType).
  KVType kv_type = KVType::automatic;

  static constexpr int kMaxThreads = 1024;
};

/// One sequence's part in a forward pass. It refers to memory that the caller owns and that must
/// live until the pass is over.
struct Slice {
  Session* session;                 ///< the session that the tokens belong to
  std::span<const TokenId> tokens;  ///< appended to the session; n of them
  std::span<float> logits;  ///< (k, vocab_size), k <= n: receives the logits of the last k tokens
};

/// The order in which passes of a single token, or of several, read the matrices of one shape (k
/// input features, n output features). Memory limits the speed of such passes, and which order is
/// the fastest depends on the CPU, so an engine tries several during its first passes, and again
/// now and then. With the environment variable GPT2_TUNE=off, it always uses the same one. No
/// result depends on it.
struct WalkChoice {
  WeightType type = WeightType::f32;
  std::size_t k = 0, n = 0;
  bool is_single_row = true;  ///< true: of passes of one token; false: of several
  std::string walk;           ///< in words: "8 rows, prefetched"
  double gain = 1.0;          ///< how many times as fast it was as the one that GPT2_TUNE=off uses
};

/// Returns whether a new engine looks for the fastest order: false with GPT2_TUNE=off, and with the
/// instruction set "scalar", which has only one. Throws Error(invalid_argument) if that variable is
/// neither on nor off. Cost: reads the variable.
///
/// Example:
///   std::puts(measures_walks() ? "Engine::walks() will list them" : "there is one for all");
[[nodiscard]] bool measures_walks();

/// Runs forward passes on a model. An engine has a team of threads and the memory for activations,
/// and determines the type in which its sessions hold keys and values. One engine for each model is
/// enough, because sessions share it. Every result has the same bits for any number of threads and
/// whichever sessions share a pass.
///
/// An Engine is a handle: copies refer to the same engine, which is destroyed with the last copy
/// and the last session that uses it. Any number of threads may call forward; the engine runs their
/// passes one after another. In a child process of fork(), an engine starts new threads and
/// works as before. A handle that has been moved from can only be destroyed or assigned to.
///
/// Cost: threads - 1 sleeping threads (one more if OpenMP binds them), and address space for about
/// 512 rows of activations (20 MB for GPT-2 124M), of which only the rows that passes have used
/// take memory. Making an engine does not wait for its threads. Destroying it does: with more than
/// two threads this may take some milliseconds, because OpenMP's threads poll while they wait for
/// each other, unless OMP_WAIT_POLICY is passive.
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
  /// Error(unsupported) for an unusable GPT2_ISA, and Error(invalid_argument) for a GPT2_TUNE
  /// that is neither on nor off. If the system cannot start twice as many threads, the engine works
  /// with half of those that it can start.
  explicit Engine(const Model& model, const EngineOptions& options = {});

  /// Returns the engine that all sessions of `model` share if they are made without an engine. It
  /// has the default options. It is made when it is first needed, and destroyed with the last
  /// handle or session that uses it.
  [[nodiscard]] static Engine shared(const Model& model);

  /// Runs one forward pass over all slices: appends their tokens to the sessions and writes the
  /// requested logits. The weights are read once for all slices. Allocates nothing.
  ///
  /// REQUIRES: each session uses this engine's model, appears once, has room for its tokens, and is
  /// used by no other thread meanwhile; the tokens are in the vocabulary; each slice has a token,
  /// or its session has waiting tokens (Session::append); `logits` has a multiple of vocab_size
  /// floats, at most one row for each token. Otherwise throws Error(invalid_argument) and changes
  /// nothing.
  void forward(std::span<const Slice> slices);

  /// Returns the number of bytes that an engine with this many threads takes for a model with this
  /// config, once passes of the largest size have run. The weights and the sessions are not
  /// included.
  [[nodiscard]] static std::size_t memory_bytes(const Config& config, int threads) noexcept;

  [[nodiscard]] const Model& model() const noexcept;

  /// Calls f(i, rank) for every i below `count` on the threads of the latest pass; rank is less
  /// than threads(). Use it to work on the results of a pass. f must not throw.
  void for_each(std::size_t count, const std::function<void(std::size_t i, int rank)>& f) const;

  /// The most threads that a pass uses.
  [[nodiscard]] int threads() const noexcept;

  /// How the sessions of this engine hold keys and values: f32 or f16, never `automatic`.
  [[nodiscard]] KVType kv_type() const noexcept;

  /// Returns how passes of a single token, and of several, read the matrices of the model and of
  /// the quantized copies that draft for it, as far as such passes have run: an entry for each
  /// shape of 256 KiB or more. Float matrices have entries of several tokens for passes of 2, and
  /// others for passes of 65 to 128. Empty with GPT2_TUNE=off, and with the instruction set
  /// "scalar".
  ///
  /// Waits for a running pass to end. Throws std::bad_alloc and, in a callback of a pass of this
  /// engine, Error(invalid_argument).
  [[nodiscard]] std::vector<WalkChoice> walks() const;

  struct Impl;
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;
};

}  // namespace gnu::visibility("default")]]gpt2
