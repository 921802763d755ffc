#include "gpt2/scheduler.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <list>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/set_while_alive.h"
#include "generate/writing/passes.h"
#include "generate/writing/tokens.h"
#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

// If another text is reading a prompt with the same beginning, a text waits until it can copy these
// tokens, provided that this saves more than this many tokens. For fewer tokens, waiting costs more
// than it saves.
constexpr std::size_t kWorthWaiting = 16;

// Sessions of texts that have ended. A new text that begins with the same tokens as one of them
// need not compute these tokens again. Keeps up to 64 sessions and evicts the least recently used
// one.
class PrefixCache {
 public:
  // A session, and the log-probabilities of the tokens of its prompt, if they were computed.
  struct Ended {
    Session session;
    std::vector<TokenLogprob> scores;
  };

  // Adds a session, without its waiting tokens and without the session of its draft. Frees the
  // session instead if there is not enough memory, or if it has slid, because it then takes more
  // memory than shrink() computes from its position. REQUIRES: all sessions in the cache are of
  // the same model.
  void add(Session session, std::vector<TokenLogprob> scores) noexcept {
    if (session.dropped() != 0) return;
    Drafter::forget(session);
    try {
      session.rewind(session.position() - session.waiting());
      if (session.position() > 0) sessions_.push_back({std::move(session), std::move(scores)});
    } catch (const std::bad_alloc&) {
      return;
    }
    constexpr std::size_t kMaxSessions = 64;
    if (sessions_.size() > kMaxSessions) sessions_.pop_front();
  }

  // Returns the session that has the longest common prefix with `prompt`, or nullptr if no session
  // has a common prefix, and marks it as the most recently used one.
  [[nodiscard]] const Ended* find(std::span<const TokenId> prompt) {
    std::size_t longest = 0;
    auto best = sessions_.end();
    for (auto ended = sessions_.begin(); ended != sessions_.end(); ++ended) {
      const std::size_t common = common_prefix(ended->session.tokens(), prompt);
      if (common <= longest) continue;
      longest = common;
      best = ended;
    }
    if (best == sessions_.end()) return nullptr;
    sessions_.splice(sessions_.end(), sessions_, best);
    return &sessions_.back();
  }

  // Frees the least recently used sessions until the others take at most this many bytes.
  void shrink(std::size_t max_bytes) noexcept {
    std::size_t bytes = 0;
    auto keep = sessions_.end();
    while (keep != sessions_.begin()) {
      const Session& session = std::prev(keep)->session;
      bytes += Session::memory_bytes(session.model().config(), session.engine().kv_type(),
                                     session.position());
      if (bytes > max_bytes) break;
      --keep;
    }
    sessions_.erase(sessions_.begin(), keep);
  }

 private:
  std::list<Ended> sessions_;  // the least recently used one first
};

}  // namespace

// A text, of which the handle and, until it has ended, the scheduler have a share.
struct Text::Impl {
  // What is not needed any more when the text has ended.
  struct Work {
    Work(Scheduler::Impl& of, std::span<const TokenId> ids, const GenerationOptions& given,
         TextTarget receiver)
        : scheduler(of),
          prompt(ids.begin(), ids.end()),
          options(given),
          target(std::move(receiver)) {}

    // Returns the number of tokens for which its session needs room.
    [[nodiscard]] std::size_t capacity(const Config& config) const {
      const std::size_t read = std::min(prompt.size(), config.n_positions);
      return read + std::min(options.max_new_tokens, config.n_positions - read);
    }

    // Returns the number of bytes of its keys and values, and of those of its draft, when its
    // session is full.
    [[nodiscard]] std::size_t max_bytes(const Engine& engine) const {
      const Config& config = engine.model().config();
      const std::size_t room = capacity(config);
      const std::size_t own = Session::memory_bytes(config, engine.kv_type(), room);
      return options.draft ? own + Drafter::memory_bytes(*options.draft, config, room) : own;
    }

    // Returns what `other`, which may have scored its prompt, has computed of the beginning of this
    // prompt. The token after the known ones must be computed for its logits: the first token is
    // drawn after the last one and, if the prompt is scored, each predicts the next one.
    [[nodiscard]] Donor donor(const Session& other, std::span<const TokenLogprob> scores) const {
      const auto computed = other.tokens().first(other.position() - other.waiting());
      std::size_t common = common_prefix(computed, prompt);
      if (common == 0) return {};
      if (!options.on_prompt_logprobs) return {&other, std::min(common, prompt.size() - 1)};
      common = std::min(common, scores.size());
      const bool has_same_top =
          common > 1 && scores[1].top.size() == options.top_logprobs.value_or(0);
      return has_same_top ? Donor{&other, common - 1, scores.first(common)} : Donor{};
    }

