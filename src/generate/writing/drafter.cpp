#include "generate/writing/drafter.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "generate/writing/prompt_reader.h"
#include "generate/writing/tokens.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

bool has_sizes_of(const Config& a, const Config& b) noexcept {
  return a.n_positions == b.n_positions && a.n_embd == b.n_embd && a.n_layer == b.n_layer &&
         a.n_head == b.n_head && a.inner_dim() == b.inner_dim();
}

// Returns the session that the draft model reads and writes: the text's, or the model's own.
Session& session_for(const Model& model, Session& text) {
  const Config& config = model.config();
  const Config& of_text = text.model().config();
  if (config.vocab_size != of_text.vocab_size) {
    reject("the draft must have the vocabulary of the model: it has ", config.vocab_size,
           " tokens, expected ", of_text.vocab_size);
  }
  if (has_sizes_of(config, of_text)) return text;
  std::optional<Session>& own = text.impl()->draft;
  if (!own || own->model().transformer() != model.transformer()) {
    own.reset();  // frees its memory first
    own.emplace(text.engine().impl().engine_of(model),
                SessionOptions{.max_tokens = std::min(text.capacity(), config.n_positions)});
  }
  return *own;
}

// The weight of a new measurement. The speed of a shared machine changes within seconds, and one
// measurement may be disturbed.
constexpr double kWeight = 0.2;

// The factor by which each pass reduces the earlier counts of accepted and refused tokens, so that
// the counts cover about the last 20 passes.
constexpr double kMemory = 0.95;

// The counts that are assumed before any measurement: 3 accepted tokens and 1 refused one.
constexpr double kPriorAccepted = 3.0;
constexpr double kPriorRefused = 1.0;

// The share of the time that useless drafts may cost.
constexpr double kMaxLoss = 0.01;

// After this many passes with drafts, a pass without drafts measures the plain time again.
constexpr std::size_t kRefresh = 64;

void take_mean(double& mean, double value, bool is_first) {
  mean = is_first ? value : (1.0 - kWeight) * mean + kWeight * value;
}

}  // namespace

Drafter::Drafter(Session& text, Sampler& sampler, const GenerationOptions& options)
    : text_(text),
      sampler_(sampler),
      max_tokens_(options.max_draft_tokens),
      is_constant_(options.constant_draft),
      looks_up_(options.prompt_lookup),
      pending_model_(options.pending_draft) {
  if (max_tokens_ < 1 || max_tokens_ > GenerationOptions::kMaxDraft) {
    reject("max_draft_tokens must be from 1 to ", GenerationOptions::kMaxDraft, ", got ",
           max_tokens_);
  }
  if (options.draft && pending_model_.valid()) {
    reject("draft and pending_draft are both set: give one of them");
  }
  if (options.draft) set_model(*options.draft);
}

void Drafter::forget(Session& text) noexcept { text.impl()->draft.reset(); }

std::size_t Drafter::memory_bytes(const Model& model, const Config& text,
                                  std::size_t capacity) noexcept {
  const Config& config = model.config();
  if (has_sizes_of(config, text)) return 0;
  const KVType type = resolved(KVType::automatic, model.weight_type());
  return Session::memory_bytes(config, type, std::min(capacity, config.n_positions));
}

void Drafter::set_model(const Model& model) {
  session_ = &session_for(model, text_);
  logits_.resize(model.config().vocab_size);
  model_ = model;
}

