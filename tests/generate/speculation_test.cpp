// Tests speculative decoding: a draft changes how fast a text is written, and nothing else.
#include <future>
#include <new>

#include "cli/bench/random_model.h"
#include "generate/writing/drafter.h"
#include "gpt2/error.h"
#include "gpt2/generate.h"
#include "support/bundled_model.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::speculation_test {

using namespace gpt2::test::bundled;

namespace {

// Returns models that draft: copies that are nearly always right, a copy that is never right, and
// smaller models, one of which has too few positions for the texts. Under an emulator or a
// sanitizer, which takes ten times as long, returns only one copy and one smaller model.
std::vector<Model> make_drafts() {
  const Model copy = model().to(WeightType::int4);
  const Model smaller = test::part_of(model(), 4, 40);
  if (test::is_slow()) return {copy, smaller};
  Config config = model().config();
  config.n_layer = 1;
  return {copy, smaller, model().to(WeightType::int8),
          random_model(model().config(), {.dtype = WeightType::f32}),
          random_model(config, {.dtype = WeightType::f32})};
}

const std::vector<Model>& drafts() {
  static const std::vector<Model> made = make_drafts();
  return made;
}

struct Written {
  std::string text;
  GenerationResult result;
  std::vector<TokenId> held;  // the session's tokens afterwards
  std::size_t waiting;
};

// Returns a pass over texts that each drafted `drafted` tokens and accepted `accepted` of them.
DraftedPass pass_of(std::size_t drafted, std::size_t texts, std::size_t accepted,
                    double draft_seconds, double check_seconds) {
  return {.steps = drafted,
          .drafted = drafted * texts,
          .accepted = accepted * texts,
          .refused = accepted < drafted ? texts : 0,
          .draft_seconds = draft_seconds,
          .check_seconds = check_seconds,
          .all_drafted = drafted * texts};
}

Written write(const GenerationOptions& options, std::size_t max_tokens = 0,
              std::size_t cancel_after = SIZE_MAX) {
  Session session(Engine(model(), {.threads = 2}), {.max_tokens = max_tokens});
  Written written;
  std::size_t calls = 0;
  const auto sink = [&](std::string_view text) {
    written.text += text;
    return ++calls < cancel_after;
  };
  written.result =
      generate(session, tokenizer(), tokenizer().encode("One day, Tom"), options, sink);
  written.held.assign(session.tokens().begin(), session.tokens().end());
  written.waiting = session.waiting();
  return written;
}

void check_equal(const Written& plain, const Written& drafted) {
  CHECK(drafted.text == plain.text);
  CHECK(drafted.result.tokens == plain.result.tokens);
  CHECK(drafted.result.finish_reason == plain.result.finish_reason);
  CHECK(drafted.result.logits_hash == plain.result.logits_hash);
  CHECK(std::ranges::equal(
      drafted.result.logprobs, plain.result.logprobs,
      [](const TokenLogprob& a, const TokenLogprob& b) { return same_bits(a, b); }));
  CHECK(drafted.held == plain.held);
  CHECK(drafted.waiting == plain.waiting);
}

// Writes with each draft and several lengths, and compares with the text without a draft.
void check_all(GenerationOptions options, std::size_t max_tokens = 0,
               std::size_t cancel_after = SIZE_MAX) {
  options.hash_logits = true;
  options.top_logprobs = 2;
  const Written plain = write(options, max_tokens, cancel_after);
  CHECK(plain.result.drafted_tokens == 0);
  for (const Model& draft : drafts()) {
    options.draft = draft;
    for (const std::size_t length : {1, 6, 12, 20}) {
      if (test::is_slow() && length != 6 && length != 12) continue;
      if (length == 20 && &draft != &drafts().front()) continue;  // 20 passes for each token
      INFO("drafts of " << length);
      options.max_draft_tokens = length;
      options.constant_draft = length != 12;
      options.prompt_lookup = length % 2 == 0;
      check_equal(plain, write(options, max_tokens, cancel_after));
    }
  }
  options.draft.reset();
  options.prompt_lookup = true;
  options.constant_draft = true;
  check_equal(plain, write(options, max_tokens, cancel_after));
}

}  // namespace

TEST_CASE("a draft changes no token and no bit of the logits") {
  SamplingOptions penalized{.temperature = 0.9f, .top_k = 50, .seed = 5, .sequence = 2};
  penalized.repetition_penalty = 1.3f;  // these options look at the tokens so far
  penalized.no_repeat_ngram_size = 3;
  penalized.min_new_tokens = 20;
  penalized.frequency_penalty = 0.5f;
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 0.0f}, {.temperature = 0.8f, .seed = 3}, penalized}) {
    INFO("temperature " << sampling.temperature);
    check_all({.max_new_tokens = 40, .sampling = sampling});
  }
}

