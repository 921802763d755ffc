#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string_view>

#include "gpt2/generate.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// The limits of a scheduler.
struct SchedulerOptions {
  /// The max number of bytes that keys and values take (Session::memory_bytes), including those of
  /// drafts of other sizes (but not of a pending_draft). 0: half of the memory that the process can
  /// use when the scheduler is made (available_memory). A text that would exceed the limit waits
  /// until others have ended.
  std::size_t max_memory = 0;

  /// The max number of texts that are written at once. Each adds a row to every pass.
  std::size_t max_sequences = 32;
};

/// What a scheduler has at the moment.
struct SchedulerStats {
  std::size_t waiting = 0;        ///< texts that have not begun
  std::size_t running = 0;        ///< texts that are being written
  std::size_t memory = 0;         ///< bytes of keys and values for which running texts have room
  std::size_t reused_tokens = 0;  ///< tokens of prompts, of all texts so far, that had not to be
                                  ///< computed because another text begins with them
};

/// Writes many texts at once. Texts can be added at any time. They share forward passes, which read
/// the weights once for all of them. Prompts are read in pieces, in the same passes in which other
/// texts are written. If a prompt begins with the same tokens as another prompt or a text written
/// earlier, these tokens are not computed again.
///
/// Each text, its logits and its result are bit for bit those of generate() in a separate session,
/// whatever else the scheduler does. Only the times and the counts of drafts differ.
///
/// Texts with drafts are drafted together, in passes that read no prompt: the draft model drafts
/// one token of each of its texts in a pass. The number of drafted tokens is chosen from the times
/// of passes over that many texts. The more texts there are, the less drafts gain, because a pass
/// over several texts already reads the weights only once for all of them.
///
/// Texts begin in the order in which they were submitted.
///
/// Thread safety: any thread may call submit at any time. Only one thread at a time may call step
/// or run; this thread calls the sinks. A sink may submit further texts. It must not destroy the
/// scheduler. If it calls step or run, they throw Error(invalid_argument).
///
/// Cost: memory for keys and values, up to max_memory, and, for each text that is being written,
/// about 30 bytes for each token of the vocabulary, and 4 more for each token that it drafts.
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

  /// Abandons the texts that have not ended: their futures throw std::future_error.
  ~Scheduler();

  /// A scheduler that has been moved from can only be destroyed or assigned to.
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  /// Adds a text to be written, with arguments as for generate(); `prompt` and `options` are
  /// copied. Throws Error(invalid_argument) for a tokenizer that does not belong to the model, for
  /// an empty stop string, and for stop strings without a tokenizer. The future holds the result or
  /// the exception that generate() would have thrown; it holds Error(invalid_argument) if the text
  /// alone needs more than max_memory. To cancel, return false from the sink or from on_prompt;
  /// while the text waits, from TextTarget::is_wanted.
  std::future<GenerationResult> submit(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                       const GenerationOptions& options,
                                       std::function<bool(std::string_view)> sink);

  /// The same without a tokenizer: `sink` receives each new token.
  std::future<GenerationResult> submit(std::span<const TokenId> prompt,
                                       const GenerationOptions& options,
                                       std::function<bool(TokenId)> sink);

  /// The same with or without a tokenizer.
  std::future<GenerationResult> submit(std::span<const TokenId> prompt,
                                       const GenerationOptions& options, TextTarget target);

  /// Runs one forward pass over the texts that are being written. Returns whether there is more to
  /// do. Does not throw the errors of a text: they are stored in its future.
  bool step();

  /// Runs passes until all texts have ended.
  void run() {
    while (step()) {
    }
  }

  /// Returns what it has at the moment. Only the thread that may call step may call it.
  [[nodiscard]] SchedulerStats stats() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2
