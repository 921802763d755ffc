// Tests texts that continue past the context: after each slide, a text is the same as the text of a
// new session that begins with the tokens that the slide kept.
#include "gpt2/generate.h"
#include "support/bundled_model.h"
#include "support/test.h"

namespace gpt2::test::overflow_test {

using namespace gpt2::test::bundled;

namespace {

using Ids = std::vector<TokenId>;

constexpr std::size_t kCapacity = 40;
constexpr std::size_t kNew = 200;

// Other tests have several threads.
const Engine& engine() {
  static const Engine one_thread(model(), {.threads = 1});
  return one_thread;
}

const Model& draft() {
  static const Model int4 = model().to(WeightType::int4);
  return int4;
}

const Ids& prompt() {
  static const Ids ids = tokenizer().encode("One day, Tom and his dog");
  return ids;
}

struct Sliding {
  Ids text;                // the new tokens
  Ids window;              // the tokens in the session at the end
  std::size_t slides = 0;  // how many there were
};

template <class Items>
void erase(Items& items, std::size_t first, std::size_t count) {
  const auto from = items.begin() + static_cast<std::ptrdiff_t>(first);
  items.erase(from, from + static_cast<std::ptrdiff_t>(count));
}

// Writes the text with a new session after each slide and a new sampler for each token.
Sliding expected(const SamplingOptions& sampling, std::size_t keep) {
  Sliding result;
  Ids window = prompt();
  std::vector<bool> is_prompt(window.size(), true);  // of each token of the window
  std::size_t dropped = 0;
  while (result.text.size() < kNew) {
    Session session(engine(), {.max_tokens = kCapacity});
    auto logits = session.forward(window);
    for (;;) {
      const auto before = std::ranges::count(is_prompt, true);
      const SequenceLimits limits = {.eos_token_id = {},
                                     .prompt_length = static_cast<std::size_t>(before),
                                     .max_length = prompt().size() + kNew - dropped,
                                     .dropped = dropped};
      Sampler sampler(sampling, model().config().vocab_size, limits);
      const TokenId token = sampler.sample(logits, window);
      result.text.push_back(token);
      window.push_back(token);
      is_prompt.push_back(false);
      if (window.size() > kCapacity) break;
      if (result.text.size() == kNew) break;
      logits = session.forward(std::span(&token, 1));
    }
    if (window.size() > kCapacity) {
      const std::size_t kept_at_end = (kCapacity - keep) / 2 + 1;  // plus the token just drawn
      const std::size_t gone = window.size() - keep - kept_at_end;
      erase(window, keep, gone);
      erase(is_prompt, keep, gone);
      dropped += gone;
      ++result.slides;
    }
  }
  result.window = window;
  return result;
}

Sliding written(GenerationOptions options, const SamplingOptions& sampling, std::size_t keep) {
  options.max_new_tokens = kNew;
  options.sampling = sampling;
  options.ignore_eos = true;
  options.overflow = Overflow::slide;
  options.keep = keep;
  Session session(engine(), {.max_tokens = kCapacity});
  const GenerationResult result = generate(session, prompt(), options, nullptr);
  CHECK(result.finish_reason == FinishReason::length);
  CHECK(result.dropped_tokens + session.position() == prompt().size() + kNew);
  return {result.tokens, {session.tokens().begin(), session.tokens().end()}};
}

}  // namespace

TEST_CASE("a text that slides equals texts of new sessions with the tokens that were kept") {
  SamplingOptions penalized{.temperature = 1.0f, .seed = 4};
  penalized.repetition_penalty = 1.2f;
  penalized.frequency_penalty = 0.5f;
  penalized.presence_penalty = 0.3f;
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 0.0f}, SamplingOptions{.temperature = 0.9f, .seed = 2},
        penalized}) {
    for (const std::size_t keep : {std::size_t{0}, std::size_t{1}, prompt().size() - 1,
                                   prompt().size() + 2, kCapacity - 2}) {
      // The last sampling has what the others have.
      if (sampling.repetition_penalty == 1.0f && (test::is_slow() || keep > 0)) continue;
      if (test::is_slow() && keep != 1) continue;
      CAPTURE(sampling.temperature, keep);
      const Sliding right = expected(sampling, keep);
      CHECK(right.slides > 5);
      GenerationOptions options;
      const Sliding plain = written(options, sampling, keep);
      CHECK(plain.text == right.text);
      CHECK(plain.window == right.window);
      options.draft = draft();
      options.prompt_lookup = true;
      options.constant_draft = true;
      CHECK(written(options, sampling, keep).text == right.text);
    }
  }
}

TEST_CASE("several calls write the same text as one call, also after slides") {
  GenerationOptions options{.max_new_tokens = kNew, .sampling = {.temperature = 1.0f, .seed = 4}};
  options.sampling.repetition_penalty = 1.2f;
  options.sampling.frequency_penalty = 0.5f;
  options.sampling.min_new_tokens = 150;
  options.ignore_eos = true;
  options.overflow = Overflow::slide;
  options.keep = 3;
  Session whole(engine(), {.max_tokens = kCapacity});
  const Ids text = generate(whole, prompt(), options, nullptr).tokens;
  Session session(engine(), {.max_tokens = kCapacity});
  Ids tokens = prompt();
  Ids written;
  for (const std::size_t count : {10, 17, 0, 1, 72, 100}) {
    options.max_new_tokens = count;
    const auto result = generate(session, tokens, options, nullptr);
    written.insert(written.end(), result.tokens.begin(), result.tokens.end());
    tokens.clear();
    CHECK(session.dropped() + session.position() == prompt().size() + written.size());
    Session copy = session.fork();  // has everything that a session has
    std::swap(session, copy);
  }
  CHECK(written == text);
  CHECK(std::ranges::equal(session.tokens(), whole.tokens()));
}

