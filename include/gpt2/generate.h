#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "gpt2/token_logprob.h"
#include "gpt2/tokenizer.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Why a generation ended.
enum class FinishReason {
  end_of_text,   ///< a token that ends texts was drawn
  stop_string,   ///< one of GenerationOptions::stop was written
  length,        ///< max_new_tokens tokens were written
  context_full,  ///< the context (n_positions, or the session's room) is full
  cancelled,     ///< the sink or GenerationOptions::on_prompt returned false
};

/// The reason's name as above, such as "end_of_text".
[[nodiscard]] std::string_view name_of(FinishReason reason) noexcept;

/// What happens when the session is full and the text has not ended.
enum class Overflow {
  stop,   ///< the text ends: FinishReason::context_full
  slide,  ///< the oldest tokens are dropped, and the text goes on after the others
};

/// What to write, and when to stop.
struct GenerationOptions {
  std::size_t max_new_tokens = 256;  ///< at most so many; 0: only read the prompt
  SamplingOptions sampling = {};     ///< how tokens are drawn

  /// Tokens that end the text and are not part of it, besides those of the model
  /// (Config::eos_token_id) and of the tokenizer (Tokenizer::end_of_text).
  std::vector<TokenId> stop_tokens = {};

  /// Whether the text goes on after the tokens of the model and of the tokenizer that end texts.
  bool ignore_eos = false;

  /// Strings that end the text. The text ends before the first character of the first one that is
  /// written. They are found even if they are spread over several tokens, but not if they begin in
  /// one call of generate and end in the next.
  std::vector<std::string> stop = {};

  /// What happens when the session is full, or has too little room for the prompt. With `slide`,
  /// Session::slide(keep, ...) makes room: the text goes on exactly as it would in a new session
  /// with the tokens kept. Sampling options see only these tokens, of which those of the prompt
  /// still count as the prompt's. Noise goes on where it was.
  /// keep: at most the session's capacity - 2, unless the text is too short to fill the session.
  ///
  /// With ignore_eos, a text may have end-of-text tokens in it. The model has learnt that what
  /// follows such a token has nothing to do with what stands before it. A slide does not look for
  /// them. So `keep` is for a beginning that belongs to all of the text, such as instructions.
  Overflow overflow = Overflow::stop;
  std::size_t keep = 0;  ///< see overflow

  bool hash_logits = false;  ///< fill GenerationResult::logits_hash

  /// If it is set, GenerationResult::logprobs tells how likely the model found each new token, and
  /// which tokens it found likeliest: so many for each new token, from 0 to the size of the
  /// vocabulary.
  std::optional<std::size_t> top_logprobs = {};

  /// Speculative decoding: a model that drafts tokens. It is a quantized copy of the session's
  /// model, usually model.to(WeightType::int4), or a smaller model of the same vocabulary, such as
  /// distilgpt2 for gpt2-xl. The session's model then checks several drafted tokens in one pass,
  /// which reads its weights only once. The number of drafted tokens follows from the times
  /// measured and from the share of drafts that the model accepted.
  ///
  /// A draft saves time if most of the time goes into reading the weights. It never changes the
  /// text: the tokens and the hash of the logits are bit for bit the same as without it.
  /// (HuggingFace's assistant_model, in contrast, changes the text that is drawn.)
  ///
  /// A draft with all sizes of the session's model is taken for a copy. It reads that model's keys
  /// and values, so drafts of a model with different weights are rarely accepted. It needs no
  /// memory except for its weights.
  ///
  /// A draft of other sizes (n_layer, n_embd, n_head, n_inner or n_positions) computes keys and
  /// values of its own, on the threads of the session's engine. The session keeps them for the next
  /// call. Reading the prompt with the draft comes in addition to what drafting costs, once for
  /// each prompt and slide. If the text is longer than the draft's n_positions, it is not drafted
  /// any more. If there is no memory for the keys and values, generate() throws std::bad_alloc.
  ///
  /// REQUIRES: the draft has as many tokens as the session's model, with the same ids.
  std::optional<Model> draft = {};

  /// A draft that another thread is still making. Until it is ready, the text is written without
  /// it; if it ends in an exception, without any. Not both this and `draft`.
  std::shared_future<Model> pending_draft = {};

