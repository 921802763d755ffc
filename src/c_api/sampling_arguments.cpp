#include "c_api/sampling_arguments.h"

#include "c_api/arguments.h"
#include "c_api/option_values.h"
#include "c_api/options.h"

namespace gpt2::c_api {
namespace {

LogitsProcessor processor_of(gpt2_on_scores on_scores, void* user) {
  return [on_scores, user](std::span<float> scores, std::span<const TokenId> ids) {
    if (!on_scores(user, scores.data(), scores.size(), ids.data(), ids.size())) throw Cancelled();
  };
}

}  // namespace

void set_defaults(gpt2_sampling_options& options) {
  OptionStorage none;
  fill(options, SamplingOptions(), none);
}

SamplingOptions sampling_of(const gpt2_sampling_options* options) {
  const gpt2_sampling_options given = options_of(options);
  SamplingOptions result = sampling_from(given);
  if (given.on_scores) result.processors.push_back(processor_of(given.on_scores, given.user));
  return result;
}

void set_defaults(gpt2_sequence_limits& limits) {
  const SequenceLimits defaults;
  limits.max_length = defaults.max_length;
  limits.min_tokens_to_keep = defaults.min_tokens_to_keep;
}

SequenceLimits limits_of(const gpt2_sequence_limits* limits) {
  const gpt2_sequence_limits given = options_of(limits);
  return {.eos_token_id = list_of(given.eos_token_id, "eos_token_id"),
          .prompt_length = given.prompt_length,
          .max_length = given.max_length,
          .dropped = given.dropped,
          .min_tokens_to_keep = given.min_tokens_to_keep};
}

CancelFlag::CancelFlag(const gpt2_cancel* cancel) {
  if (cancel != nullptr) flag_ = checked(cancel).flag;
}

std::function<void(double)> progress_of(gpt2_on_progress on_progress, void* user,
                                        const gpt2_cancel* cancel) {
  return [on_progress, user, flag = CancelFlag(cancel)](double share) {
    if (flag.is_set() || (on_progress && !on_progress(user, share))) throw Cancelled();
  };
}

std::function<bool(std::size_t, std::size_t)> prompt_callback_of(gpt2_on_prompt on_prompt,
                                                                 void* user,
                                                                 const CancelFlag& cancel) {
  return [on_prompt, user, cancel](std::size_t read, std::size_t total) {
    return !cancel.is_set() && (!on_prompt || on_prompt(user, read, total));
  };
}

void set_defaults(gpt2_generate_options& options) {
  const GenerationOptions defaults;
  OptionStorage none;
  fill(options, defaults, none);
  options.max_draft_tokens = defaults.max_draft_tokens;
}

GenerationArguments::GenerationArguments(const gpt2_tokenizer* text_tokenizer,
                                         const gpt2_generate_options* given_options)
    : target(optional_tokenizer(text_tokenizer), nullptr, nullptr) {
  const gpt2_generate_options given = options_of(given_options);
  if (!target.tokenizer && given.on_text) reject("on_text is set, but there is no tokenizer");

  set_generation(options, given);
  options.sampling = sampling_of(given.sampling);
  options.stop_tokens = list_of(given.stop_tokens, "stop_tokens");
  options.hash_logits = given.hash_logits != 0;
  if (given.draft) options.draft = checked(given.draft).model;
  options.prompt_lookup = given.prompt_lookup != 0;
  options.constant_draft = given.constant_draft != 0;
  options.max_draft_tokens = given.max_draft_tokens;

  void* const user = given.user;
  const CancelFlag cancel(given.cancel);
  options.on_prompt = prompt_callback_of(given.on_prompt, user, cancel);
  target.on_text = [call = given.on_text, user, cancel, out = text](std::string_view piece) {
    out->append(piece);
    return !cancel.is_set() &&
           (!call || call(user, piece.empty() ? "" : piece.data(), piece.size()));
  };
  target.on_token = [call = given.on_token, user, cancel](TokenId id) {
    return !cancel.is_set() && (!call || call(user, id));
  };
  if (given.on_token) target.on_token_of_text = target.on_token;
  target.is_wanted = [cancel] { return !cancel.is_set(); };
}

}  // namespace gpt2::c_api
