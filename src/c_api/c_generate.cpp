#include "c_api/arguments.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "c_api/sampling_arguments.h"

using namespace gpt2::c_api;

struct gpt2_sampler {
  static constexpr const char* kName = "gpt2_sampler";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40706;

  std::uint64_t tag = kTag;
  gpt2::Sampler sampler;
  std::size_t vocab_size;
};

namespace {

static_assert(static_cast<int>(gpt2::FinishReason::end_of_text) == GPT2_FINISH_END_OF_TEXT);
static_assert(static_cast<int>(gpt2::FinishReason::stop_string) == GPT2_FINISH_STOP_STRING);
static_assert(static_cast<int>(gpt2::FinishReason::length) == GPT2_FINISH_LENGTH);
static_assert(static_cast<int>(gpt2::FinishReason::context_full) == GPT2_FINISH_CONTEXT_FULL);
static_assert(static_cast<int>(gpt2::FinishReason::cancelled) == GPT2_FINISH_CANCELLED);

std::unique_ptr<OwnedGeneration> generate(gpt2_session* session,
                                          std::span<const gpt2::TokenId> prompt,
                                          const GenerationArguments& arguments) {
  const gpt2::GenerationResult result =
      gpt2::generate(checked(session).session, prompt, arguments.options, arguments.target);
  return make_generation(result, std::move(*arguments.text));
}

std::span<const float> logits_of(const gpt2_sampler& sampler, const float* logits) {
  return span_of(logits, sampler.vocab_size, "the array of logits");
}

}  // namespace

const char* gpt2_finish_reason_name(gpt2_finish_reason reason) {
  const std::string_view name = gpt2::name_of(static_cast<gpt2::FinishReason>(reason));
  return name.empty() ? "unknown" : name.data();
}

gpt2_status gpt2_generate(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                          const gpt2_token* prompt, size_t n_prompt,
                          const gpt2_generate_options* options, gpt2_generation** out) {
  return guard_new(out, [&] {
    return generate(session, span_of(prompt, n_prompt, "the prompt"),
                    GenerationArguments(tokenizer, options));
  });
}

gpt2_status gpt2_generate_text(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                               const char* prompt, size_t n_bytes,
                               const gpt2_generate_options* options, gpt2_generation** out) {
  return guard_new(out, [&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    return generate(session, text.encode(text_of(prompt, n_bytes, "the prompt")),
                    GenerationArguments(tokenizer, options));
  });
}

gpt2_status gpt2_sampler_new(const gpt2_sampling_options* options, size_t vocab_size,
                             const gpt2_sequence_limits* limits, gpt2_sampler** out) {
  return guard_new(out, [&] {
    return std::unique_ptr<gpt2_sampler>(new gpt2_sampler{
        .sampler = gpt2::Sampler(sampling_of(options), vocab_size, limits_of(limits)),
        .vocab_size = vocab_size});
  });
}

gpt2_status gpt2_sampler_sample(gpt2_sampler* sampler, const float* logits, const gpt2_token* ids,
                                size_t n_ids, gpt2_token* token) {
  return guard([&] {
    gpt2_sampler& given = checked(sampler);
    require(token, "the output pointer `token`");
    *token = given.sampler.sample(logits_of(given, logits), span_of(ids, n_ids, "the list of ids"));
  });
}

gpt2_status gpt2_sampler_process(gpt2_sampler* sampler, const float* logits, const gpt2_token* ids,
                                 size_t n_ids, const float** scores) {
  return guard([&] {
    gpt2_sampler& given = checked(sampler);
    require(scores, "the output pointer `scores`");
    const auto processed =
        given.sampler.process(logits_of(given, logits), span_of(ids, n_ids, "the list of ids"));
    *scores = processed.data();
  });
}

void gpt2_sampler_free(gpt2_sampler* sampler) { release(sampler); }
