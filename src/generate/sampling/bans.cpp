#include <algorithm>

#include "generate/sampling/processor.h"
#include "generate/sampling/sequences.h"

namespace gpt2 {

void ban_repeated_ngrams(const Processing& p) {
  const std::size_t n = p.options.no_repeat_ngram_size;
  if (n > p.ids.size()) return;
  const auto last = p.ids.last(n - 1);
  for (std::size_t begin = 0; begin + n <= p.ids.size(); ++begin) {
    const auto ngram = p.ids.subspan(begin, n);
    if (std::ranges::equal(ngram.first(n - 1), last)) p.score(ngram.back()) = kRemoved;
  }
}

void ban_bad_words(const Processing& p) {
  for (const auto& word : p.options.bad_words_ids) {
    const bool is_eos =
        word.size() == 1 && std::ranges::count(p.limits.eos_token_id, word.front()) != 0;
    if (!is_eos && would_complete(word, p.ids)) p.score(word.back()) = kRemoved;
  }
}

void suppress(const Processing& p) {
  for (const TokenId id : p.options.suppress_tokens) p.score(id) = kRemoved;
}

void suppress_at_begin(const Processing& p) {
  // If forced_bos_token_id determines the first token after a prompt of one token, this option
  // applies to the second one.
  const bool follows_forced =
      p.limits.prompt_length <= 1 && p.options.forced_bos_token_id.has_value();
  if (p.ids.size() != p.limits.prompt_length + (follows_forced ? 1 : 0)) return;
  for (const TokenId id : p.options.begin_suppress_tokens) p.score(id) = kRemoved;
}

}  // namespace gpt2