  /// Whether tokens are also drafted from the text itself: those that followed when its last three
  /// tokens last stood in it. This costs nearly nothing, needs no draft model, and is often right
  /// in code, lists and texts that quote their prompt. With both, the text is tried first.
  bool prompt_lookup = false;

  /// The max number of tokens that are drafted before they are checked, from 1 to kMaxDraft.
  std::size_t max_draft_tokens = 12;
  static constexpr std::size_t kMaxDraft = 64;  ///< see max_draft_tokens

  /// If true, every pass that reads no prompt drafts max_draft_tokens. Otherwise the number is
  /// chosen so that drafts save time.
  bool constant_draft = false;

  /// Called before each piece of the prompt is read, and once more after the last piece. A piece is
  /// a fraction of a second of work. `read` is the number of tokens of the prompt that have been
  /// read, and `total` the number of all. The function returns false to cancel the generation; the
  /// prompt is then taken back. (A slide that made room for the prompt stays, and without a prompt
  /// the session's last token waits afterwards.) An empty function is not called.
  std::function<bool(std::size_t read, std::size_t total)> on_prompt = {};
};

/// What was written, and what it took.
struct GenerationResult {
  FinishReason finish_reason;               ///< why it ended
  std::vector<TokenId> tokens;              ///< the new ones, without a stop token
  std::size_t prompt_tokens = 0;            ///< of the prompt given to this call
  std::vector<TokenLogprob> logprobs = {};  ///< of each of `tokens`, if top_logprobs is set
  std::uint64_t logits_hash = 0;            ///< of the bits of all logits a token was drawn from
  std::size_t drafted_tokens = 0;           ///< by GenerationOptions::draft and prompt_lookup
  std::size_t accepted_tokens = 0;  ///< of these, the ones that the model would have drawn as well
  std::size_t dropped_tokens = 0;   ///< by slides; see GenerationOptions::overflow
  double prompt_seconds = 0.0;      ///< for reading the prompt
  double generation_seconds = 0.0;  ///< for everything after the prompt. The pass over the prompt
                                    ///< already yields the logits of the first token.
};

/// Appends the prompt to the session, then token after token until something of FinishReason
/// happens. `sink` receives the text as it becomes certain: whole UTF-8 characters, never part of a
/// stop string. It is called after every token, with no text where none became certain, and returns
/// false to end the generation. An empty function is not called.
///
/// Afterwards the session holds what it held before, the prompt and the result's tokens. So another
/// call goes on from there, with a new prompt or with none, and gives bit for bit what one long
/// call would have given. (Exceptions: a text that slid leaves the tokens that it had kept; a
/// cancelled prompt is taken back, but not the slide that made room for it; and if the session is
/// full, which is FinishReason::context_full, the last token of the result has no room in it.
/// Sampling options that count new tokens, such as min_new_tokens and frequency_penalty, count from
/// the end of the latest prompt; forced_eos_token_id refers to the max length of each call.)
///
/// Throws Error(invalid_argument)
///   - for an empty prompt if the session has no token either. To begin a new text without a
///     prompt, give the end-of-text token;
///   - for a prompt that does not fit the session;
///   - for a draft with another vocab_size than the model;
///   - if top_logprobs is more than the size of the vocabulary;
///   - if `overflow` is none of the values of Overflow;
///   - for a tokenizer that does not belong to the model (Tokenizer::require_match);
///   - if the model's logits contain NaN or +infinity (see Sampler::process).
/// Throws what the sink throws; the session then holds what was written so far.
///
/// REQUIRES: the sink and on_prompt do not use the session.
///
/// Example:
///   Session session(model);
///   const auto print = [](std::string_view text) { return static_cast<bool>(std::cout << text); };
///   GenerationResult result =
///       generate(session, tokenizer, tokenizer.encode("Once upon a time"),
///                {.max_new_tokens = 50, .sampling = {.temperature = 0.8f}}, print);
///   if (result.finish_reason == FinishReason::length) {
///     result = generate(session, tokenizer, {}, {.max_new_tokens = 50}, print);  // write on
///   }
GenerationResult generate(Session& session, const Tokenizer& tokenizer,
                          std::span<const TokenId> prompt, const GenerationOptions& options,
                          const std::function<bool(std::string_view)>& sink);

/// The same without a tokenizer: `sink` receives each new token. options.stop must be empty.
GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink);

}  // namespace gpt2