// Starts to use the pending model if it is ready.
void Drafter::take_pending_model() {
  if (!pending_model_.valid()) return;
  if (pending_model_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  const auto ready = std::exchange(pending_model_, {});
  std::optional<Model> model;
  try {
    model = ready.get();
  } catch (...) {
    return;  // the text continues without a draft
  }
  set_model(*model);
}

void Drafter::look_up(std::size_t max) {
  tokens_.clear();
  by_model_ = false;
  has_logits_ = false;
  max_of_pass_ = std::min(max, max_tokens_);
  max_ = 0;
  take_pending_model();
  if (!looks_up_) return;
  const auto found = gpt2::look_up(text_.tokens(), max_of_pass_);
  tokens_.assign(found.begin(), found.end());
}

void Drafter::shorten(std::size_t max) {
  if (!is_constant_) tokens_.resize(std::min(max, tokens_.size()));
}

std::size_t Drafter::max_of_model() const {
  if (!model_ || !tokens_.empty()) return 0;
  const std::size_t room = session_->capacity() + 1;  // the text's last token needs none
  return std::min(max_of_pass_, room - std::min(text_.position(), room));
}

Drafter::ModelPasses Drafter::draft(std::span<Drafter* const> drafters, std::size_t max) {
  for (Drafter* const drafter : drafters) drafter->begin(max, drafters);
  ModelPasses passes;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Slice> slices;
  while (forward(drafters, slices)) {
    ++passes.count;
    for (Drafter* const drafter : drafters) drafter->take();
  }
  if (passes.count != 0) passes.seconds = seconds_since(start);
  for (Drafter* const drafter : drafters) drafter->end();
  return passes;
}

// Runs a pass of one model for all texts that use it and have tokens left to draft. Returns false
// if there are no such texts, or if there is not enough memory.
bool Drafter::forward(std::span<Drafter* const> drafters, std::vector<Slice>& slices) {
  const Drafter* first = nullptr;
  slices.clear();
  try {
    for (Drafter* const drafter : drafters) {
      if (!drafter->goes_on() || (first != nullptr && !drafter->has_model_of(*first))) continue;
      if (first == nullptr) first = drafter;
      slices.push_back(drafter->next());
    }
    if (first == nullptr) return false;
    first->session_->engine().impl().forward(slices, *first->model_);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// Makes the model ready to draft up to `max` tokens. Brings a session of the model's own to the
// beginning that it shares with the text, without the text's last token, whose logits are needed.
void Drafter::begin(std::size_t max, std::span<Drafter* const> others) {
  max_ = is_constant_ ? max_of_model() : std::min(max, max_of_model());
  if (max_ == 0) return;
  by_model_ = true;
  if (std::exchange(has_new_prompt_, false) && !is_copy()) read_text(others);
  const auto text = text_.tokens();
  start_ = text.size() - 1;
  last_ = text.back();
  if (is_copy()) return;
  try {
    session_->rewind(std::min(common_prefix(session_->tokens(), text), start_));
  } catch (const std::bad_alloc&) {
    max_ = 0;
  }
}

// Reads the text, except for its last token, in pieces like a prompt. The draft then has only the
// last token to read. Stops reading if there is not enough memory.
void Drafter::read_text(std::span<Drafter* const> others) {
  const auto text = text_.tokens();
  const auto known_by = [&](const Session& session) {
    return std::min(common_prefix(session.tokens(), text), text.size() - 1);
  };
  const Session* best = session_;
  for (const Drafter* const other : others) {
    if (!has_model_of(*other)) continue;
    if (known_by(*other->session_) > known_by(*best)) best = other->session_;
  }
  try {
    session_->assign(*best, known_by(*best));
    const auto unread = text.subspan(session_->position());
    const std::size_t piece = prompt_piece(*model_);
    for (std::size_t first = 0; first + 1 < unread.size(); first += piece) {
      const Slice slice{
          session_, unread.subspan(first, std::min(piece, unread.size() - 1 - first)), {}};
      session_->engine().impl().forward({&slice, 1}, *model_);
    }
  } catch (const std::exception&) {
    // The passes that draft read what is left, or end the draft for the same reason.
  }
}

// The first pass reads the tokens of the text that the session lacks. If the session is the text's
// own, that is only the token that waits.
Slice Drafter::next() {
  has_logits_ = true;
  const auto unread = tokens_.empty() ? text_.tokens().subspan(session_->position())
                                      : std::span<const TokenId>(tokens_).last(1);
  return {session_, unread, logits_};
}

bool Drafter::has_model_of(const Drafter& other) const noexcept {
  return model_ && other.model_ && model_->transformer() == other.model_->transformer();
}

// After a pass that next() was called for, draws the next token. If the text itself leads to a
// std::exception, drawing its next token throws it again.
void Drafter::take() {
  if (!std::exchange(has_logits_, false)) return;
  try {
    tokens_.push_back(sampler_.sample(logits_, session_->tokens()));
    return;
  } catch (const std::exception&) {
  } catch (...) {
    error_ = std::current_exception();
  }
  max_ = 0;
}

// Removes from the text's session what a copy has drafted. The last token of the text waits again.
void Drafter::end() {
  if (!by_model_ || !is_copy()) return;
  text_.rewind(start_);
  text_.append(std::span(&last_, 1));
}

void Drafter::note_checked(std::size_t accepted) noexcept {
  latest_ = {by_model_, tokens_.size(), accepted};
  by_model_ = false;
  tokens_.clear();
}

std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max) {
  // Matches of two tokens are too often accidental, and matches of four are too rare.
  constexpr std::size_t kMatched = 3;
  if (ids.size() <= kMatched) return {};
  const auto last = ids.last(kMatched);
  for (std::size_t begin = ids.size() - kMatched; begin-- > 0;) {
    if (!std::ranges::equal(ids.subspan(begin, kMatched), last)) continue;
    const auto following = ids.subspan(begin + kMatched);
    return following.first(std::min(max, following.size()));
  }
  return {};
}

void DraftLength::set_texts(std::size_t texts) noexcept {
  if (texts == texts_) return;
  texts_ = texts;
  plain_ = 0.0;
  knows_drafts_ = false;
  passes_ = 0;
}

double DraftLength::agreement() const {
  const double all = accepted_ + refused_ + kPriorAccepted + kPriorRefused;
  return (accepted_ + kPriorAccepted) / all;
}

std::size_t DraftLength::next(std::size_t max, std::size_t drafting) const {
  if (plain_ == 0.0 || passes_ >= kRefresh) return 0;
  // The cost of the first draft is not known yet. Therefore it is short, and it is made only if the
  // account is not overdrawn.
  const std::size_t first = texts_ == 1 ? 2 : 1;
  if (!knows_drafts_) return account_ < 0.0 ? 0 : std::min(max, first);
  const double p = agreement();
  const double cost = draft_ + static_cast<double>(drafting) * row_;  // of one token for each text
  const auto others = static_cast<double>(texts_ - std::min(drafting, texts_));
  std::size_t best = 0;
  double best_speed = static_cast<double>(texts_) / plain_;
  double tokens = 1.0;
  double power = 1.0;  // p^k
  for (std::size_t k = 1; k <= max; ++k) {
    const double costs = static_cast<double>(k) * cost;
    if (costs > account_ + plain_) break;
    power *= p;
    tokens += power;
    const double speed = (others + static_cast<double>(drafting) * tokens) / (plain_ + costs);
    if (speed > best_speed) {
      best = k;
      best_speed = speed;
    }
  }
  return best;
}

void DraftLength::note_plain(double seconds) {
  take_mean(plain_, seconds, plain_ == 0.0);
  passes_ = 0;
  account_ += kMaxLoss * seconds;
  // Reduce the counts slowly, so that drafts are tried again after a while, when the text may have
  // become easier to draft.
  accepted_ *= 1.0 - kMaxLoss;
  refused_ *= 1.0 - kMaxLoss;
}

void DraftLength::note_drafts(const DraftedPass& pass) {
  accepted_ = kMemory * accepted_ + static_cast<double>(pass.accepted);
  refused_ = kMemory * refused_ + static_cast<double>(pass.refused);
  ++passes_;
  if (plain_ == 0.0) return;  // with constant_draft, there may be no plain pass to compare with
  const auto drafted = static_cast<double>(pass.drafted);
  double added = 0.0;  // to the pass, by these tokens
  if (pass.drafted != 0) {
    added = (pass.check_seconds - plain_) * drafted / static_cast<double>(pass.all_drafted);
    take_mean(row_, std::max(0.0, added) / drafted, !knows_drafts_);
  }
  if (pass.steps != 0) {
    take_mean(draft_, pass.draft_seconds / static_cast<double>(pass.steps), !knows_drafts_);
  }
  knows_drafts_ = true;
  const double saved = static_cast<double>(pass.accepted) * plain_ / static_cast<double>(texts_);
  account_ += saved - pass.draft_seconds - added;
}

}  // namespace gpt2
