#include "gpt2/scheduler.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "generate/prefix_cache.h"
#include "generate/scheduled_text.h"
#include "generate/speculation.h"
#include "gpt2/runtime.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

// If another text is reading a prompt with the same beginning, a text waits until it can copy these
// tokens, provided that this saves more than this many tokens. For fewer tokens, waiting costs more
// than it saves.
constexpr std::size_t kWorthWaiting = 16;

using TextPointer = std::unique_ptr<ScheduledText>;

// A session that has computed the first `known` tokens of a prompt.
struct Donor {
  const Session* session = nullptr;
  std::size_t known = 0;
};

class SetWhileAlive {
 public:
  explicit SetWhileAlive(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~SetWhileAlive() { flag_ = false; }
  SetWhileAlive(const SetWhileAlive&) = delete;
  SetWhileAlive& operator=(const SetWhileAlive&) = delete;

 private:
  bool& flag_;
};

}  // namespace

struct Scheduler::Impl {
  Impl(const Engine& e, const SchedulerOptions& o) : engine(e), options(o) {
    if (options.max_sequences == 0) reject("max_sequences is 0: a scheduler needs at least 1");
    if (options.max_memory == 0) options.max_memory = available_memory() / 2;
  }

  std::future<GenerationResult> submit(TextPointer text);
  bool step();

  Engine engine;

 private:
  void admit();
  void begin(ScheduledText& text, const Donor& donor);
  [[nodiscard]] Donor best_donor(const ScheduledText& text);
  [[nodiscard]] bool reads_same_beginning(const ScheduledText& text, std::size_t known) const;
  void draft();
  void run_pass();
  template <class Step>
  void attempt(TextPointer& text, const Step& step_of_text);
  void remove(TextPointer& text) noexcept;

  SchedulerOptions options;
  std::mutex mutex;
  std::deque<TextPointer> submitted;  // guarded by the mutex
  std::deque<TextPointer> waiting;
  std::vector<TextPointer> running;  // nullptr for a text that has ended in this step
  std::size_t running_bytes = 0;
  bool is_running = false;  // whether step() is on the stack
  PrefixCache cache;
  Speculation speculation;
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
  admit();
  run_pass();
  std::erase(running, nullptr);
  const std::lock_guard lock(mutex);
  return !running.empty() || !waiting.empty() || !submitted.empty();
}

// Begins texts in the order of submission, as long as there is room for them.
void Scheduler::Impl::admit() {
  while (!waiting.empty() && running.size() < options.max_sequences) {
    const ScheduledText& first = *waiting.front();
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
      running.push_back(std::move(text));
      running_bytes += bytes;
    } catch (...) {
      text->fail();
    }
  }
}

void Scheduler::Impl::begin(ScheduledText& text, const Donor& donor) {
  const std::size_t bytes = text.bytes(engine);
  if (bytes > options.max_memory) {
    reject("the text needs ", bytes, " bytes for its keys and values, but at most ",
           options.max_memory, " may be used: let it have fewer new tokens, or allow more memory");
  }
  text.begin(engine, donor.session, donor.known);
  cache.shrink(options.max_memory - running_bytes - bytes);
}

Donor Scheduler::Impl::best_donor(const ScheduledText& text) {
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
bool Scheduler::Impl::reads_same_beginning(const ScheduledText& text, std::size_t known) const {
  return std::ranges::any_of(running, [&](const TextPointer& other) {
    return other->generation->reads_prompt() &&
           common_prefix(other->prompt, text.prompt) > known + kWorthWaiting;
  });
}

// Drafts tokens of the texts for the next pass, unless that pass also reads pieces of prompts.
void Scheduler::Impl::draft() {
  std::vector<Decoder*> decoders;
  for (const TextPointer& text : running) {
    if (text->generation->reads_prompt()) return;
    decoders.push_back(&text->generation->decoder());
  }
  speculation.draft(decoders, [&](std::size_t i, const auto& step) {
    attempt(running[i], step);
    return running[i] != nullptr;
  });
}

// Runs one forward pass for all running texts: one row and the drafted tokens of each text that is
// being written, and pieces of prompts, in order, which together have at most prompt_piece()
// tokens.
void Scheduler::Impl::run_pass() {
  std::vector<Slice> slices;
  std::vector<TextPointer*> texts;
  slices.reserve(running.size());  // so that a text is in both lists or in none
  texts.reserve(running.size());
  draft();
  std::size_t prompt_rows = prompt_piece(engine.model());
  for (TextPointer& text : running) {
    if (!text) continue;
    const bool reads = text->generation->reads_prompt();
    if (reads && prompt_rows == 0) continue;
    attempt(text, [&] {
      const auto slice = text->generation->next(prompt_rows);
      if (!slice) return;
      slices.push_back(*slice);
      texts.push_back(&text);
      if (reads) prompt_rows -= slice->tokens.size();
    });
  }
  try {
    speculation.forward(engine, slices);
  } catch (...) {
    for (TextPointer* const text : texts) {
      (*text)->fail();
      remove(*text);
    }
    return;
  }
  if (texts.size() > 1) {
    engine.impl().for_each(texts.size(),
                           [&](std::size_t i, int) { (*texts[i])->generation->draw_ahead(); });
  }
  for (TextPointer* const text : texts) {
    attempt(*text, [&] {
      (*text)->generation->take();
      speculation.count((*text)->generation->decoder());
    });
  }
  speculation.note_pass();
}

// Runs one step of a text. Removes the text if the step ends it or throws.
template <class Step>
void Scheduler::Impl::attempt(TextPointer& text, const Step& step_of_text) {
  try {
    step_of_text();
    if (!text->generation->finished()) return;
    text->complete();
  } catch (...) {
    text->fail();
  }
  remove(text);
}

// Adds the session of the text to the cache, unless the session has slid: it then takes more memory
// than the cache computes from its position.
void Scheduler::Impl::remove(TextPointer& text) noexcept {
  running_bytes -= text->bytes(engine);
  const bool has_slid = text->generation->result().dropped_tokens != 0;
  text->generation.reset();
  if (!has_slid) cache.add(std::move(*text->session));
  cache.shrink(options.max_memory - running_bytes);
  text.reset();
}

Scheduler::Scheduler(const Engine& engine, const SchedulerOptions& options)
    : impl_(std::make_unique<Impl>(engine, options)) {}

Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

std::future<GenerationResult> Scheduler::submit(const Tokenizer& tokenizer,
                                                std::span<const TokenId> prompt,
                                                const GenerationOptions& options,
                                                std::function<bool(std::string_view)> sink) {
  tokenizer.require_match(impl_->engine.model().config());
  auto text = std::make_unique<ScheduledText>(prompt, options_with(tokenizer, options));
  text->text.emplace(tokenizer, options, std::move(sink));
  text->sink = [&to = *text->text](TokenId token) { return to.write(token); };
  return impl_->submit(std::move(text));
}

std::future<GenerationResult> Scheduler::submit(std::span<const TokenId> prompt,
                                                const GenerationOptions& options,
                                                std::function<bool(TokenId)> sink) {
  require_no_stop_strings(options);
  auto text = std::make_unique<ScheduledText>(prompt, options);
  text->sink = std::move(sink);
  return impl_->submit(std::move(text));
}

bool Scheduler::step() { return impl_->step(); }

}  // namespace gpt2
