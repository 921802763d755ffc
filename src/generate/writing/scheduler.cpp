#include "gpt2/scheduler.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <future>
#include <iterator>
#include <list>
#include <mutex>
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
  // Adds a session, without its waiting tokens and without the session of its draft. Frees the
  // session instead if there is not enough memory, or if it has slid, because it then takes more
  // memory than shrink() computes from its position. REQUIRES: all sessions in the cache are of
  // the same model.
  void add(Session session) noexcept;

  // Returns the session that has the longest common prefix with `prompt`, or nullptr if no session
  // has a common prefix, and marks it as the most recently used one.
  [[nodiscard]] const Session* find(std::span<const TokenId> prompt);

  // Frees the least recently used sessions until the others take at most this many bytes.
  void shrink(std::size_t max_bytes) noexcept;

 private:
  std::list<Session> sessions_;  // the least recently used one first
};

void PrefixCache::add(Session session) noexcept {
  if (session.dropped() != 0) return;
  Drafter::forget(session);
  try {
    session.rewind(session.position() - session.waiting());
    if (session.position() > 0) sessions_.push_back(std::move(session));
  } catch (const std::bad_alloc&) {
    return;
  }
  constexpr std::size_t kMaxSessions = 64;
  if (sessions_.size() > kMaxSessions) sessions_.pop_front();
}

const Session* PrefixCache::find(std::span<const TokenId> prompt) {
  std::size_t longest = 0;
  auto best = sessions_.end();
  for (auto session = sessions_.begin(); session != sessions_.end(); ++session) {
    const std::size_t common = common_prefix(session->tokens(), prompt);
    if (common <= longest) continue;
    longest = common;
    best = session;
  }
  if (best == sessions_.end()) return nullptr;
  sessions_.splice(sessions_.end(), sessions_, best);
  return &sessions_.back();
}

void PrefixCache::shrink(std::size_t max_bytes) noexcept {
  std::size_t bytes = 0;
  auto keep = sessions_.end();
  while (keep != sessions_.begin()) {
    const Session& session = *std::prev(keep);
    bytes += Session::memory_bytes(session.model().config(), session.engine().kv_type(),
                                   session.position());
    if (bytes > max_bytes) break;
    --keep;
  }
  sessions_.erase(sessions_.begin(), keep);
}

// A text, from its submission to its end.
struct Text {
  Text(std::span<const TokenId> ids, const GenerationOptions& given, TextTarget receiver)
      : prompt(ids.begin(), ids.end()), options(given), target(std::move(receiver)) {}

  // Returns the number of tokens for which its session needs room.
  [[nodiscard]] std::size_t capacity(const Config& config) const {
    const std::size_t read = std::min(prompt.size(), config.n_positions);
    return read + std::min(options.max_new_tokens, config.n_positions - read);
  }

  // Returns the number of bytes of its keys and values, and of those of its draft, when its session
  // is full.
  [[nodiscard]] std::size_t bytes(const Engine& engine) const {
    const Config& config = engine.model().config();
    const std::size_t room = capacity(config);
    const std::size_t bytes = Session::memory_bytes(config, engine.kv_type(), room);
    return options.draft ? bytes + Drafter::memory_bytes(*options.draft, config, room) : bytes;
  }

  // Returns how many tokens at the beginning of the prompt `other` has computed. Does not count the
  // last token of the prompt, because it must be computed for its logits, from which the first
  // token is drawn.
  [[nodiscard]] std::size_t known_by(const Session& other) const {
    if (prompt.empty()) return 0;
    const auto computed = other.tokens().first(other.position() - other.waiting());
    return common_prefix(computed, std::span(prompt).first(prompt.size() - 1));
  }

  // Fulfils the promise with the exception that is being handled.
  void fail() { promise.set_exception(std::current_exception()); }

  std::vector<TokenId> prompt;
  GenerationOptions options;
  TextTarget target;
  std::promise<GenerationResult> promise;
  std::optional<Session> session;  // set when the text begins
  std::optional<Generation> generation;
};

using TextPointer = std::unique_ptr<Text>;

}  // namespace

struct Scheduler::Impl {
  Impl(const Engine& e, const SchedulerOptions& o) : engine(e), options(o), passes(e) {
    if (options.max_sequences == 0) reject("max_sequences is 0: a scheduler needs at least 1");
    if (options.max_memory == 0) options.max_memory = available_memory() / 2;
  }

  std::future<GenerationResult> submit(TextPointer text);
  bool step();
  [[nodiscard]] SchedulerStats stats();

  Engine engine;

 private:
  void drop_cancelled();
  void admit();
  void begin(Text& text, const Donor& donor);
  [[nodiscard]] Donor best_donor(const Text& text);
  [[nodiscard]] bool reads_same_beginning(const Text& text, std::size_t known) const;
  void run_pass();
  void complete(Text& text);

  SchedulerOptions options;
  std::mutex mutex;
  std::deque<TextPointer> submitted;  // guarded by the mutex
  std::deque<TextPointer> waiting;
  std::vector<TextPointer> running;
  std::size_t running_bytes = 0;
  std::size_t reused_tokens = 0;
  bool is_running = false;  // whether step() is on the stack
  PrefixCache cache;
  Passes passes;
};

std::future<GenerationResult> Scheduler::Impl::submit(TextPointer text) {
  auto future = text->promise.get_future();
  const std::lock_guard lock(mutex);
  submitted.push_back(std::move(text));
  return future;
}

