#pragma once

#include <cstddef>
#include <future>
#include <thread>

#include "gpt2/generate.h"
#include "gpt2/model.h"

namespace gpt2::cli {

/// Returns the size of an int4 copy of the model in bytes: 4 bits for each weight, and 16 for each
/// block of 32 weights.
[[nodiscard]] std::size_t draft_bytes(const Model& model) noexcept;

/// Returns whether --draft auto makes an int4 draft for this text. It does if reading the weights
/// takes most of the time, which is the case if the caches hold only a small part of them; if the
/// text is long enough to save more time than quantizing takes; and if there is enough memory for
/// the draft.
[[nodiscard]] bool gains_from_draft(const Model& model, const GenerationOptions& options);

/// Makes an int4 copy of a model on a separate thread, so that the text need not wait for it.
class BackgroundDraft {
 public:
  explicit BackgroundDraft(const Model& model) : model_(model) {}

  /// Waits for the thread if it was started.
  ~BackgroundDraft();
  BackgroundDraft(const BackgroundDraft&) = delete;
  BackgroundDraft& operator=(const BackgroundDraft&) = delete;

  /// For GenerationOptions::pending_draft.
  [[nodiscard]] std::shared_future<Model> future() { return promise_.get_future(); }

  /// Starts the thread. Later calls do nothing.
  void start();

 private:
  Model model_;
  std::promise<Model> promise_;
  std::thread thread_;
};

}  // namespace gpt2::cli
