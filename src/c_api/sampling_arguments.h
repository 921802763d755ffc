#pragma once

#include <functional>

#include "c_api/handles.h"
#include "gpt2/generate.h"

// Converts the options of the C interface to those of the C++ interface.

namespace gpt2::c_api {

SamplingOptions sampling_of(const gpt2_sampling_options* options);
SequenceLimits limits_of(const gpt2_sequence_limits* limits);

/// Checks whether a gpt2_cancel is set. It still works after the gpt2_cancel has been freed.
class CancelFlag {
 public:
  /// `cancel` may be nullptr.
  explicit CancelFlag(const gpt2_cancel* cancel);
  [[nodiscard]] bool is_set() const noexcept { return flag_ && flag_->load(); }

 private:
  std::shared_ptr<const std::atomic<bool>> flag_;
};

/// Returns a progress callback that throws Cancelled if on_progress returns 0 or `cancel` is set.
std::function<void(double)> progress_of(gpt2_on_progress on_progress, void* user,
                                        const gpt2_cancel* cancel);

/// Returns a callback for the pieces of a prompt that stops the work if on_prompt returns 0 or
/// `cancel` is set.
std::function<bool(std::size_t, std::size_t)> prompt_callback_of(gpt2_on_prompt on_prompt,
                                                                 void* user,
                                                                 const CancelFlag& cancel);

/// The arguments of a generation, except its prompt.
struct GenerationArguments {
  /// Throws Error(invalid_argument) for options that cannot be used with a tokenizer, or that need
  /// one if there is none.
  GenerationArguments(const gpt2_tokenizer* tokenizer, const gpt2_generate_options* options);

  GenerationOptions options;
  std::shared_ptr<std::string> text = std::make_shared<std::string>();  ///< filled by the target
  TextTarget target;
};

}  // namespace gpt2::c_api
