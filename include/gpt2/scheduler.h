#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string_view>

#include "gpt2/generate.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How much a scheduler does at once.
struct SchedulerOptions {
  /// The most bytes that keys and values take (Session::memory_bytes), those of drafts with sizes
  /// of their own included (but not of a pending_draft). 0: half of the memory that is free when
  /// the scheduler is made, as far as the process may use it. A text that would exceed the bound
  /// waits until others have ended.
  std::size_t max_memory = 0;

  /// The most texts that are written at once. Each takes a row of every pass.
  std::size_t max_sequences = 32;
};

/// Writes many texts at once. Texts come and go at any time and share forward passes, which read
/// the weights once for all of them. Prompts are read in pieces beside the texts that are being
/// written. What a prompt has in common with another one, or with a text written before, is not
/// computed again.
///
/// Each text, its logits and its result are, bit for bit, what generate() gives in a session of its
/// own, whatever else the scheduler does. Only the times differ.
///
/// Texts with drafts draft together, in passes that read no prompt: a draft model drafts one token
/// of each of its texts in a pass. How many tokens they draft follows from the times of passes over
/// that many texts, because a pass over several texts already reads the weights for all of them.
/// The more texts there are, the less drafts gain.
///
/// Texts begin in the order in which they were submitted.
///
/// Thread safety: any thread may call submit at any time. step and run are for one thread at a
/// time, which calls the sinks. A sink may submit further texts. It must not destroy the scheduler,
/// and if it calls step or run, these throw Error(invalid_argument).
///
/// Cost: the memory of the keys and values, within max_memory; for each text that is being written
/// also about 30 bytes for each token of the vocabulary, and 4 more for each token that it drafts.
///
/// Example:
///   Scheduler scheduler{Engine(model)};
///   std::vector<std::future<GenerationResult>> results;
///   for (const char* const prompt : {"Once upon a time", "The cat", "One day"}) {
///     results.push_back(
///         scheduler.submit(tokenizer, tokenizer.encode(prompt), {.max_new_tokens = 50}, nullptr));
///   }
///   scheduler.run();
///   for (auto& result : results) std::cout << tokenizer.decode(result.get().tokens) << '\n';
class Scheduler {
 public:
  /// Throws Error(invalid_argument) if max_sequences is 0.
  explicit Scheduler(const Engine& engine, const SchedulerOptions& options = {});

  /// Texts that have not ended are given up: their futures throw std::future_error.
  ~Scheduler();

  /// The scheduler moved from can only be destroyed or assigned to.
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  /// Adds a text to be written, with arguments as for generate(); `prompt` and `options` are
  /// copied. Throws Error(invalid_argument) for a tokenizer that does not belong to the model. The
  /// future has the result, or what generate() would have thrown, and also Error(invalid_argument)
  /// if the text needs more than max_memory by itself. To cancel, return false from the sink or
  /// from on_prompt.
  std::future<GenerationResult> submit(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                       const GenerationOptions& options,
                                       std::function<bool(std::string_view)> sink);

  /// The same without a tokenizer: `sink` receives each new token. options.stop must be empty; with
  /// stop strings, throws Error(invalid_argument).
  std::future<GenerationResult> submit(std::span<const TokenId> prompt,
                                       const GenerationOptions& options,
                                       std::function<bool(TokenId)> sink);

  /// Runs one forward pass over the texts that are being written. Returns whether there is more to
  /// do. Does not throw what belongs to a text, which its future throws.
  bool step();

  /// Runs passes until all texts have ended.
  void run() {
    while (step()) {
    }
  }

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2
