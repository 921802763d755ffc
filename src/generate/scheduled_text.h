#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "generate/generation.h"
#include "generate/text_sink.h"

namespace gpt2 {

/// A text of a Scheduler, from its submission to its end. begin() makes its session and its
/// generation.
struct ScheduledText {
  ScheduledText(std::span<const TokenId> ids, const GenerationOptions& given)
      : prompt(ids.begin(), ids.end()), options(given) {}

  std::vector<TokenId> prompt;
  GenerationOptions options;
  std::optional<TextSink> text;  ///< set if there is a tokenizer; `sink` then writes to it
  std::function<bool(TokenId)> sink;
  std::promise<GenerationResult> promise;
  std::optional<Session> session;
  std::optional<Generation> generation;

  /// Returns the number of tokens for which its session needs room.
  [[nodiscard]] std::size_t capacity(const Config& config) const;

  /// Returns the number of bytes of its keys and values, and of those of its draft, when its
  /// session is full.
  [[nodiscard]] std::size_t bytes(const Engine& engine) const;

  /// Returns how many tokens at the beginning of the prompt `other` has computed. Does not count
  /// the last token of the prompt, because it must be computed for its logits, from which the first
  /// token is drawn.
  [[nodiscard]] std::size_t known_by(const Session& other) const;

  /// Begins the text. Its session takes over the first `known` tokens of `other`, unless `known` is
  /// 0. Throws the error if the arguments of the text are invalid.
  void begin(const Engine& engine, const Session* other, std::size_t known);

  /// Fulfils the promise with the result, or with the exception if the sink throws.
  void complete();

  /// Fulfils the promise with the exception that is being handled.
  void fail() { promise.set_exception(std::current_exception()); }
};

}  // namespace gpt2
