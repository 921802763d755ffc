#include <algorithm>
#include <limits>
#include <optional>

#include "c_api/arguments.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "c_api/sampling_arguments.h"
#include "gpt2/embed.h"
#include "gpt2/score.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {

void set_defaults(gpt2_embed_options& options) {
  options.layer = std::numeric_limits<std::size_t>::max();
}

namespace {

struct ScoresStorage {
  std::vector<Logprobs> logprobs;
  std::vector<gpt2_text_score> texts;
};
using OwnedScores = Owned<gpt2_scores, ScoresStorage>;

struct ChoicesStorage {
  std::vector<Logprobs> logprobs;
  std::vector<gpt2_choice> choices;
};
using OwnedChoices = Owned<gpt2_choices, ChoicesStorage>;

gpt2_estimate estimate_of(const Estimate& estimate) {
  return {.value = estimate.value, .standard_error = estimate.standard_error};
}

std::unique_ptr<OwnedScores> make_scores(std::span<const TextScore> scores, const Perplexity& all) {
  ScoresStorage storage;
  for (const TextScore& score : scores) {
    const Logprobs& logprobs = storage.logprobs.emplace_back(score.tokens);
    const Perplexity of_text = perplexity({&score, 1});
    storage.texts.push_back({.tokens = logprobs.tokens.data(),
                             .n_tokens = logprobs.tokens.size(),
                             .nll = of_text.nll,
                             .perplexity = of_text.by_token.value});
  }
  auto made = std::make_unique<OwnedScores>(std::move(storage));
  gpt2_scores& result = *made;
  result = {.texts = made->storage.texts.data(),
            .n_texts = made->storage.texts.size(),
            .tokens = all.tokens,
            .words = all.words,
            .bytes = all.bytes,
            .windows = all.windows,
            .nll = all.nll,
            .by_token = estimate_of(all.by_token),
            .by_word = estimate_of(all.by_word),
            .by_byte = estimate_of(all.by_byte),
            .bits_per_byte = estimate_of(all.bits_per_byte)};
  return made;
}

std::unique_ptr<OwnedChoices> make_choices(std::span<const ChoiceScore> scores) {
  ChoicesStorage storage;
  for (const ChoiceScore& score : scores) {
    const Logprobs& logprobs = storage.logprobs.emplace_back(score.tokens);
    storage.choices.push_back({.tokens = logprobs.tokens.data(),
                               .n_tokens = logprobs.tokens.size(),
                               .sum = score.sum,
                               .mean = score.mean,
                               .greedy_match = score.greedy_match});
  }
  auto made = std::make_unique<OwnedChoices>(std::move(storage));
  made->data = made->storage.choices.data();
  made->count = made->storage.choices.size();
  return made;
}

}  // namespace

}  // namespace gpt2::c_api

void gpt2_scores_free(gpt2_scores* scores) { free_result<OwnedScores>(scores); }

gpt2_status gpt2_score(const gpt2_model* model, const gpt2_ids* texts, size_t n_texts,
                       const gpt2_score_options* options, gpt2_scores** out) {
  return guard_new(out, [&] {
    const gpt2_score_options given = options_of(options);
    const std::optional<gpt2::Tokenizer> tokenizer = optional_tokenizer(given.tokenizer);
    const auto lists = lists_of(texts, n_texts, "the list of texts");
    const gpt2::ScoreOptions score_options = {
        .context = given.context,
        .stride = given.stride,
        .top_logprobs = given.top_logprobs,
        .progress = progress_of(given.on_progress, given.user, given.cancel)};
    const auto scores = gpt2::score(engine_for(model, given.engine), lists, score_options);
    return make_scores(
        scores, tokenizer ? gpt2::perplexity(scores, lists, *tokenizer) : gpt2::perplexity(scores));
  });
}

void gpt2_choices_free(gpt2_choices* choices) { free_result<OwnedChoices>(choices); }

gpt2_status gpt2_score_choices(const gpt2_model* model, const gpt2_token* context, size_t n_context,
                               const gpt2_ids* continuations, size_t n_continuations,
                               const gpt2_score_options* options, gpt2_choices** out) {
  return guard_new(out, [&] {
    const gpt2_score_options given = options_of(options);
    return make_choices(gpt2::score_choices(
        engine_for(model, given.engine), span_of(context, n_context, "the context"),
        lists_of(continuations, n_continuations, "the list of continuations"), given.top_logprobs,
        progress_of(given.on_progress, given.user, given.cancel)));
  });
}

void gpt2_comparison_free(gpt2_comparison* comparison) { delete comparison; }

gpt2_status gpt2_compare_perplexity(const gpt2_model* a, const gpt2_model* b,
                                    const gpt2_token* tokens, size_t n_tokens,
                                    const gpt2_compare_options* options, gpt2_comparison** out) {
  return guard_new(out, [&] {
    const gpt2_compare_options given = options_of(options);
    const gpt2::PerplexityComparison found =
        gpt2::compare_perplexity(engine_for(a, given.engine_a), engine_for(b, given.engine_b),
                                 span_of(tokens, n_tokens, "the list of tokens"),
                                 progress_of(given.on_progress, given.user, given.cancel));
    return std::make_unique<gpt2_comparison>(
        gpt2_comparison{.tokens = found.tokens,
                        .windows = found.windows,
                        .perplexity_a = found.perplexity[0],
                        .perplexity_b = found.perplexity[1],
                        .change = found.change,
                        .standard_error = found.standard_error,
                        .max_logit_change = found.max_logit_change});
  });
}

gpt2_status gpt2_embed(const gpt2_model* model, const gpt2_ids* texts, size_t n_texts,
                       const gpt2_embed_options* options, float* vectors) {
  return guard([&] {
    const gpt2_embed_options given = options_of(options);
    require_value(given.pooling, GPT2_POOLING_LAST, "pooling");
    const gpt2::Engine engine = engine_for(model, given.engine);
    const std::size_t n_embd = engine.model().config().n_embd;
    require_array(vectors, n_texts, n_embd * sizeof(float), "the array of vectors");
    gpt2::EmbedOptions embed_options = {
        .pooling = static_cast<gpt2::Pooling>(given.pooling),
        .layer = {},
        .progress = progress_of(given.on_progress, given.user, given.cancel)};
    if (given.layer != std::numeric_limits<std::size_t>::max()) embed_options.layer = given.layer;
    const auto made =
        gpt2::embed(engine, lists_of(texts, n_texts, "the list of texts"), embed_options);
    for (const std::vector<float>& vector : made) {
      vectors = std::copy(vector.begin(), vector.end(), vectors);
    }
  });
}
