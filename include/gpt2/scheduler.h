#pragma once

#include <cstddef>
#include <functional>
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

/// A text that a Scheduler writes. To end a text before it is complete, cancel or destroy its
/// handle, or return false from its sink or from on_prompt.
///
/// Thread safety: as for its scheduler.
class Text {
 public:
  /// Cancels the text if it has not ended.
  ~Text();

  /// A handle that has been moved from can only be destroyed or assigned to.
  Text(Text&&) noexcept;
  Text& operator=(Text&&) noexcept;

  /// Whether the text has ended, so that take_result() has something to return.
  [[nodiscard]] bool finished() const noexcept;

  /// Returns the result, or throws the exception that generate() would have thrown;
  /// Error(invalid_argument) also if the text alone needs more than max_memory. May be called once.
  /// Throws Error(invalid_argument) if the text has not ended.
  [[nodiscard]] GenerationResult take_result();

  /// Ends the text with what has been written of it: FinishReason::cancelled. Its functions (the
  /// sink, on_prompt, processors) are not called any more, and its session is free. In a function
  /// that Scheduler::step() calls, this holds only from the end of this step on; until then, no
  /// function but a processor is called. Does nothing if the text has ended.
  void cancel() noexcept;

  struct Impl;

 private:
  friend class Scheduler;
  explicit Text(std::shared_ptr<Impl> impl) noexcept;

  std::shared_ptr<Impl> impl_;
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
/// Thread safety: only one thread at a time may use a scheduler and its texts. A sink may submit
/// further texts, and cancel or destroy any. It must not destroy the scheduler. If it calls step or
/// run, they throw Error(invalid_argument).
///
/// Cost: memory for keys and values, up to max_memory, and, for each text that is being written,
/// about 30 bytes for each token of the vocabulary, and 4 more for each token that it drafts or
/// that a pass reads of a prompt with on_prompt_logprobs.
///
/// Example:
///   Scheduler scheduler{Engine(model)};
///   std::vector<Text> texts;
///   for (const char* const prompt : {"Once upon a time", "The cat", "One day"}) {
///     texts.push_back(
///         scheduler.submit(tokenizer, tokenizer.encode(prompt), {.max_new_tokens = 50}, nullptr));
///   }
///   scheduler.run();
///   for (Text& text : texts) std::cout << tokenizer.decode(text.take_result().tokens) << '\n';
///
/// A program in which several threads ask for texts puts a queue of calls before the scheduler:
///
/// Example:
///   Scheduler scheduler{Engine(model)};
///   std::mutex mutex;
///   std::vector<std::function<void()>> calls;
///   const auto post = [&](std::function<void()> call) {  // any thread calls this
///     const std::lock_guard lock(mutex);
///     calls.push_back(std::move(call));
///   };
///   const auto step = [&] {  // the thread of the scheduler calls this again and again
///     std::unique_lock lock(mutex);
///     const auto taken = std::exchange(calls, {});
///     lock.unlock();
///     for (const auto& call : taken) call();
///     return scheduler.step();
///   };
///   std::vector<Text> texts;  // of the thread of the scheduler
///   post([&] { texts.push_back(scheduler.submit(tokenizer.encode("The cat"), {}, nullptr)); });
///   while (step()) {
///   }
class Scheduler {
 public:
  /// Throws Error(invalid_argument) if max_sequences is 0.
  explicit Scheduler(const Engine& engine, const SchedulerOptions& options = {});

  /// Cancels the texts that have not ended.
  ~Scheduler();

  /// A scheduler that has been moved from can only be destroyed or assigned to.
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  /// Adds a text to be written, with arguments as for generate(); `prompt` and `options` are
  /// copied. Throws Error(invalid_argument) for a tokenizer that does not belong to the model, for
  /// an empty stop string, and for stop strings without a tokenizer.
  [[nodiscard]] Text submit(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                            const GenerationOptions& options,
                            std::function<bool(std::string_view)> sink);

  /// The same without a tokenizer: `sink` receives each new token.
  [[nodiscard]] Text submit(std::span<const TokenId> prompt, const GenerationOptions& options,
                            std::function<bool(TokenId)> sink);

  /// The same with or without a tokenizer.
  [[nodiscard]] Text submit(std::span<const TokenId> prompt, const GenerationOptions& options,
                            TextTarget target);

  /// Continues the text of a session, as generate() does. The text begins at once, whatever the
  /// limits are, because it needs no memory for keys and values. Nothing else may use the session
  /// until the text has ended; then it holds what generate() would have left. Throws what
  /// generate() throws for its arguments, and Error(invalid_argument) for a session of another
  /// engine.
  [[nodiscard]] Text submit(Session& session, std::span<const TokenId> prompt,
                            const GenerationOptions& options, TextTarget target);

  /// Runs one forward pass over the texts that are being written. Returns whether there is more to
  /// do. Does not throw the errors of a text: Text::take_result() throws them.
  bool step();

  /// Runs passes until all texts have ended.
  void run() {
    while (step()) {
    }
  }

  /// Returns what it has at the moment.
  [[nodiscard]] SchedulerStats stats() const;

  struct Impl;

 private:
  Text add(Session* lent, std::span<const TokenId> prompt, const GenerationOptions& options,
           TextTarget target);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2
