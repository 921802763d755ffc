#include "generate/decoder.h"

#include <algorithm>
#include <chrono>

#include "base/fail.h"
#include "base/hash.h"
#include "base/seconds_since.h"
#include "generate/prompt_lookup.h"

namespace gpt2 {

Decoder::Decoder(Session& session, Sampler& sampler, const GenerationOptions& options,
                 const std::function<bool(TokenId)>& sink, GenerationResult& result)
    : session_(session), sampler_(sampler), options_(options), sink_(sink), result_(result) {
  if (options.max_draft_tokens < 1 || options.max_draft_tokens > GenerationOptions::kMaxDraft) {
    reject("max_draft_tokens must be from 1 to ", GenerationOptions::kMaxDraft, ", got ",
           options.max_draft_tokens);
  }
  if (options.draft) draft_.emplace(*options.draft, session);
}

FinishReason Decoder::run(std::span<const float> prompt_logits) {
  if (options_.max_new_tokens == 0) return FinishReason::length;
  std::optional<FinishReason> finished = take(prompt_logits);
  const bool drafts = draft_ || options_.prompt_lookup;
  while (!finished) finished = drafts ? take_drafts() : take(session_.forward({}));
  return *finished;
}

// Draws a token from each row of logits, as long as the drafted tokens are right.
std::optional<FinishReason> Decoder::take(std::span<const float> logits) {
  const std::size_t vocab_size = session_.model().config().vocab_size;
  const std::size_t first = session_.position() - drafted_.size();
  for (std::size_t row = 0;; ++row) {
    const std::size_t position = first + row;
    const auto scores = logits.subspan(row * vocab_size, vocab_size);
    if (options_.hash_logits) result_.logits_hash = hash_floats(scores, result_.logits_hash);
    const TokenId token = draw(scores, position);
    if (ends_text(token)) {
      session_.rewind(position);
      return FinishReason::end_of_text;
    }
    result_.tokens.push_back(token);
    const bool is_accepted = row < drafted_.size() && drafted_[row] == token;
    result_.accepted_tokens += is_accepted;
    const bool is_last = result_.tokens.size() == options_.max_new_tokens;
    const bool is_full = position == session_.capacity();
    if (!is_accepted || is_last) settle(position, token);
    if (!give(token, position)) return FinishReason::cancelled;
    if (is_full) return FinishReason::context_full;
    if (is_last) return FinishReason::length;
    if (!is_accepted) return std::nullopt;
  }
}

// Draws the token at `position`. If that fails, what was drafted is forgotten.
TokenId Decoder::draw(std::span<const float> logits, std::size_t position) {
  try {
    return sampler_.sample(logits, session_.tokens().first(position));
  } catch (...) {
    session_.rewind(position);
    throw;
  }
}

// Gives the token to the sink. If the sink ends the text, what was drafted after it is forgotten.
bool Decoder::give(TokenId token, std::size_t position) {
  if (!sink_) return true;
  try {
    if (sink_(token)) return true;
  } catch (...) {
    settle(position, token);
    throw;
  }
  settle(position, token);
  return false;
}

// Makes `last` the token at `position`, which waits, and forgets what comes after it. In a session
// that is full, the last token has no room.
void Decoder::settle(std::size_t position, TokenId last) {
  session_.rewind(position);
  if (position < session_.capacity()) session_.append(std::span(&last, 1));
}

// Fills drafted_ with tokens from the text so far or, if it has none to offer, from the draft
// model. Returns the DraftLength that chose their number.
DraftLength& Decoder::propose() {
  const std::size_t max = max_drafted();
  const auto wanted = [&](const DraftLength& length) {
    return options_.constant_draft ? max : length.next(max);
  };
  const auto found = options_.prompt_lookup ? look_up(session_.tokens(), wanted(lookup_length_))
                                            : std::span<const TokenId>();
  const bool is_found = !found.empty() || !draft_;
  const auto proposal =
      is_found ? found : draft_->propose(session_, sampler_, wanted(draft_length_));
  drafted_.assign(proposal.begin(), proposal.end());
  return is_found ? lookup_length_ : draft_length_;
}

// Drafts tokens, computes the logits after the token that waits and after each drafted one in one
// pass, and takes from them what it can.
std::optional<FinishReason> Decoder::take_drafts() {
  const auto start = std::chrono::steady_clock::now();
  DraftLength& length = propose();
  const double draft_seconds = seconds_since(start);
  logits_.resize((1 + drafted_.size()) * session_.model().config().vocab_size);
  const Slice slice{&session_, drafted_, logits_};
  forward(std::span(&slice, 1));
  const double check_seconds = seconds_since(start) - draft_seconds;

  const std::size_t accepted_before = result_.accepted_tokens;
  const std::optional<FinishReason> finished = take(logits_);
  const std::size_t accepted = result_.accepted_tokens - accepted_before;
  if (drafted_.empty()) {
    for (DraftLength* const each : {&draft_length_, &lookup_length_}) {
      each->note_plain(draft_seconds + check_seconds);
    }
  } else {
    length.note_drafts(drafted_.size(), accepted, draft_seconds, check_seconds);
  }
  result_.drafted_tokens += drafted_.size();
  drafted_.clear();
  return finished;
}

// A pass writes one token more than it accepts, and the last one needs no room.
std::size_t Decoder::max_drafted() const {
  const std::size_t left = options_.max_new_tokens - result_.tokens.size();
  return std::min({options_.max_draft_tokens, left - 1, session_.capacity() - session_.position()});
}

bool Decoder::ends_text(TokenId token) const {
  const std::vector<TokenId>& eos = session_.model().config().eos_token_id;
  return std::ranges::count(options_.stop_tokens, token) != 0 ||
         (!options_.ignore_eos && std::ranges::count(eos, token) != 0);
}

}  // namespace gpt2
