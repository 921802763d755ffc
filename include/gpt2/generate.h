#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/sampler.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Why a generation ended.
enum class FinishReason {
  end_of_text,   ///< a token that ends texts was drawn
  stop_string,   ///< one of GenerationOptions::stop was written
  length,        ///< max_new_tokens tokens were written
  context_full,  ///< the context (n_positions, or the session's room) is full
  cancelled,     ///< the sink or GenerationOptions::on_prompt returned false, or Text::cancel()
};

/// The reason's name as above, such as "end_of_text".
[[nodiscard]] std::string_view name_of(FinishReason reason) noexcept;

/// The action to take when the session is full and the text has not ended.
enum class Overflow {
  stop,   ///< the text ends: FinishReason::context_full
  slide,  ///< the oldest tokens are dropped, and the text continues after the others
};

/// Options for generate().
struct GenerationOptions {
  /// Max number of new tokens, up to kMaxOptionTokens (option_fields.h); 0: only read the prompt.
  std::size_t max_new_tokens = 256;

  SamplingOptions sampling = {};  ///< how tokens are drawn

  /// Tokens that end the text and are not part of it, in addition to the end-of-text tokens of the
  /// model (Config::eos_token_id) and the tokenizer (Tokenizer::end_of_text).
  std::vector<TokenId> stop_tokens = {};

  /// Whether the text continues after the end-of-text tokens of the model and the tokenizer.
  bool ignore_eos = false;

  /// Strings that end the text. The text ends before the one that is complete first or, if several
  /// are complete at the same place, before the longest of them. A stop string is found even if it
  /// is spread over several tokens, but not if it begins in one call of generate() and ends in the
  /// next. Special tokens count with their content, also if the text leaves them out. Stop strings
  /// need a tokenizer, and must not be empty.
  std::vector<std::string> stop = {};

  /// Whether the text leaves out special tokens (Tokenizer::is_special).
  bool skip_special_tokens = true;

  /// The action to take when the session is full, or has too little room for the prompt. With
  /// `slide`, Session::slide(keep, ...) makes room: the text continues exactly as it would in a new
  /// session with the tokens that were kept. Sampling options see only these tokens, and those of
  /// the prompt still count as tokens of the prompt. The noise still depends on the position in the
  /// whole text. keep: at most the session's capacity - 2, unless the text is too short to fill the
  /// session.
  ///
  /// With ignore_eos, a text may contain end-of-text tokens. The model has learned that the text
  /// after such a token is unrelated to the text before it, but a slide treats these tokens like
  /// any others. Therefore, use `keep` for a beginning that applies to the whole text, such as
  /// instructions.
  Overflow overflow = Overflow::stop;
  std::size_t keep = 0;  ///< see overflow

  bool hash_logits = false;  ///< fill GenerationResult::logits_hash

  /// If set, GenerationResult::logprobs has the log-probability of each new token and the
  /// `top_logprobs` likeliest tokens in its place. From 0 to the size of the vocabulary.
  std::optional<std::size_t> top_logprobs = {};

  /// If set: called when the prompt has been read, with the log-probability of each of its tokens
  /// and as many likeliest tokens as top_logprobs says. Nothing predicts the first token, whose
  /// number is NaN. The pass that reads the prompt computes these numbers, too.
  std::function<void(std::vector<TokenLogprob>)> on_prompt_logprobs = {};

  /// Speculative decoding: a model that drafts tokens. It is a quantized copy of the session's
  /// model, usually model.to(WeightType::int4), or a smaller model of the same vocabulary, such as
  /// distilgpt2 for gpt2-xl. The session's model then checks several drafted tokens in one pass,
  /// which reads its weights only once. The number of drafted tokens is chosen from the measured
  /// times and from the share of drafted tokens that the model has accepted.
  ///
  /// A draft saves time if reading the weights takes most of the time. It never changes the text:
  /// the tokens and the hash of the logits are bit for bit the same as without it. (HuggingFace's
  /// assistant_model, in contrast, changes the text that is drawn.)
  ///
  /// A draft with all sizes of the session's model is taken for a copy. It reads that model's keys
  /// and values, so drafts of a model with different weights are rarely accepted. It needs no
  /// memory except for its weights.
  ///
  /// A draft of other sizes (n_layer, n_embd, n_head, n_inner or n_positions) computes keys and
  /// values of its own, on the threads of the session's engine. The session keeps them for the next
  /// call. In addition to the drafts themselves, the draft model has to read the prompt once, and
  /// the remaining text after each slide. When the text becomes longer than the draft's
  /// n_positions, drafting ends. If there is no memory for the keys and values, generate() throws
  /// std::bad_alloc.
  ///
  /// REQUIRES: the draft has as many tokens as the session's model, with the same ids.
  std::optional<Model> draft = {};

  /// A draft that another thread is still making. The text is written without a draft until this
  /// one is ready, and also if the future holds an exception. Set either this or `draft`, not both.
  std::shared_future<Model> pending_draft = {};