TEST_CASE("a prompt without room slides like a session that slides for it") {
  GenerationOptions options{.max_new_tokens = 25, .sampling = {.temperature = 1.0f, .seed = 4}};
  options.ignore_eos = true;
  options.overflow = Overflow::slide;
  options.keep = 5;
  Session session(engine(), {.max_tokens = kCapacity});
  generate(session, prompt(), options, nullptr);
  Session expected = session.fork();
  const Ids more(12, prompt()[1]);
  const std::size_t dropped = expected.slide(5, more.size());
  CHECK(dropped == (prompt().size() + 25 - 5 + 1) / 2);
  const auto right = generate(expected, more, options, nullptr);
  const auto result = generate(session, more, options, nullptr);
  CHECK(result.tokens == right.tokens);
  CHECK(result.dropped_tokens == right.dropped_tokens + dropped);

  const Ids before(session.tokens().begin(), session.tokens().end());
  check_bad_argument([&] { generate(session, Ids(36, 1), options, nullptr); },
                     {"36 tokens", "room for 35", "5 tokens"});
  Session empty(engine(), {.max_tokens = kCapacity});
  for (const Overflow overflow : {Overflow::slide, Overflow::stop}) {
    options.overflow = overflow;
    CHECK_THROWS_AS(generate(empty, Ids(41, 1), options, nullptr), Error);
  }
  options.overflow = Overflow::slide;
  options.keep = 100;
  Session wide(engine(), {.max_tokens = kCapacity});  // a text that never fills it keeps anything
  CHECK(generate(wide, Ids{1}, options, nullptr).tokens.size() == 25);
  options.keep = 5;
  CHECK_THROWS_AS(generate(session, Ids(30, -1), options, nullptr), Error);
  CHECK(std::ranges::equal(session.tokens(), before));
}

TEST_CASE("arguments that are refused leave a session without room as it is") {
  Session session(engine(), {.max_tokens = 16});
  session.forward(Ids(16, 5));
  const Ids four(4, 1);
  const std::pair<Ids, GenerationOptions> cases[] = {
      {four, {.overflow = Overflow::slide, .max_draft_tokens = 0}},
      {four, {.max_draft_tokens = 65}},
      {four, {.sampling = {.temperature = -1}, .overflow = Overflow::slide}},
      {{1}, {.overflow = Overflow::slide, .keep = 15}},  // no room for new tokens
      {four, {.overflow = static_cast<Overflow>(2)}},
      {{}, {.overflow = Overflow::slide, .keep = 15}}};
  for (const auto& [prompt, options] : cases) {
    INFO("case " << prompt.size() << ", " << options.keep);
    CHECK_THROWS_AS(generate(session, prompt, options, nullptr), Error);
    CHECK(session.position() == 16);
    CHECK(session.dropped() == 0);
    CHECK(session.waiting() == 0);
  }
}

TEST_CASE("a text that a sink or a processor ends can be continued, wherever the session is full") {
  enum class End { cancels, sink_throws, processor_throws };
  GenerationOptions options{.max_new_tokens = 60, .sampling = {.temperature = 0.0f}};
  options.sampling.frequency_penalty = 1.0f;  // counts the new tokens
  options.ignore_eos = true;
  options.overflow = Overflow::slide;
  Session whole(engine(), {.max_tokens = 24});
  const Ids expected = generate(whole, prompt(), options, nullptr).tokens;
  options.constant_draft = true;
  options.max_draft_tokens = 3;
  for (std::size_t stop = 1; stop < 40; stop += is_slow() ? 13 : 3) {
    if (stop % 2 == 0) {
      options.draft = draft();
    } else {
      options.draft.reset();
    }
    for (const End end : {End::cancels, End::sink_throws, End::processor_throws}) {
      CAPTURE(stop, static_cast<int>(end));
      Session session(engine(), {.max_tokens = 24});
      Ids text;
      const auto fail_at_stop = [&] {
        if (text.size() == stop) throw 1;  // no std::exception, like the end of a thread
      };
      const auto sink = [&](TokenId token) {
        text.push_back(token);
        if (end == End::sink_throws) fail_at_stop();
        return end != End::cancels || text.size() < stop;
      };
      GenerationOptions ending = options;
      if (end == End::processor_throws) {
        ending.sampling.processors = {
            [&](std::span<float>, std::span<const TokenId>) { fail_at_stop(); }};
      }
      if (end == End::cancels) {
        const auto first = generate(session, prompt(), ending, sink);
        CHECK(first.finish_reason == FinishReason::cancelled);
        CHECK(first.dropped_tokens + session.position() == prompt().size() + stop);
      } else {
        CHECK_THROWS_AS(generate(session, prompt(), ending, sink), int);
      }
      GenerationOptions left = options;
      left.max_new_tokens = 60 - stop;
      const auto rest = generate(session, {}, left, nullptr);
      text.insert(text.end(), rest.tokens.begin(), rest.tokens.end());
      CHECK(text == expected);
    }
  }
}

}  // namespace gpt2::test::overflow_test
