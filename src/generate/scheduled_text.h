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

/// A text of a Scheduler, from its submission to its end. Its session and its generation are made
/// when it begins.
struct ScheduledText {
  ScheduledText(std::span<const TokenId> ids, const GenerationOptions& given)
      : prompt(ids.begin(), ids.end()), options(given) {}

  std::vector<TokenId> prompt;
  GenerationOptions options;
  std::optional<TextSink> text;  ///< if there is a tokenizer; `sink` then writes to it
  std::function<bool(TokenId)> sink;
  std::promise<GenerationResult> promise;
  std::optional<Session> session;
  std::optional<Generation> generation;

  /// The number of tokens that its session needs room for.
  [[nodiscard]] std::size_t capacity(const Config& config) const;

  /// The bytes of its keys and values, and of those of its draft, once its session is full.
  [[nodiscard]] std::size_t bytes(const Engine& engine) const;

  /// The first tokens of the prompt that another session has computed. The last token of the prompt
  /// is not among them, because the text begins with its logits.
  [[nodiscard]] std::size_t known_by(const Session& other) const;

  /// Begins the text. Its session takes over the first `known` tokens of `other`, if there is one.
  /// Throws what is wrong with the text.
  void begin(const Engine& engine, const Session* other, std::size_t known);

  /// Sets the promise to the result, or to the exception if the sink throws.
  void complete();

  /// Sets the promise to the exception that is being handled.
  void fail() { promise.set_exception(std::current_exception()); }
};

}  // namespace gpt2
