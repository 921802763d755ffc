#include "c_api/results.h"

#include <utility>

namespace gpt2::c_api {

std::unique_ptr<OwnedIds> make_ids(std::vector<TokenId> ids) {
  auto result = std::make_unique<OwnedIds>(std::move(ids));
  result->data = result->storage.data();
  result->count = result->storage.size();
  return result;
}

std::unique_ptr<OwnedBytes> make_bytes(std::string bytes) {
  auto result = std::make_unique<OwnedBytes>(std::move(bytes));
  result->data = result->storage.c_str();
  result->size = result->storage.size();
  return result;
}

Logprobs::Logprobs(std::span<const TokenLogprob> scores) {
  std::size_t n_top = 0;
  for (const TokenLogprob& score : scores) n_top += score.top.size();
  tokens.reserve(scores.size());
  top.reserve(n_top);  // so that the pointers into it stay valid
  for (const TokenLogprob& score : scores) {
    tokens.push_back({score.logprob, score.rank, top.data() + top.size(), score.top.size()});
    for (const LikelyToken& likely : score.top) top.push_back({likely.id, likely.logprob});
  }
}

std::unique_ptr<OwnedGeneration> make_generation(const GenerationResult& result, std::string text) {
  auto made = std::make_unique<OwnedGeneration>(
      GenerationStorage{result.tokens, std::move(text), Logprobs(result.logprobs)});
  const GenerationStorage& storage = made->storage;
  gpt2_generation& generation = *made;
  generation = {
      .finish_reason = static_cast<gpt2_finish_reason>(result.finish_reason),
      .tokens = storage.tokens.data(),
      .n_tokens = storage.tokens.size(),
      .text = storage.text.c_str(),
      .n_text = storage.text.size(),
      .logprobs = storage.logprobs.tokens.empty() ? nullptr : storage.logprobs.tokens.data(),
      .logits_hash = result.logits_hash,
      .prompt_tokens = result.prompt_tokens,
      .drafted_tokens = result.drafted_tokens,
      .accepted_tokens = result.accepted_tokens,
      .dropped_tokens = result.dropped_tokens,
      .prompt_seconds = result.prompt_seconds,
      .generation_seconds = result.generation_seconds};
  return made;
}

}  // namespace gpt2::c_api

using namespace gpt2::c_api;

void gpt2_ids_free(gpt2_ids* ids) { free_result<OwnedIds>(ids); }

void gpt2_bytes_free(gpt2_bytes* bytes) { free_result<OwnedBytes>(bytes); }

void gpt2_generation_free(gpt2_generation* generation) { free_result<OwnedGeneration>(generation); }
