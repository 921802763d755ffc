#include "c_api/sampling_arguments.h"

#include "c_api/arguments.h"
#include "c_api/options.h"

namespace gpt2::c_api {
namespace {

static_assert(static_cast<int>(Overflow::slide) == GPT2_OVERFLOW_SLIDE);

LogitsProcessor processor_of(gpt2_on_scores on_scores, void* user) {
  return [on_scores, user](std::span<float> scores, std::span<const TokenId> ids) {
    if (!on_scores(user, scores.data(), scores.size(), ids.data(), ids.size())) throw Cancelled();
  };
}

void copy_numbers(const gpt2_sampling_options& from, SamplingOptions& to) {
  to.temperature = from.temperature;
  to.top_k = from.top_k;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.typical_p = from.typical_p;
  to.epsilon_cutoff = from.epsilon_cutoff;
  to.eta_cutoff = from.eta_cutoff;
  to.seed = from.seed;
  to.sequence = from.sequence;
  to.presence_penalty = from.presence_penalty;
  to.frequency_penalty = from.frequency_penalty;
  to.repetition_penalty = from.repetition_penalty;
  to.no_repeat_ngram_size = from.no_repeat_ngram_size;
  to.min_length = from.min_length;
  to.min_new_tokens = from.min_new_tokens;
  to.remove_invalid_values = from.remove_invalid_values != 0;
  to.renormalize_logits = from.renormalize_logits != 0;
}

}  // namespace

void set_defaults(gpt2_sampling_options& options) {
  const SamplingOptions defaults;
  options.temperature = defaults.temperature;
  options.top_p = defaults.top_p;
  options.typical_p = defaults.typical_p;
  options.repetition_penalty = defaults.repetition_penalty;
  options.forced_bos_token_id = -1;
  options.decay_factor = 1.0;
}

SamplingOptions sampling_of(const gpt2_sampling_options* options) {
  const gpt2_sampling_options given = options_of(options);
  SamplingOptions result;
  copy_numbers(given, result);
  for (const gpt2_sequence_bias& bias :
       span_of(given.sequence_bias, given.n_sequence_bias, "sequence_bias")) {
    result.sequence_bias.push_back({list_of(bias.ids, "sequence_bias"), bias.bias});
  }
  for (const gpt2_logit_bias& bias : span_of(given.logit_bias, given.n_logit_bias, "logit_bias")) {
    result.logit_bias.emplace_back(bias.id, bias.bias);
  }
  result.bad_words_ids = lists_of(given.bad_words_ids, given.n_bad_words_ids, "bad_words_ids");
  result.suppress_tokens = list_of(given.suppress_tokens, "suppress_tokens");
  result.begin_suppress_tokens = list_of(given.begin_suppress_tokens, "begin_suppress_tokens");
  result.forced_eos_token_id = list_of(given.forced_eos_token_id, "forced_eos_token_id");
  if (given.forced_bos_token_id != -1) result.forced_bos_token_id = given.forced_bos_token_id;
  if (given.decay_factor != 1.0) {
    result.exponential_decay_length_penalty = {given.decay_start, given.decay_factor};
  }
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
  options.max_new_tokens = defaults.max_new_tokens;
  options.max_draft_tokens = defaults.max_draft_tokens;
}

GenerationArguments::GenerationArguments(const gpt2_tokenizer* text_tokenizer,
                                         const gpt2_generate_options* given_options)
    : target(optional_tokenizer(text_tokenizer), nullptr, nullptr) {
  const gpt2_generate_options given = options_of(given_options);
  if (target.tokenizer && given.on_token) {
    reject("on_token is set, but there is a tokenizer: use on_text");
  }
  if (!target.tokenizer && given.on_text) reject("on_text is set, but there is no tokenizer");
  require_value(given.overflow, GPT2_OVERFLOW_SLIDE, "overflow");

  options.max_new_tokens = given.max_new_tokens;
  options.sampling = sampling_of(given.sampling);
  options.stop_tokens = list_of(given.stop_tokens, "stop_tokens");
  for (const gpt2_bytes& stop : span_of(given.stop, given.n_stop, "stop")) {
    options.stop.emplace_back(text_of(stop.data, stop.size, "a stop string"));
  }
  options.ignore_eos = given.ignore_eos != 0;
  options.overflow = static_cast<Overflow>(given.overflow);
  options.keep = given.keep;
  options.hash_logits = given.hash_logits != 0;
  if (given.wants_logprobs) options.top_logprobs = given.top_logprobs;
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
}

}  // namespace gpt2::c_api
