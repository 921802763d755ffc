#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "generate/decoder.h"
#include "generate/prompt_reader.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// One text that is being written: first its prompt is read, then its tokens are drawn. The caller
/// runs the forward passes, and many generations may share a pass:
///
///   while (!generation.finished()) {
///     if (const auto slice = generation.next(max_rows)) {
///       forward({*slice});
///       generation.take();
///     }
///   }
class Generation {
 public:
  /// Options, sink and session must outlive the generation. The session already has the first
  /// `known` tokens of the prompt; `known` is less than the length of the prompt, unless both are
  /// 0. Throws as generate() does for invalid arguments.
  Generation(Session& session, std::span<const TokenId> prompt, const GenerationOptions& options,
             std::function<bool(TokenId)> sink, std::size_t known = 0);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Returns the slice to compute in the next pass: up to `max_rows` tokens of the prompt, or one
  /// row and the tokens that the decoder has drafted. Returns nothing if on_prompt has cancelled
  /// the generation, which is then finished. Throws whatever on_prompt throws.
  [[nodiscard]] std::optional<Slice> next(std::size_t max_rows);

  /// Draws the next token, if there is one to draw, after the pass and before take(), perhaps on
  /// another thread. If many texts share a pass, this saves time because their tokens can be drawn
  /// in parallel.
  void draw_ahead() noexcept {
    if (!reads_prompt_ || prompt_->finished()) decoder_.draw_ahead();
  }

  /// Continues the text with the results of the pass. Throws whatever the sink, on_prompt and the
  /// processors throw.
  void take();

  [[nodiscard]] bool reads_prompt() const noexcept { return reads_prompt_; }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] Decoder& decoder() noexcept { return decoder_; }
  [[nodiscard]] GenerationResult& result() noexcept { return result_; }

 private:
  bool begin_text();
  void slide();
  void finish(FinishReason reason);

  Session& session_;
  const GenerationOptions& options_;
  const std::function<bool(TokenId)> sink_;
  GenerationResult result_;
  SequenceLimits limits_;
  Sampler sampler_;
  std::optional<PromptReader> prompt_;  // the latest one; after a slide, it reads the tokens that
                                        // were kept
  Decoder decoder_;
  bool reads_prompt_ = true;
  bool finished_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gpt2
