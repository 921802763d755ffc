// Tests drafts by a model whose sizes differ from those of the model that writes. Such a draft
// model has keys and values of its own, which must always belong to the current text. A draft model
// that computes the same logits as the model that writes (a twin) must therefore be right with
// every drafted token.
#include "cli/bench/random_model.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "model/engine_impl.h"
#include "support/bundled_model.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::smaller_draft_test {

using namespace gpt2::test::bundled;

namespace {

using Ids = std::vector<TokenId>;

constexpr std::size_t kLayers = 6;  // of the bundled model

// Computes the same logits as the bundled model, for texts of up to this many tokens.
Model twin(std::size_t n_positions = 500) { return part_of(model(), kLayers, n_positions); }

GenerationOptions options_of(std::size_t max_new_tokens) {
  GenerationOptions options{.max_new_tokens = max_new_tokens,
                            .sampling = {.temperature = 0.9f, .seed = 3}};
  options.ignore_eos = true;
  options.hash_logits = true;
  options.constant_draft = true;
  options.max_draft_tokens = 4;
  return options;
}

struct Written {
  GenerationResult result;
  Ids held;  // the session's tokens afterwards
};

Written write(Session& session, const std::string& prompt, const GenerationOptions& options) {
  GenerationResult result =
      generate(session, tokenizer().encode(prompt), options, [](TokenId) { return true; });
  return {std::move(result), {session.tokens().begin(), session.tokens().end()}};
}

void check_same(const Written& drafted, const Written& plain) {
  CHECK(drafted.result.tokens == plain.result.tokens);
  CHECK(drafted.result.logits_hash == plain.result.logits_hash);
  CHECK(drafted.result.finish_reason == plain.result.finish_reason);
  CHECK(drafted.held == plain.held);
}

// Checks that all drafted tokens were accepted, except those that the end of the text cut off.
void check_all_accepted(const GenerationResult& result) {
  CHECK(result.accepted_tokens > result.tokens.size() / 2);
  CHECK(result.accepted_tokens == result.drafted_tokens);
}

Engine engine() { return Engine(model(), {.threads = 2}); }

// Checks that the draft model changes no token and no bit. Returns the result with it.
GenerationResult check_draft(const Model& draft, GenerationOptions options,
                             std::size_t max_tokens = 0) {
  Session plain(engine(), {.max_tokens = max_tokens});
  const Written expected = write(plain, "One day, Tom", options);
  options.draft = draft;
  Session session(engine(), {.max_tokens = max_tokens});
  const Written drafted = write(session, "One day, Tom", options);
  check_same(drafted, expected);
  return drafted.result;
}

}  // namespace

TEST_CASE("a smaller model drafts after each prompt, with the session's earlier keys and values") {
  GenerationOptions plain = options_of(21);
  GenerationOptions drafting = plain;
  drafting.draft = twin();
  Session expected(engine());
  Session session(engine());
  const auto both = [&](const std::string& prompt) {
    const Session::Impl* const kept =
        session.impl()->draft ? session.impl()->draft->impl() : nullptr;
    const Written drafted = write(session, prompt, drafting);
    if (prompt == " She said") CHECK(session.impl()->draft->impl() == kept);
    check_same(drafted, write(expected, prompt, plain));
    check_all_accepted(drafted.result);
  };
  both("One day, Tom");
  both("");
  both(" She said");
  for (Session* const each : {&session, &expected}) each->rewind(7);
  both(" The cat");
  for (Session* const each : {&session, &expected}) each->rewind(0);
  both("The moon");
  for (Session* const each : {&session, &expected}) *each = each->fork();
  both(" is");
  const test::TemporaryDirectory place;
  save_session(session, place.path() / "state");
  session = load_session(engine(), place.path() / "state");
  both("");
  drafting.draft = part_of(model(), kLayers, 400);  // a different model
  both("");
}

// A copy of the model cannot have wrong keys and values, so a twin must have as many tokens
// accepted as a copy. The processor makes every second run of ten tokens repetitive, so that these
// tokens are looked up and the twin does not draft them. It also counts its calls, so that drafts
// and the text sometimes disagree.
TEST_CASE("a smaller model forgets the tokens that were refused") {
  const auto write_with = [](const Model& draft, std::size_t period) {
    GenerationOptions options = options_of(120);
    options.draft = draft;
    options.prompt_lookup = true;
    std::size_t calls = 0;
    options.sampling.processors = {[&](std::span<float> scores, std::span<const TokenId> ids) {
      if (ids.size() / 10 % 2 == 0) scores[10 + ids.size() % 3] = 1e5f;
      if (++calls % period == 0) scores[100 + calls] = 1e6f;
    }};
    Session session(engine());
    Written written = write(session, "One day, Tom", options);
    if (session.impl()->draft) {  // at most the tokens of the last draft differ
      const auto read = session.impl()->draft->tokens();
      CHECK(read.size() > 60);
      const auto known = read.first(read.size() - options.max_draft_tokens);
      CHECK(std::ranges::equal(known, std::span(written.held).first(known.size())));
    }
    return written;
  };
  for (std::size_t period = 3; period < 12; period += is_slow() ? 8 : 4) {
    INFO("period " << period);
    const Written copy = write_with(model(), period);
    CHECK(copy.result.accepted_tokens > 0);
    CHECK(copy.result.accepted_tokens < copy.result.drafted_tokens);
    const Written drafted = write_with(twin(), period);
    check_same(drafted, copy);
    CHECK(drafted.result.drafted_tokens == copy.result.drafted_tokens);
    CHECK(drafted.result.accepted_tokens == copy.result.accepted_tokens);
  }
}

TEST_CASE("a smaller model drafts on after a slide") {
  GenerationOptions options = options_of(200);
  options.overflow = Overflow::slide;
  options.keep = 3;
  for (const std::size_t n_positions : {30, 500}) {
    const GenerationResult drafted = check_draft(twin(n_positions), options, 40);
    CHECK(drafted.dropped_tokens > 100);
    CHECK(drafted.accepted_tokens == drafted.drafted_tokens);
    CHECK(drafted.accepted_tokens > 40);
  }
}

TEST_CASE("a draft with another number of tokens is refused") {
  Config config = model().config();
  config.vocab_size = 61;
  GenerationOptions options = options_of(4);
  options.draft = random_model(config, {.dtype = WeightType::f32});
  Session session(engine());
  check_bad_argument([&] { write(session, "One day", options); }, {"61 tokens", "4096"});
  CHECK(session.position() == 0);
}

}  // namespace gpt2::test::smaller_draft_test
