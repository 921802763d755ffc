#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

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

/// What to write, and when to stop.
struct GenerationOptions {
  std::size_t max_new_tokens = 256;  ///< at most so many; 0: only read the prompt
  SamplingOptions sampling = {};     ///< how tokens are drawn

  /// Tokens that end the text and are not part of it, besides those of the model
  /// (Config::eos_token_id) and of the tokenizer (Tokenizer::end_of_text).
  std::vector<TokenId> stop_tokens = {};

  /// Whether the text goes on after the tokens of the model and of the tokenizer that end texts.
  bool ignore_eos = false;

  /// Strings that end the text before their first character. They are found however tokens divide
  /// them, but not across two calls of generate.
  std::vector<std::string> stop = {};

  bool hash_logits = false;  ///< fill GenerationResult::logits_hash

  /// Speculative decoding: a copy of the model that drafts tokens, usually model.to(int4). The model
  /// then checks several drafted tokens in one pass, which reads its weights only once. How many
  /// are drafted is decided from the times measured and from how often drafts were right.
  ///
  /// The draft makes the text faster where reading the weights takes the time, never different: the
  /// tokens, and the hash of the logits, are bit for bit those without it. (HuggingFace's
  /// assistant_model, which changes the text that is drawn.)
  ///
  /// REQUIRES: the draft has the sizes of the session's model. It reads that model's keys and
  /// values, so a model with other weights guesses badly. It costs no memory but its weights.
  std::optional<Model> draft = {};

  /// Whether tokens are also drafted from the text itself: those that followed the last time that
  /// its last three tokens stood there. This costs nearly nothing and needs no draft model, and is
  /// often right in code, lists and texts that quote their prompt. With both, the text goes first.
  bool prompt_lookup = false;

  /// The most tokens that are drafted before they are checked, from 1 to kMaxDraft.
  std::size_t max_draft_tokens = 12;
  static constexpr std::size_t kMaxDraft = 64;  ///< see max_draft_tokens

  /// Whether every pass drafts max_draft_tokens, instead of as many as pay for themselves.
  bool constant_draft = false;

  /// Called before each piece of the prompt is read, a fraction of a second of work, with the
  /// number of its tokens that are read already and of all; and once when all are read. Returns
  /// false to cancel: the session is then as it was before the call. Empty: not called.
  std::function<bool(std::size_t read, std::size_t total)> on_prompt = {};
};

/// What was written, and what it took.
struct GenerationResult {
  FinishReason finish_reason;       ///< why it ended
  std::vector<TokenId> tokens;      ///< the new ones, without a stop token
  std::size_t prompt_tokens = 0;    ///< of the prompt given to this call
  std::uint64_t logits_hash = 0;    ///< of the bits of all logits a token was drawn from
  std::size_t drafted_tokens = 0;   ///< by GenerationOptions::draft and prompt_lookup
  std::size_t accepted_tokens = 0;  ///< of these, the ones that the model would have drawn as well
  double prompt_seconds = 0.0;      ///< for reading the prompt
  double generation_seconds = 0.0;  ///< for the rest: the first token comes with the prompt
};

/// Appends the prompt to the session, then token after token until something of FinishReason
/// happens. `sink` receives the text as it becomes certain: whole UTF-8 characters, never part of a
/// stop string. It is called after every token, with no text where none became certain, and returns
/// false to end the generation. An empty function is not called.
///
/// Afterwards the session holds what it held before, the prompt and the result's tokens. So another
/// call goes on from there, with a new prompt or with none, and gives bit for bit what one long
/// call would have given. (Three exceptions: a cancelled prompt is taken back; if the session is
/// full, which is FinishReason::context_full, the last token of the result has no room in it; and
/// sampling options that count new tokens, such as min_new_tokens, begin anew with each call.)
///
/// Throws Error(invalid_argument) for an empty prompt, unless the session has tokens that wait
/// (Session::append), as it has after a text that ended for another reason than a token that ends
/// texts or a full session, and had a token: begin a new text with the end-of-text token. The same
/// for a prompt that does not fit the session, and for a tokenizer that does not belong to the
/// model (Tokenizer::require_match). The same if the model's logits are not numbers (see
/// Sampler::process). Throws what the sink throws; the session then holds what was written so far.
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
