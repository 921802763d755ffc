#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gpt2/model.h"

namespace gpt2 {

struct SessionOptions {
  std::size_t max_tokens = 0;  ///< room in the KV cache; 0: the model's n_positions
  /// 0: thread_count() of runtime.h at most; fewer where that is faster, as it is for small models
  /// and where other programs keep the cores busy.
  int threads = 0;
};

/// One sequence on a model: its KV cache and how far it has come. Belongs to one thread at a time.
///
/// All memory is allocated by the constructor; forward passes allocate, lock and throw nothing
/// beyond the checks of their arguments. The logits after a token depend, bit for bit, on the
/// tokens up to it and on nothing else: not on how calls divided them, on threads or on company.
class Session {
 public:
  /// Throws Error(invalid_argument) where max_tokens is more than the model has positions.
  explicit Session(const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Appends the tokens and returns the logits (vocab_size) after the last one; the span lives
  /// until the next call. Throws Error(invalid_argument), and changes nothing, for no tokens, an id
  /// outside the vocabulary, or more tokens than there is room for.
  std::span<const float> forward(std::span<const TokenId> tokens);

  /// Forgets everything after the first `position` tokens. Throws Error(invalid_argument) for a
  /// position that has not been reached.
  void rewind(std::size_t position);

  /// A second session in the same state.
  [[nodiscard]] Session fork() const;

  [[nodiscard]] std::size_t position() const noexcept;  ///< tokens so far
  [[nodiscard]] std::size_t capacity() const noexcept;  ///< tokens there is room for
  [[nodiscard]] const Model& model() const noexcept;

  struct Impl;
  [[nodiscard]] Impl& impl() noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// One sequence's part in a forward pass of several.
struct Slice {
  Session* session;
  std::span<const TokenId> tokens;  ///< appended to the session
  std::span<float> logits;          ///< (k, vocab_size): receives the logits of the last k tokens
};

/// One forward pass over all slices; their tokens share every read of the weights. Sessions must be
/// of one model and appear once. Throws Error(invalid_argument), and changes nothing, as
/// Session::forward does, or where a logits span has the wrong size.
void forward(std::span<const Slice> slices);

}  // namespace gpt2
