#pragma once

#include <functional>

#include "c_api/handles.h"
#include "gpt2/generate.h"

// The options of C programs as those of the C++ interface.

namespace gpt2::c_api {

SamplingOptions sampling_of(const gpt2_sampling_options* options);
SequenceLimits limits_of(const gpt2_sequence_limits* limits);

/// Tells whether a gpt2_cancel is set. A copy works after the gpt2_cancel has been freed.
class CancelFlag {
 public:
  /// `cancel` may be nullptr.
  explicit CancelFlag(const gpt2_cancel* cancel);
  [[nodiscard]] bool is_set() const noexcept { return flag_ && flag_->load(); }

 private:
  std::shared_ptr<const std::atomic<bool>> flag_;
};

/// A progress callback that throws Cancelled if the C program's returns 0 or the flag is set.
std::function<void(double)> progress_of(gpt2_on_progress on_progress, void* user,
                                        const gpt2_cancel* cancel);

/// A callback for the pieces of a prompt, which stops the work if the C program's returns 0 or the
/// flag is set.
std::function<bool(std::size_t, std::size_t)> prompt_callback_of(gpt2_on_prompt on_prompt,
                                                                 void* user,
                                                                 const CancelFlag& cancel);

/// What a generation is to be, but for its prompt.
struct GenerationArguments {
  /// Throws Error(invalid_argument) for options that do not go with the tokenizer, or without one.
  GenerationArguments(const gpt2_tokenizer* tokenizer, const gpt2_generate_options* options);

  const Tokenizer* tokenizer;  ///< or nullptr
  GenerationOptions options;
  std::shared_ptr<std::string> text = std::make_shared<std::string>();  ///< filled by on_text
  std::function<bool(std::string_view)> on_text;
  std::function<bool(TokenId)> on_token;
};

}  // namespace gpt2::c_api