bool Scheduler::Impl::step() {
  if (is_running) reject("a sink must not run the scheduler that it is called by");
  const SetWhileAlive running_now(is_running);
  {
    const std::lock_guard lock(mutex);
    for (; !submitted.empty(); submitted.pop_front()) {
      waiting.push_back(std::move(submitted.front()));
    }
  }
  drop_cancelled();
  admit();
  run_pass();
  const std::lock_guard lock(mutex);
  return !running.empty() || !waiting.empty() || !submitted.empty();
}

SchedulerStats Scheduler::Impl::stats() {
  const std::lock_guard lock(mutex);
  return {.waiting = waiting.size() + submitted.size(),
          .running = running.size(),
          .memory = running_bytes,
          .reused_tokens = reused_tokens};
}

// Ends the waiting texts that nobody wants any more.
void Scheduler::Impl::drop_cancelled() {
  std::erase_if(waiting, [](const TextPointer& text) {
    const auto& is_wanted = text->target.is_wanted;
    try {
      if (!is_wanted || is_wanted()) return false;
      text->promise.set_value({.finish_reason = FinishReason::cancelled,
                               .tokens = {},
                               .prompt_tokens = text->prompt.size()});
    } catch (...) {
      text->fail();
    }
    return true;
  });
}

// Begins texts in the order of submission, as long as there is room for them.
void Scheduler::Impl::admit() {
  while (!waiting.empty() && running.size() < options.max_sequences) {
    const Text& first = *waiting.front();
    const std::size_t bytes = first.bytes(engine);
    Donor donor;
    if (bytes <= options.max_memory) {
      if (bytes > options.max_memory - running_bytes) return;
      donor = best_donor(first);
      if (reads_same_beginning(first, donor.known)) return;
    }
    TextPointer text = std::move(waiting.front());
    waiting.pop_front();
    try {
      begin(*text, donor);
      reused_tokens += donor.known;
      running.push_back(std::move(text));
      running_bytes += bytes;
    } catch (...) {
      text->fail();
    }
  }
}

void Scheduler::Impl::begin(Text& text, const Donor& donor) {
  const std::size_t bytes = text.bytes(engine);
  if (bytes > options.max_memory) {
    reject("the text needs ", bytes, " bytes for its keys and values, but at most ",
           options.max_memory, " may be used: let it have fewer new tokens, or allow more memory");
  }
  const std::size_t capacity = text.capacity(engine.model().config());
  text.session.emplace(engine, SessionOptions{.max_tokens = capacity});
  text.generation.emplace(*text.session, text.prompt, text.options, text.target, donor);
  cache.shrink(options.max_memory - running_bytes - bytes);
}

Donor Scheduler::Impl::best_donor(const Text& text) {
  Donor best;
  const auto consider = [&](const Session& session) {
    const std::size_t known = text.known_by(session);
    if (known > best.known) best = {&session, known};
  };
  if (const Session* const ended = cache.find(text.prompt)) consider(*ended);
  for (const TextPointer& other : running) consider(*other->session);
  return best;
}

// Returns whether a running text is still reading a prompt whose common prefix with this text's
// prompt is longer than `known` by more than kWorthWaiting tokens.
bool Scheduler::Impl::reads_same_beginning(const Text& text, std::size_t known) const {
  return std::ranges::any_of(running, [&](const TextPointer& other) {
    return other->generation->reads_prompt() &&
           common_prefix(other->prompt, text.prompt) > known + kWorthWaiting;
  });
}

// Runs one forward pass for all running texts, and ends those that it has finished.
void Scheduler::Impl::run_pass() {
  std::vector<Generation*> texts;
  for (const TextPointer& text : running) texts.push_back(&*text->generation);
  passes.run(texts);
  for (TextPointer& text : running) {
    if (!text->generation->finished()) continue;
    complete(*text);
    text.reset();
  }
  std::erase(running, nullptr);
}

// Fulfils the promise of a text that has ended, and adds its session to the cache.
void Scheduler::Impl::complete(Text& text) {
  try {
    text.promise.set_value(text.generation->take_result());
  } catch (...) {
    text.fail();
  }
  running_bytes -= text.bytes(engine);
  text.generation.reset();
  cache.add(std::move(*text.session));
  cache.shrink(options.max_memory - running_bytes);
}

Scheduler::Scheduler(const Engine& engine, const SchedulerOptions& options)
    : impl_(std::make_unique<Impl>(engine, options)) {}

Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

std::future<GenerationResult> Scheduler::submit(std::span<const TokenId> prompt,
                                                const GenerationOptions& options,
                                                TextTarget target) {
  check_target(target, options, impl_->engine.model().config());
  return impl_->submit(std::make_unique<Text>(prompt, options, std::move(target)));
}

std::future<GenerationResult> Scheduler::submit(const Tokenizer& tokenizer,
                                                std::span<const TokenId> prompt,
                                                const GenerationOptions& options,
                                                std::function<bool(std::string_view)> sink) {
  return submit(prompt, options, {tokenizer, std::move(sink), nullptr});
}

std::future<GenerationResult> Scheduler::submit(std::span<const TokenId> prompt,
                                                const GenerationOptions& options,
                                                std::function<bool(TokenId)> sink) {
  return submit(prompt, options, {std::nullopt, nullptr, std::move(sink)});
}

bool Scheduler::step() { return impl_->step(); }

SchedulerStats Scheduler::stats() const { return impl_->stats(); }

}  // namespace gpt2
