#include "cli/model_limits.h"

#include <algorithm>
#include <span>
#include <string>

namespace gpt2::cli {

void check_limits(const GenerateSettings& settings, const Config& config) {
  const auto check_ids = [&](const std::string& option, std::span<const TokenId> ids) {
    if (!settings.given.contains(option)) return;
    for (const TokenId id : ids) {
      if (static_cast<std::size_t>(id) < config.vocab_size) continue;
      throw UsageError(
          option, format("expected token ids from 0 to %zu, found %d", config.vocab_size - 1, id));
    }
  };
  const GenerationOptions& generation = settings.generation;
  const SamplingOptions& sampling = generation.sampling;
  check_ids("--suppress-tokens", sampling.suppress_tokens);
  check_ids("--begin-suppress-tokens", sampling.begin_suppress_tokens);
  check_ids("--forced-eos-token-id", sampling.forced_eos_token_id);
  if (sampling.forced_bos_token_id) {
    check_ids("--forced-bos-token-id", {&*sampling.forced_bos_token_id, 1});
  }
  for (const auto& [id, bias] : sampling.logit_bias) check_ids("--logit-bias", {&id, 1});
  for (const auto& [ids, bias] : sampling.sequence_bias) check_ids("--sequence-bias", ids);

  // A slide makes room for a token of the prompt and for a new one.
  const std::size_t max_keep = std::max<std::size_t>(config.n_positions, 2) - 2;
  if (generation.keep > max_keep) {
    throw UsageError("--keep", format("expected a whole number from 0 to %zu, because the model "
                                      "has %zu positions, found %zu",
                                      max_keep, config.n_positions, generation.keep));
  }
  check_logprobs(generation.top_logprobs.value_or(0), config);
}

void check_draft(const Config& draft, const Config& config) {
  if (draft.vocab_size == config.vocab_size) return;
  throw UsageError("--draft", format("expected a model with the vocabulary of the one that writes, "
                                     "which has %zu tokens, found one with %zu",
                                     config.vocab_size, draft.vocab_size));
}

void check_logprobs(std::size_t count, const Config& config) {
  if (count <= config.vocab_size) return;
  throw UsageError("--logprobs", format("expected a whole number from 0 to %zu, the size of the "
                                        "vocabulary, found %zu",
                                        config.vocab_size, count));
}

}  // namespace gpt2::cli