    Scheduler::Impl& scheduler;
    std::vector<TokenId> prompt;
    GenerationOptions options;
    TextTarget target;
    std::size_t bytes = 0;                      // that count in running_bytes
    std::optional<Session> session = {};        // from its beginning on, unless one was lent to it
    std::optional<Generation> generation = {};  // from its beginning on
  };

  std::optional<Work> work = {};
  std::optional<GenerationResult> result = {};
  std::exception_ptr error = {};
};

struct Scheduler::Impl {
  using Work = Text::Impl::Work;
  using TextPointer = std::shared_ptr<Text::Impl>;

  Impl(const Engine& e, const SchedulerOptions& o) : engine(e), options(o), passes(e) {
    if (options.max_sequences == 0) reject("max_sequences is 0: a scheduler needs at least 1");
    if (options.max_memory == 0) options.max_memory = available_memory() / 2;
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  void add(const TextPointer& text, Session* lent);
  void cancel(Text::Impl& text) noexcept;
  bool step();
  [[nodiscard]] SchedulerStats stats() const;

 private:
  void admit();
  void begin(Work& work, const Donor& donor);
  [[nodiscard]] Donor best_donor(const Work& work);
  [[nodiscard]] bool reads_same_beginning(const Work& work, std::size_t known) const;
  void run_pass();
  void drop_finished() noexcept;
  void complete(Text::Impl& text) noexcept;

  Engine engine;
  SchedulerOptions options;
  std::list<TextPointer> waiting, running;
  std::size_t running_bytes = 0;
  std::size_t reused_tokens = 0;
  bool is_running = false;  // whether step() is on the stack
  PrefixCache cache;
  Passes passes;
};

void Scheduler::Impl::add(const TextPointer& text, Session* lent) {
  Work& work = *text->work;
  check_target(work.target, work.options, engine.model().config());
  if (lent == nullptr) {
    work.bytes = work.max_bytes(engine);
    waiting.push_back(text);
    return;
  }
  if (lent->model().transformer() != engine.model().transformer()) {
    reject("the session belongs to another model than the scheduler");
  }
  work.generation.emplace(*lent, work.prompt, work.options, work.target);
  running.push_back(text);
}

void Scheduler::Impl::cancel(Text::Impl& text) noexcept {
  if (text.work->generation) {
    text.work->generation->cancel();
    if (!is_running) drop_finished();
    return;
  }
  text.result = {.finish_reason = FinishReason::cancelled,
                 .tokens = {},
                 .prompt_tokens = text.work->prompt.size()};
  std::erase_if(waiting, [&](const TextPointer& one) { return one.get() == &text; });
  text.work.reset();
}

Scheduler::Impl::~Impl() {
  while (!waiting.empty()) cancel(*TextPointer(waiting.front()));
  while (!running.empty()) cancel(*TextPointer(running.front()));
}

bool Scheduler::Impl::step() {
  if (is_running) reject("a sink must not run the scheduler that it is called by");
  const SetWhileAlive running_now(is_running);
  admit();
  run_pass();
  return !running.empty() || !waiting.empty();
}

SchedulerStats Scheduler::Impl::stats() const {
  return {.waiting = waiting.size(),
          .running = running.size(),
          .memory = running_bytes,
          .reused_tokens = reused_tokens};
}

// Begins texts in the order of submission, as long as there is room for them.
void Scheduler::Impl::admit() {
  while (!waiting.empty() && running.size() < options.max_sequences) {
    const TextPointer first = waiting.front();
    Work& work = *first->work;
    Donor donor;
    if (work.bytes <= options.max_memory) {
      if (work.bytes > options.max_memory - running_bytes) return;
      donor = best_donor(work);
      if (reads_same_beginning(work, donor.known)) return;
    }
    try {
      begin(work, donor);
      reused_tokens += donor.known;
      running_bytes += work.bytes;
      running.splice(running.end(), waiting, waiting.begin());
    } catch (...) {
      first->error = std::current_exception();
      waiting.pop_front();
      first->work.reset();
    }
  }
}

void Scheduler::Impl::begin(Work& work, const Donor& donor) {
  if (work.bytes > options.max_memory) {
    reject("the text needs ", work.bytes, " bytes for its keys and values, but at most ",
           options.max_memory, " may be used: let it have fewer new tokens, or allow more memory");
  }
  const std::size_t capacity = work.capacity(engine.model().config());
  work.session.emplace(engine, SessionOptions{.max_tokens = capacity});
  work.generation.emplace(*work.session, work.prompt, work.options, work.target, donor);
  cache.shrink(options.max_memory - running_bytes - work.bytes);
}

// A session that has been lent is no donor, because its keys and values may have been changed.
Donor Scheduler::Impl::best_donor(const Work& work) {
  Donor best;
  const auto consider = [&](const Session& session, std::span<const TokenLogprob> scores) {
    const Donor donor = work.donor(session, scores);
    if (donor.known > best.known) best = donor;
  };
  if (const auto* const ended = cache.find(work.prompt)) consider(ended->session, ended->scores);
  for (const TextPointer& other : running) {
    if (other->work->session) {
      consider(*other->work->session, other->work->generation->prompt_scores());
    }
  }
  return best;
}

// Returns whether a running text is still reading a prompt whose common prefix with this text's
// prompt is longer than `known` by more than kWorthWaiting tokens.
bool Scheduler::Impl::reads_same_beginning(const Work& work, std::size_t known) const {
  return std::ranges::any_of(running, [&](const TextPointer& text) {
    const Work& other = *text->work;
    return other.session && other.generation->reads_prompt() &&
           (other.options.on_prompt_logprobs || !work.options.on_prompt_logprobs) &&
           common_prefix(other.prompt, work.prompt) > known + kWorthWaiting;
  });
}

// Runs one forward pass for all running texts, and ends those that it has finished.
void Scheduler::Impl::run_pass() {
  std::vector<Generation*> texts;
  for (const TextPointer& text : running) texts.push_back(&*text->work->generation);
  passes.run(texts);
  drop_finished();
}

// The functions of a text may own handles of others. So they are destroyed when the lists are in
// order.
void Scheduler::Impl::drop_finished() noexcept {
  std::list<TextPointer> ended;
  for (auto text = running.begin(); text != running.end();) {
    const auto one = text++;
    if ((*one)->work->generation->end_if_cancelled()) ended.splice(ended.end(), running, one);
  }
  for (const TextPointer& text : ended) complete(*text);
}

// Takes the result of a text that has ended, and adds its session to the cache.
void Scheduler::Impl::complete(Text::Impl& text) noexcept {
  Work& work = *text.work;
  try {
    text.result = work.generation->take_result();
  } catch (...) {
    text.error = std::current_exception();
  }
  running_bytes -= work.bytes;
  std::vector<TokenLogprob> scores = work.generation->take_prompt_scores();
  work.generation.reset();
  if (work.session) cache.add(std::move(*work.session), std::move(scores));
  cache.shrink(options.max_memory - running_bytes);
  text.work.reset();
}

Text::Text(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Text::Text(Text&&) noexcept = default;
Text& Text::operator=(Text&& other) noexcept {
  Text taken(std::move(other));
  impl_.swap(taken.impl_);
  return *this;
}
Text::~Text() {
  if (impl_) cancel();
}

bool Text::finished() const noexcept { return !impl_->work; }

GenerationResult Text::take_result() {
  if (!finished()) reject("the text has not ended: let the scheduler run until it has");
  if (impl_->error) std::rethrow_exception(impl_->error);
  return std::move(*impl_->result);
}

void Text::cancel() noexcept {
  if (!finished()) impl_->work->scheduler.cancel(*impl_);
}

Scheduler::Scheduler(const Engine& engine, const SchedulerOptions& options)
    : impl_(std::make_unique<Impl>(engine, options)) {}

Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

Text Scheduler::add(Session* lent, std::span<const TokenId> prompt,
                    const GenerationOptions& options, TextTarget target) {
  const auto text = std::make_shared<Text::Impl>();
  text->work.emplace(*impl_, prompt, options, std::move(target));
  impl_->add(text, lent);
  return Text(text);
}

Text Scheduler::submit(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                       const GenerationOptions& options,
                       std::function<bool(std::string_view)> sink) {
  return add(nullptr, prompt, options, {tokenizer, std::move(sink), nullptr});
}

Text Scheduler::submit(std::span<const TokenId> prompt, const GenerationOptions& options,
                       std::function<bool(TokenId)> sink) {
  return add(nullptr, prompt, options, {std::nullopt, nullptr, std::move(sink)});
}

Text Scheduler::submit(std::span<const TokenId> prompt, const GenerationOptions& options,
                       TextTarget target) {
  return add(nullptr, prompt, options, std::move(target));
}

Text Scheduler::submit(Session& session, std::span<const TokenId> prompt,
                       const GenerationOptions& options, TextTarget target) {
  return add(&session, prompt, options, std::move(target));
}

bool Scheduler::step() { return impl_->step(); }

SchedulerStats Scheduler::stats() const { return impl_->stats(); }

}  // namespace gpt2