  /// Whether tokens are also drafted from the text itself: those that followed the previous
  /// occurrence of its last three tokens. This costs nearly nothing, needs no draft model, and is
  /// often right in code, lists and texts that quote their prompt. If a draft model is given as
  /// well, it drafts only if the three tokens have not occurred before.
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
  /// tokens of the prompt are then removed from the session. (A slide that made room for the prompt
  /// is not undone. If the prompt is empty, the session's last token waits afterwards.) An empty
  /// function is not called.
  std::function<bool(std::size_t read, std::size_t total)> on_prompt = {};
};

/// The new tokens, and counts and times of their generation.
struct GenerationResult {
  FinishReason finish_reason;               ///< why it ended
  std::vector<TokenId> tokens;              ///< the new tokens, without a stop token
  std::size_t prompt_tokens = 0;            ///< the length of the prompt given to this call
  std::optional<TokenId> end_token = {};    ///< the token that ended the text: end_of_text
  std::vector<TokenLogprob> logprobs = {};  ///< if top_logprobs is set: one for each of `tokens`,
                                            ///< and then for the end_token if there is one
  std::uint64_t logits_hash = 0;            ///< a hash of all logits from which a token was drawn
  std::size_t drafted_tokens = 0;           ///< how many tokens were drafted
  std::size_t accepted_tokens = 0;          ///< how many drafted tokens were accepted
  std::size_t dropped_tokens = 0;   ///< how many slides dropped; see GenerationOptions::overflow
  double prompt_seconds = 0.0;      ///< the time for reading the prompt
  double generation_seconds = 0.0;  ///< the time for everything after the prompt. The pass over the
                                    ///< prompt already yields the logits of the first token.
};

/// What receives a text while it is being written: text if there is a tokenizer, otherwise tokens.
/// Use this type in programs that serve models both with and without a tokenizer.
///
/// A plain value: copies are independent. Both functions may be empty; they are then not called.
///
/// Example:
///   Session session(model);
///   const auto print = [](const auto& piece) { return static_cast<bool>(std::cout << piece); };
///   const std::vector<TokenId> prompt = {1, 2, 3};
///   const std::optional<Tokenizer> none;  // as for a model without a tokenizer
///   generate(session, prompt, {.max_new_tokens = 10}, {none, print, print});   // prints tokens
///   generate(session, {}, {.max_new_tokens = 10}, {tokenizer, print, print});  // prints text
struct TextTarget {
  TextTarget(std::optional<Tokenizer> text_tokenizer, std::function<bool(std::string_view)> text,
             std::function<bool(TokenId)> token)
      : tokenizer(std::move(text_tokenizer)),
        on_text(std::move(text)),
        on_token(std::move(token)) {}

  /// Its end-of-text token ends the text, unless ignore_eos is set.
  std::optional<Tokenizer> tokenizer;

  /// With a tokenizer: receives the text as it becomes certain, which is whole UTF-8 characters and
  /// never part of a stop string. It is called after every token, with an empty string if no text
  /// became certain. Returns false to end the text.
  std::function<bool(std::string_view)> on_text;

  /// Without a tokenizer: receives each new token. Returns false to end the text.
  std::function<bool(TokenId)> on_token;

  /// With a tokenizer: receives each token of the result, before on_text is called for it. Returns
  /// false to end the text.
  std::function<bool(TokenId)> on_token_of_text = {};

  /// If GenerationOptions::top_logprobs is set: receives the log-probability of each token of the
  /// result, before the other functions are called for the token.
  std::function<void(TokenId, const TokenLogprob&)> on_logprob = {};
};

/// Appends the prompt to the session, and then draws and appends tokens until one of the reasons in
/// FinishReason ends the text. `sink` receives the text as it becomes certain, and returns false to
/// end it (see TextTarget::on_text). An empty function is not called.
///
/// Afterwards the session holds its earlier tokens, the prompt and the result's tokens. Another
/// call, with a new prompt or with none, therefore continues the text and gives bit for bit the
/// same result as one long call. (Exceptions: after a slide, the session holds only the tokens that
/// were kept and the newer ones; a cancelled prompt is removed, but a slide that made room for it
/// is not undone; and if the session is full, which is FinishReason::context_full, it has no room
/// for the last token of the result. Sampling options that count new tokens, such as min_new_tokens
/// and frequency_penalty, count from the end of the latest prompt; forced_eos_token_id refers to
/// the max length of each call.)
///
/// Throws Error(invalid_argument)
///   - for an empty prompt if the session has no token, either. To begin a new text without a
///     prompt, pass the end-of-text token as the prompt;
///   - for a prompt that does not fit the session;
///   - for a draft with another vocab_size than the model;
///   - if top_logprobs is more than the size of the vocabulary;
///   - if `overflow` is not a value of Overflow;
///   - for an empty stop string, or for stop strings without a tokenizer;
///   - for a session that was moved from;
///   - for a tokenizer that does not belong to the model (Tokenizer::require_match);
///   - if the model's logits contain NaN or +infinity (see Sampler::process).
/// Throws whatever the sink throws; the session then holds the tokens written so far.
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

/// The same without a tokenizer: `sink` receives each new token.
GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink);

/// The same with or without a tokenizer.
GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options, const TextTarget& target);

}  // namespace gpt2