TEST_CASE("a text with drafts ends where it ends without") {
  const GenerationOptions greedy{.max_new_tokens = 100, .sampling = {.temperature = 0.0f}};
  GenerationOptions at_string = greedy;
  at_string.stop = {" and"};
  CHECK(write(at_string).result.finish_reason == FinishReason::stop_string);
  check_all(at_string);
  GenerationOptions at_token = greedy;
  at_token.stop_tokens = {write(greedy).result.tokens[37]};
  CHECK(write(at_token).result.finish_reason == FinishReason::end_of_text);
  check_all(at_token);
  check_all(greedy, 0, 23);                                             // where the sink ends it
  for (const std::size_t room : {20, 21, 22}) check_all(greedy, room);  // the session is full
  for (const std::size_t count : {0, 1, 2, 3}) {
    GenerationOptions few = greedy;
    few.max_new_tokens = count;
    check_all(few);
  }
}

TEST_CASE("look_up finds what followed the previous occurrence of the last three tokens") {
  const auto found = [](const std::vector<TokenId>& ids, std::size_t max) {
    const auto span = look_up(ids, max);
    return std::vector<TokenId>(span.begin(), span.end());
  };
  using Ids = std::vector<TokenId>;
  CHECK(found({}, 5) == Ids{});
  CHECK(found({1, 2, 3}, 5) == Ids{});
  CHECK(found({1, 2, 3, 1, 2, 3}, 5) == Ids{1, 2, 3});
  CHECK(found({1, 2, 3, 1, 2, 3}, 2) == Ids{1, 2});
  CHECK(found({1, 2, 3, 8, 1, 2, 3, 9, 1, 2, 3}, 1) == Ids{9});  // the latest
  CHECK(found({7, 7, 7, 7}, 5) == Ids{7});                       // it may overlap the last three
  CHECK(found({1, 2, 3, 4, 2, 3}, 5) == Ids{});
  CHECK(found({1, 2, 3, 1, 2, 3}, 0) == Ids{});
}

TEST_CASE("a text that repeats itself is drafted from itself") {
  GenerationOptions options{.max_new_tokens = 60, .sampling = {.temperature = 0.0f}};
  options.prompt_lookup = true;
  options.constant_draft = true;
  options.max_draft_tokens = 8;
  options.sampling.processors = {[](std::span<float> scores, std::span<const TokenId> ids) {
    scores[10 + ids.size() % 5] = 1e6f;  // 10, 11, 12, 13, 14, 10, ...
  }};
  const GenerationResult result = write(options).result;
  CHECK(result.accepted_tokens > 40);
  CHECK(result.accepted_tokens + 5 >= result.drafted_tokens);
}

TEST_CASE("a draft that becomes ready while the text is written is used from then on") {
  GenerationOptions options{.max_new_tokens = 60, .sampling = {.temperature = 0.8f, .seed = 3}};
  const Written plain = write(options);
  options.constant_draft = true;
  std::promise<Model> promise;
  options.pending_draft = promise.get_future();
  CHECK(write(options).result.drafted_tokens == 0);
  std::size_t written = 0;
  const auto sink = [&](TokenId) {
    if (++written == 20) promise.set_value(model().to(WeightType::int4));
    return true;
  };
  Session session(model());
  const auto result = generate(session, tokenizer().encode("One day, Tom"), options, sink);
  CHECK(result.tokens == plain.result.tokens);
  CHECK(result.accepted_tokens > 20);
  CHECK(result.drafted_tokens <= 12 * 40);

  std::promise<Model> broken;
  options.pending_draft = broken.get_future();
  broken.set_exception(std::make_exception_ptr(std::bad_alloc()));
  CHECK(write(options).result.tokens == plain.result.tokens);
  options.draft = model();
  CHECK_THROWS_AS(write(options), Error);
}

TEST_CASE("drafts that are always wrong, or empty, cost at most 1 % and one plain pass") {
  // A pass of the draft model takes a fifth of a pass over one text, and each further row a tenth.
  const std::size_t texts_of_pass[][3] = {{1, 1, 1}, {4, 4, 4}, {1, 2, 8}, {5, 6, 5}};
  for (const auto& texts_of : texts_of_pass) {
    for (const bool are_empty : {false, true}) {
      DraftLength length;
      double total = 0.0;
      double plain_total = 0.0;
      for (std::size_t pass = 0; pass < 2000; ++pass) {
        const std::size_t texts = texts_of[pass / 10 % 3];
        length.set_texts(texts);
        const std::size_t drafted = length.next(12, texts);
        const double plain = 0.9 + 0.1 * static_cast<double>(texts);
        double cost = plain;
        if (drafted == 0) {
          length.note_plain(plain);
        } else if (are_empty) {
          length.note_drafts(
              {.steps = 1, .refused = texts, .draft_seconds = 0.2, .check_seconds = plain});
          cost += 0.2;
        } else {
          const double drafting = 0.2 * static_cast<double>(drafted);
          const double check = plain + 0.1 * static_cast<double>(drafted * texts);
          length.note_drafts(pass_of(drafted, texts, 0, drafting, check));
          cost = drafting + check;
        }
        total += cost;
        plain_total += plain;
        REQUIRE(total <= 1.01 * plain_total + plain);
      }
      CHECK(total > plain_total);  // it has tried
    }
  }
}

}  // namespace gpt2::test::speculation_test
