// Tests that the C interface gives the same results as the C++ interface, bit for bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file_source.h"
#include "gpt2/beam_search.h"
#include "gpt2/embed.h"
#include "gpt2/gpt2.h"
#include "gpt2/observer.h"
#include "gpt2/runtime.h"
#include "gpt2/scheduler.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "gpt2/weights.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace gpt2::test::same_test {

using namespace gpt2::test::bundled;

namespace {

template <class T>
using Freed = std::unique_ptr<T, void (*)(T*)>;

// Calls `make` with the arguments and a pointer to a result, and requires that it succeeds.
template <class T, class Make, class... Arguments>
Freed<T> made(void (*free)(T*), Make make, Arguments... arguments) {
  T* result = nullptr;
  const gpt2_status status = make(arguments..., &result);
  INFO(gpt2_last_error());
  REQUIRE(status == GPT2_OK);
  return {result, free};
}

const gpt2_model* c_model() {
  static const auto loaded = made(gpt2_model_free, gpt2_model_load, kDirectory.string().c_str(), nullptr);
  return loaded.get();
}

const gpt2_tokenizer* c_tokenizer() {
  static const auto loaded = made(gpt2_tokenizer_free, gpt2_tokenizer_load, kDirectory.string().c_str());
  return loaded.get();
}

Freed<gpt2_session> c_session() {
  return made(gpt2_session_free, gpt2_session_new, c_model(), nullptr);
}

std::vector<TokenId> encoded(const char* text) { return tokenizer().encode(text); }

bool same_bits(std::span<const float> a, const float* b) {
  return std::memcmp(a.data(), b, a.size_bytes()) == 0;
}

void check_same(std::span<const TokenLogprob> a, const gpt2_token_logprob* b, std::size_t n) {
  REQUIRE(a.size() == n);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(same_bits({&a[i].logprob, 1}, &b[i].logprob));
    CHECK(a[i].rank == b[i].rank);
    REQUIRE(a[i].top.size() == b[i].n_top);
    for (std::size_t j = 0; j < b[i].n_top; ++j) {
      CHECK(a[i].top[j].id == b[i].top[j].id);
      CHECK(same_bits({&a[i].top[j].logprob, 1}, &b[i].top[j].logprob));
    }
  }
}

void check_same(const GenerationResult& a, const gpt2_generation& b) {
  CHECK(static_cast<int>(a.finish_reason) == b.finish_reason);
  CHECK(name_of(a.finish_reason) == gpt2_finish_reason_name(b.finish_reason));
  CHECK(a.tokens == std::vector<TokenId>(b.tokens, b.tokens + b.n_tokens));
  CHECK(a.logits_hash == b.logits_hash);
  CHECK(a.prompt_tokens == b.prompt_tokens);
  CHECK(a.dropped_tokens == b.dropped_tokens);
  check_same(a.logprobs, b.logprobs, a.logprobs.size());
}

// Options that use every kind of member, in both interfaces.
struct Options {
  std::vector<TokenId> suppressed = encoded(" girl"), dog = encoded(" dog"), cat = encoded(" cat");
  gpt2_ids bad_words[2] = {{dog.data(), dog.size()}, {cat.data(), cat.size()}};
  gpt2_logit_bias biases[1] = {{encoded(" the")[0], 3.0f}};
  gpt2_sequence_bias sequence_biases[1] = {{{dog.data(), dog.size()}, -2.0f}};
  gpt2_bytes stops[2] = {{"zebra", 5}, {"xylophone", 9}};
  gpt2_sampling_options sampling;
  gpt2_generate_options generation;
  GenerationOptions cpp;

  Options() {
    gpt2_sampling_options_init(&sampling, sizeof sampling);
    gpt2_generate_options_init(&generation, sizeof generation);
    sampling.temperature = 0.9f;
    sampling.top_k = 50;
    sampling.top_p = 0.95f;
    sampling.min_p = 0.001f;
    sampling.typical_p = 0.99f;
    sampling.epsilon_cutoff = 1e-5f;
    sampling.eta_cutoff = 1e-5f;
    sampling.seed = 7;
    sampling.sequence = 3;
    sampling.presence_penalty = 0.1f;
    sampling.frequency_penalty = 0.2f;
    sampling.repetition_penalty = 1.1f;
    sampling.no_repeat_ngram_size = 4;
    sampling.min_new_tokens = 20;
    sampling.min_length = 12;
    sampling.sequence_bias = sequence_biases;
    sampling.n_sequence_bias = 1;
    sampling.logit_bias = biases;
    sampling.n_logit_bias = 1;
    sampling.bad_words_ids = bad_words;
    sampling.n_bad_words_ids = 2;
    sampling.suppress_tokens = {suppressed.data(), suppressed.size()};
    sampling.begin_suppress_tokens = {cat.data(), 1};
    sampling.forced_eos_token_id = {dog.data(), 1};
    sampling.decay_factor = 1.01;
    sampling.decay_start = 10;
    sampling.renormalize_logits = 1;
    generation.sampling = &sampling;
    generation.max_new_tokens = 40;
    generation.stop = stops;
    generation.n_stop = 2;
    generation.hash_logits = 1;
    generation.wants_logprobs = 1;
    generation.top_logprobs = 3;
    fill_cpp();
  }
  Options(const Options&) = delete;

 private:
  void fill_cpp() {
    cpp = {.max_new_tokens = 40,
           .stop = {"zebra", "xylophone"},
           .hash_logits = true,
           .top_logprobs = 3};
    cpp.sampling = {.temperature = 0.9f,
                    .top_k = 50,
                    .top_p = 0.95f,
                    .min_p = 0.001f,
                    .typical_p = 0.99f,
                    .epsilon_cutoff = 1e-5f,
                    .eta_cutoff = 1e-5f,
                    .seed = 7,
                    .sequence = 3,
                    .sequence_bias = {{dog, -2.0f}},
                    .logit_bias = {{biases[0].id, 3.0f}},
                    .presence_penalty = 0.1f,
                    .frequency_penalty = 0.2f,
                    .repetition_penalty = 1.1f,
                    .no_repeat_ngram_size = 4,
                    .bad_words_ids = {dog, cat},
                    .min_length = 12,
                    .min_new_tokens = 20,
                    .forced_eos_token_id = {dog[0]},
                    .exponential_decay_length_penalty = {{10, 1.01}},
                    .suppress_tokens = suppressed,
                    .begin_suppress_tokens = {cat[0]},
                    .renormalize_logits = true};
  }
};

}  // namespace

TEST_CASE("a model and a tokenizer are the same as those that C++ loads") {
  const gpt2_model_info& info = *gpt2_model_get_info(c_model());
  const Config& config = model().config();
  CHECK(info.vocab_size == config.vocab_size);
  CHECK(info.n_positions == config.n_positions);
  CHECK(info.n_embd == config.n_embd);
  CHECK(info.n_layer == config.n_layer);
  CHECK(info.n_head == config.n_head);
  CHECK(info.n_inner == config.inner_dim());
  CHECK(info.parameter_count == model().parameter_count());
  CHECK(info.bytes_per_token == model().bytes_per_token());
  CHECK(std::vector<TokenId>(info.eos_token_id, info.eos_token_id + info.n_eos_token_id) ==
        config.eos_token_id);
  CHECK(info.bos_token_id == config.bos_token_id);
  CHECK(info.dtype == static_cast<int>(model().weight_type()));
  CHECK(info.config_json == config.to_json());
  CHECK(info.path == kDirectory.string());

  const gpt2_tokenizer_info& tokens = *gpt2_tokenizer_get_info(c_tokenizer());
  CHECK(tokens.n_tokens == tokenizer().size());
  CHECK(tokens.vocab_size == tokenizer().vocab_size());
  CHECK(tokens.end_of_text == tokenizer().end_of_text());
  CHECK(tokens.description == tokenizer().description());
  CHECK(gpt2_tokenizer_require_match(c_tokenizer(), c_model()) == GPT2_OK);

  CHECK(gpt2_isa_name() == isa_name());
  CHECK(gpt2_thread_count() == thread_count());
  const std::vector<std::string> isas = available_isas();
  for (std::size_t i = 0; i < isas.size(); ++i) CHECK(gpt2_available_isa(i) == isas[i]);
  CHECK(gpt2_available_isa(isas.size()) == nullptr);
}

TEST_CASE("a text becomes the same tokens, and these the same text") {
  const std::string text("caf\u00e9<|endoftext|>\0 zero", 24);
  gpt2_encode_options plain;
  gpt2_encode_options_init(&plain, sizeof plain);
  plain.parse_special = 0;
  for (const bool parse_special : {true, false}) {
    const auto ids = made(gpt2_ids_free, gpt2_tokenizer_encode, c_tokenizer(), text.data(),
                          text.size(), parse_special ? nullptr : &plain);
    const std::vector<TokenId> expected =
        tokenizer().encode(text, {.parse_special = parse_special});
    CHECK(std::vector<TokenId>(ids->data, ids->data + ids->count) == expected);
    const auto decoded =
        made(gpt2_bytes_free, gpt2_tokenizer_decode, c_tokenizer(), ids->data, ids->count);
    CHECK(std::string(decoded->data, decoded->size) == text);
    CHECK(decoded->data[decoded->size] == '\0');
    for (const TokenId id : expected) {
      const char* bytes = nullptr;
      std::size_t size = 0;
      std::int32_t is_special = -1;
      REQUIRE(gpt2_tokenizer_token_bytes(c_tokenizer(), id, &bytes, &size) == GPT2_OK);
      CHECK(std::string_view(bytes, size) == tokenizer().bytes(id));
      REQUIRE(gpt2_tokenizer_is_special(c_tokenizer(), id, &is_special) == GPT2_OK);
      CHECK(is_special == tokenizer().is_special(id));
    }
  }
  gpt2_token found = 0;
  REQUIRE(gpt2_tokenizer_find(c_tokenizer(), "<|endoftext|>", 13, &found) == GPT2_OK);
  CHECK(found == tokenizer().end_of_text());
  REQUIRE(gpt2_tokenizer_find(c_tokenizer(), "no such token", 13, &found) == GPT2_OK);
  CHECK(found == -1);
}

TEST_CASE("a text is continued with the same tokens and logits") {
  Options options;
  const std::vector<TokenId> prompt = encoded("Once upon a time");
  Session session(model());
  std::string text;
  const GenerationResult expected =
      generate(session, tokenizer(), prompt, options.cpp, [&](std::string_view piece) {
        text += piece;
        return true;
      });
  const auto c = c_session();
  std::string streamed;
  options.generation.user = &streamed;
  options.generation.on_text = [](void* user, const char* piece, std::size_t size) {
    static_cast<std::string*>(user)->append(piece, size);
    return 1;
  };
  const auto result = made(gpt2_generation_free, gpt2_generate_text, c.get(), c_tokenizer(),
                           "Once upon a time", std::size_t{16}, &options.generation);
  check_same(expected, *result);
  CHECK(std::string(result->text, result->n_text) == text);
  CHECK(streamed == text);

  // Without a tokenizer, and with a draft, which changes only the counts of drafted tokens.
  gpt2_generate_options ids_only = options.generation;
  ids_only.on_text = nullptr;
  ids_only.n_stop = 0;
  const auto draft = made(gpt2_model_free, gpt2_model_convert, c_model(), GPT2_DTYPE_INT8);
  ids_only.draft = draft.get();
  const auto other = c_session();
  const auto again =
      made(gpt2_generation_free, gpt2_generate, other.get(),
           static_cast<const gpt2_tokenizer*>(nullptr), prompt.data(), prompt.size(), &ids_only);
  GenerationOptions cpp = options.cpp;
  cpp.stop.clear();
  Session ids_session(model());
  check_same(generate(ids_session, prompt, cpp, nullptr), *again);
  CHECK(again->drafted_tokens > 0);
  CHECK(again->n_text == 0);
  CHECK(*again->text == '\0');
}

TEST_CASE("sessions give the same logits and hidden states") {
  const std::vector<TokenId> once = encoded("Once upon a time"), cat = encoded(" there was");
  const std::size_t vocab_size = model().config().vocab_size, n_embd = model().config().n_embd;
  Session session(model());
  const auto c = c_session();
  const float* logits = nullptr;
  REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &logits) == GPT2_OK);
  CHECK(same_bits(session.forward(once), logits));

  const auto fork = made(gpt2_session_free, gpt2_session_fork, c.get());
  Session cpp_fork = session.fork();
  CHECK(gpt2_session_append(fork.get(), cat.data(), cat.size()) == GPT2_OK);
  const gpt2_session_info* info = gpt2_session_get_info(fork.get());
  CHECK(info->position == once.size() + cat.size());
  CHECK(info->waiting == cat.size());
  CHECK(info->capacity == model().config().n_positions);
  CHECK(info->tokens[once.size()] == cat[0]);
  REQUIRE(gpt2_session_forward(fork.get(), nullptr, 0, &logits) == GPT2_OK);
  CHECK(same_bits(cpp_fork.forward(cat), logits));
  CHECK(gpt2_session_get_info(c.get())->position == once.size());

  CHECK(gpt2_session_assign(c.get(), fork.get(), 2) == GPT2_OK);
  CHECK(gpt2_session_get_info(c.get())->position == 2);
  CHECK(gpt2_session_rewind(fork.get(), 1) == GPT2_OK);
  session.rewind(2);
  cpp_fork.rewind(1);

  std::vector<float> expected(3 * vocab_size), found(3 * vocab_size);
  const auto two = std::span(expected).first(2 * vocab_size);
  const auto one = std::span(expected).last(vocab_size);
  const Slice slices[] = {{&session, cat, two}, {&cpp_fork, once, one}};
  forward(slices);
  const gpt2_slice c_slices[] = {
      {c.get(), cat.data(), cat.size(), found.data(), 2},
      {fork.get(), once.data(), once.size(), found.data() + 2 * vocab_size, 1}};
  REQUIRE(gpt2_forward(c_slices, 2) == GPT2_OK);
  CHECK(same_bits(expected, found.data()));

  std::vector<float> states(2 * n_embd), c_states(2 * n_embd);
  const HiddenSlice hidden = {&session, cat, states};
  hidden_states({&hidden, 1}, 1);
  const gpt2_slice c_hidden = {c.get(), cat.data(), cat.size(), c_states.data(), 2};
  REQUIRE(gpt2_hidden_states(&c_hidden, 1, 1) == GPT2_OK);
  CHECK(same_bits(states, c_states.data()));

  const test::TemporaryDirectory directory;
  const std::string file = (directory.path() / "state").string();
  REQUIRE(gpt2_session_save(c.get(), file.c_str()) == GPT2_OK);
  const auto loaded = made(gpt2_session_free, gpt2_session_load, c_model(), file.c_str(), nullptr);
  REQUIRE(gpt2_session_forward(loaded.get(), cat.data(), cat.size(), &logits) == GPT2_OK);
  CHECK(same_bits(session.forward(cat), logits));
}

namespace {

// Everything that an observer was shown.
struct Seen {
  struct Piece {
    int what;
    std::size_t layer, head, slice, first, rows, cols;
    std::vector<float> values;
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;

  template <class Observation>
  int add(const Observation& seen) {
    std::vector<float> values;
    for (std::size_t i = 0; i < seen.rows; ++i) {
      const float* const row = seen.data + i * seen.stride;
      values.insert(values.end(), row, row + seen.cols);
    }
    pieces.push_back({static_cast<int>(seen.what), seen.layer, seen.head, seen.slice, seen.first,
                      seen.rows, seen.cols, std::move(values)});
    return 1;
  }
};

}  // namespace

TEST_CASE("a session slides in the same way") {
  const std::vector<TokenId> once = encoded("Once upon a time there was a cat");
  Session session(model(), {.max_tokens = once.size()});
  gpt2_session_options options;
  gpt2_session_options_init(&options, sizeof options);
  options.max_tokens = once.size();
  const auto c = made(gpt2_session_free, gpt2_session_new, c_model(), &options);
  const float* logits = nullptr;
  session.forward(once);
  REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &logits) == GPT2_OK);
  std::size_t dropped = 0;
  REQUIRE(gpt2_session_slide(c.get(), 2, 1, &dropped) == GPT2_OK);
  CHECK(dropped > 0);
  CHECK(dropped == session.slide(2, 1));
  const gpt2_session_info& info = *gpt2_session_get_info(c.get());
  CHECK(info.dropped == dropped);
  CHECK(std::ranges::equal(std::span(info.tokens, info.position), session.tokens()));
  REQUIRE(gpt2_session_forward(c.get(), once.data(), 1, &logits) == GPT2_OK);
  CHECK(same_bits(session.forward({once.data(), 1}), logits));
}

TEST_CASE("an engine holds keys and values in the same type") {
  const std::vector<TokenId> once = encoded("Once upon a time");
  std::vector<float> logits[3];
  for (const KVType type : {KVType::automatic, KVType::f32, KVType::f16}) {
    gpt2_engine_options engine_options;
    gpt2_engine_options_init(&engine_options, sizeof engine_options);
    engine_options.kv_type = static_cast<gpt2_kv_type>(type);
    const auto engine = made(gpt2_engine_free, gpt2_engine_new, c_model(), &engine_options);
    gpt2_session_options options;
    gpt2_session_options_init(&options, sizeof options);
    options.engine = engine.get();
    const auto c = made(gpt2_session_free, gpt2_session_new, c_model(), &options);
    const float* found = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &found) == GPT2_OK);
    Session session(Engine(model(), {.kv_type = type}));
    CHECK(same_bits(session.forward(once), found));
    logits[static_cast<int>(type)].assign(found, found + model().config().vocab_size);
  }
  CHECK(logits[0] == logits[1]);  // the weights are f16, not quantized
  CHECK(logits[0] != logits[2]);
}

TEST_CASE("an observer sees the same pass") {
  const std::vector<TokenId> once = encoded("Once upon a time"), cat = encoded("The cat");
  const std::size_t vocab_size = model().config().vocab_size;
  Session a(model()), b(model());
  b.append(cat);
  const auto c_a = c_session(), c_b = c_session();
  REQUIRE(gpt2_session_append(c_b.get(), cat.data(), cat.size()) == GPT2_OK);
  std::vector<float> logits(vocab_size), c_logits(vocab_size);
  const Slice slices[] = {{&a, once, logits}, {&b, {}, {}}};
  const gpt2_slice c_slices[] = {{c_a.get(), once.data(), once.size(), c_logits.data(), 1},
                                 {c_b.get(), nullptr, 0, nullptr, 0}};
  Seen seen, c_seen;
  Observer observer = {.see = [&](const Observation& piece) { seen.add(piece); }};
  gpt2_observer c_observer;
  REQUIRE(gpt2_observer_init(&c_observer, sizeof c_observer) == GPT2_OK);
  c_observer.user = &c_seen;
  c_observer.see = [](void* user, const gpt2_observation* piece) {
    return static_cast<Seen*>(user)->add(*piece);
  };
  forward(slices, observer);
  REQUIRE(gpt2_observe(c_slices, 2, &c_observer) == GPT2_OK);
  CHECK(same_bits(logits, c_logits.data()));
  const std::size_t blocks = model().config().n_layer, heads = model().config().n_head;
  CHECK(seen.pieces.size() == 2 * (3 + blocks * (12 + heads)));
  CHECK(seen.pieces == c_seen.pieces);
  CHECK(gpt2_session_get_info(c_b.get())->waiting == 0);

  c_observer.wants = [](void*, gpt2_observed what, std::size_t layer) {
    return static_cast<int>(what == GPT2_OBSERVED_ATTENTION_WEIGHTS && layer == 1);
  };
  c_seen.pieces.clear();
  REQUIRE(gpt2_observe(c_slices, 1, &c_observer) == GPT2_OK);
  CHECK(c_seen.pieces.size() == heads);
  CHECK(c_seen.pieces.at(0).what == static_cast<int>(Observed::attention_weights));
  CHECK(c_seen.pieces.at(0).first == once.size());
}

TEST_CASE("an observer changes a pass in the same way") {
  const std::vector<TokenId> once = encoded("Once upon a time");
  const std::size_t vocab_size = model().config().vocab_size;
  Session session(model());
  const auto c = c_session();
  std::vector<float> logits(vocab_size), c_logits(vocab_size), plain(vocab_size);
  const Slice slice = {&session, once, logits};
  const gpt2_slice c_slice = {c.get(), once.data(), once.size(), c_logits.data(), 1};
  // Changes everything in one block and records every call.
  const auto shake = [](Seen& calls, const auto& values) {
    calls.add(values);
    for (std::size_t i = 0; i < values.rows; ++i) {
      float* const row = values.data + i * values.stride;
      for (std::size_t j = 0; j < values.cols; ++j) {
        row[j] += 0.25f * static_cast<float>((values.first + i + 3 * j + values.head) % 5);
      }
    }
    return 1;
  };
  Seen calls, c_calls;
  forward({&slice, 1}, {.change = [&](const Intervention& values) { shake(calls, values); },
                        .changes = [](Observed, std::size_t layer) { return layer == 1; }});
  struct {
    Seen& calls;
    decltype(shake)& function;
  } state = {c_calls, shake};
  gpt2_observer observer;
  REQUIRE(gpt2_observer_init(&observer, sizeof observer) == GPT2_OK);
  CHECK(observer.change == nullptr);
  observer.user = &state;
  observer.change = [](void* user, const gpt2_intervention* values) {
    const auto& own = *static_cast<decltype(state)*>(user);
    return own.function(own.calls, *values);
  };
  observer.changes = [](void*, gpt2_observed, std::size_t layer) {
    return static_cast<int>(layer == 1);
  };
  REQUIRE(gpt2_observe(&c_slice, 1, &observer) == GPT2_OK);
  CHECK(same_bits(logits, c_logits.data()));
  CHECK(calls.pieces.size() == 12 + model().config().n_head);
  CHECK(calls.pieces == c_calls.pieces);
  Session untouched(model());
  CHECK_FALSE(same_bits(untouched.forward(once), c_logits.data()));

  // A program that was compiled with a struct without `change` and `changes`.
  gpt2_observer older;
  REQUIRE(gpt2_observer_init(&older, offsetof(gpt2_observer, change)) == GPT2_OK);
  older.user = &c_calls;
  older.see = [](void*, const gpt2_observation*) { return 1; };
  older.change = observer.change;  // beyond the end of that struct
  REQUIRE(gpt2_session_rewind(c.get(), 0) == GPT2_OK);
  REQUIRE(gpt2_observe(&c_slice, 1, &older) == GPT2_OK);
  REQUIRE(gpt2_session_rewind(c.get(), 0) == GPT2_OK);
  const gpt2_slice again = {c.get(), once.data(), once.size(), plain.data(), 1};
  REQUIRE(gpt2_forward(&again, 1) == GPT2_OK);
  CHECK(same_bits(c_logits, plain.data()));
}

TEST_CASE("a sampler chooses the same tokens from the same scores") {
  Options options;
  const std::size_t vocab_size = model().config().vocab_size;
  gpt2_sequence_limits limits;
  gpt2_sequence_limits_init(&limits, sizeof limits);
  const TokenId end = *tokenizer().end_of_text();
  limits.eos_token_id = {&end, 1};
  limits.prompt_length = 2;
  limits.max_length = 30;
  limits.dropped = 1;
  limits.min_tokens_to_keep = 2;
  const auto c = made(gpt2_sampler_free, gpt2_sampler_new, &options.sampling, vocab_size, &limits);
  Sampler cpp(options.cpp.sampling, vocab_size,
              {.eos_token_id = {end},
               .prompt_length = 2,
               .max_length = 30,
               .dropped = 1,
               .min_tokens_to_keep = 2});
  Session session(model());
  std::span<const float> logits = session.forward(encoded("Once upon"));
  for (int i = 0; i < 12; ++i) {
    const auto ids = session.tokens();
    const float* scores = nullptr;
    REQUIRE(gpt2_sampler_process(c.get(), logits.data(), ids.data(), ids.size(), &scores) ==
            GPT2_OK);
    CHECK(same_bits(cpp.process(logits, ids), scores));
    gpt2_token token = -1;
    REQUIRE(gpt2_sampler_sample(c.get(), logits.data(), ids.data(), ids.size(), &token) == GPT2_OK);
    CHECK(token == cpp.sample(logits, ids));
    logits = session.forward({&token, 1});
  }
}

namespace {

// The choices that a beam search reports after each step.
struct Steps {
  std::vector<TokenId> tokens, best;
  std::vector<std::size_t> parents;
  std::vector<float> scores;
  std::uint64_t hash = 0;
  bool operator==(const Steps&) const = default;

  template <class Step>
  bool add(const Step& step, std::span<const TokenId> new_tokens, std::span<const std::size_t> from,
           std::span<const float> sums, std::span<const TokenId> so_far) {
    tokens.insert(tokens.end(), new_tokens.begin(), new_tokens.end());
    parents.insert(parents.end(), from.begin(), from.end());
    scores.insert(scores.end(), sums.begin(), sums.end());
    best.insert(best.end(), so_far.begin(), so_far.end());
    hash = step.logits_hash;
    return true;
  }
};

int add_step(void* user, const gpt2_beam_step* step) {
  const std::size_t n = step->num_beams;
  return static_cast<Steps*>(user)->add(*step, {step->tokens, n}, {step->parents, n},
                                        {step->scores, n}, {step->best, step->n_best});
}

void check_same(const std::vector<BeamSequence>& a, const gpt2_beams& b) {
  REQUIRE(a.size() == b.count);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const gpt2_beam& beam = b.data[i];
    CHECK(a[i].tokens == std::vector<TokenId>(beam.tokens, beam.tokens + beam.n_tokens));
    CHECK(a[i].score == beam.score);
    CHECK(static_cast<int>(a[i].finish_reason) == beam.finish_reason);
    std::vector<TokenId> shown = a[i].tokens;
    std::erase_if(shown, [](TokenId id) { return tokenizer().is_special(id); });
    CHECK(tokenizer().decode(shown) == std::string(beam.text, beam.n_text));
  }
}

}  // namespace

TEST_CASE("a beam search finds the same sequences in the same steps") {
  Options sampling;
  const std::vector<TokenId> prompt = encoded("The moon is");
  gpt2_beam_options options;
  gpt2_beam_options_init(&options, sizeof options);
  Steps steps, c_steps;
  BeamSearchOptions cpp = {.tokenizer = tokenizer(), .on_step = [&](const BeamStep& step) {
                             return steps.add(step, step.tokens, step.parents, step.scores,
                                              step.best);
                           }};
  options.on_step = add_step;
  options.user = &c_steps;
  const auto check = [&] {
    steps = c_steps = {};
    const auto found = made(gpt2_beams_free, gpt2_beam_search, c_model(), c_tokenizer(),
                            prompt.data(), prompt.size(), &options);
    check_same(beam_search(Engine::shared(model()), prompt, cpp), *found);
    CHECK(!steps.tokens.empty());
    CHECK(steps == c_steps);
  };
  cpp.max_new_tokens = options.max_new_tokens = 30;
  check();
  cpp.hash_logits = (options.hash_logits = true);
  cpp.beams.num_beams = options.num_beams = 6;
  cpp.beams.num_return_sequences = options.num_return_sequences = 4;
  cpp.beams.length_penalty = options.length_penalty = -1.5;
  cpp.beams.early_stopping = EarlyStopping::never;
  options.early_stopping = GPT2_EARLY_STOPPING_NEVER;
  cpp.sampling = {.repetition_penalty = 1.2f, .suppress_tokens = sampling.suppressed};
  gpt2_sampling_options_init(&sampling.sampling, sizeof sampling.sampling);
  sampling.sampling.repetition_penalty = 1.2f;
  sampling.sampling.suppress_tokens = {sampling.suppressed.data(), sampling.suppressed.size()};
  options.sampling = &sampling.sampling;
  check();
  CHECK(steps.hash != 0);
  cpp.beams.num_beam_groups = options.num_beam_groups = 3;
  cpp.beams.diversity_penalty = options.diversity_penalty = 0.7f;
  cpp.beams.early_stopping = EarlyStopping::yes;
  options.early_stopping = GPT2_EARLY_STOPPING_YES;
  cpp.beams.pad_token_id = options.pad_token_id = 7;
  const std::vector<TokenId> stop = encoded(".");
  cpp.stop_tokens = stop;
  options.stop_tokens = {stop.data(), stop.size()};
  check();
  cpp.ignore_eos = (options.ignore_eos = true);
  check();
}

TEST_CASE("a scheduler writes the same texts") {
  gpt2_scheduler_options two;
  gpt2_scheduler_options_init(&two, sizeof two);
  two.max_sequences = 2;
  const auto scheduler = made(gpt2_scheduler_free, gpt2_scheduler_new, c_model(), &two);
  Options options;
  std::vector<std::uint64_t> ids;
  for (const char* const prompt : {"Once upon", "The cat", "One day"}) {
    const std::vector<TokenId> tokens = encoded(prompt);
    REQUIRE(gpt2_scheduler_submit(scheduler.get(), c_tokenizer(), tokens.data(), tokens.size(),
                                  &options.generation, &ids.emplace_back()) == GPT2_OK);
    gpt2_generation* none = nullptr;
    CHECK(gpt2_scheduler_take(scheduler.get(), ids.back(), &none) == GPT2_OK);
    CHECK(none == nullptr);
  }
  std::int32_t has_more = 0;
  REQUIRE(gpt2_scheduler_step(scheduler.get(), &has_more) == GPT2_OK);
  CHECK(has_more == 1);
  REQUIRE(gpt2_scheduler_run(scheduler.get()) == GPT2_OK);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const char* const prompts[] = {"Once upon", "The cat", "One day"};
    Session session(model());
    std::string text;
    const auto append = [&](std::string_view piece) { return text += piece, true; };
    const GenerationResult expected =
        generate(session, tokenizer(), encoded(prompts[i]), options.cpp, append);
    const auto result = made(gpt2_generation_free, gpt2_scheduler_take, scheduler.get(), ids[i]);
    check_same(expected, *result);
    CHECK(result->text == text);
  }
}

TEST_CASE("scores are the same") {
  const std::vector<std::vector<TokenId>> texts = {
      encoded("The cat sat down. It was a very small cat, and it had a red hat."),
      encoded("One day, a dog ran.")};
  const std::vector<gpt2_ids> c_texts = {{texts[0].data(), texts[0].size()},
                                         {texts[1].data(), texts[1].size()}};
  const std::vector<TextScore> expected =
      score(Engine::shared(model()), texts, {.context = 8, .stride = 3, .top_logprobs = 2});
  const Perplexity all = perplexity(expected, texts, tokenizer());
  gpt2_score_options options;
  gpt2_score_options_init(&options, sizeof options);
  options.context = 8;
  options.stride = 3;
  options.top_logprobs = 2;
  options.tokenizer = c_tokenizer();
  const auto found =
      made(gpt2_scores_free, gpt2_score, c_model(), c_texts.data(), std::size_t{2}, &options);
  REQUIRE(found->n_texts == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    check_same(expected[i].tokens, found->texts[i].tokens, found->texts[i].n_tokens);
    const Perplexity alone = perplexity({&expected[i], 1});
    CHECK(found->texts[i].nll == alone.nll);
    CHECK(found->texts[i].perplexity == alone.by_token.value);
  }
  CHECK(found->tokens == all.tokens);
  CHECK(found->words == all.words);
  CHECK(found->bytes == all.bytes);
  CHECK(found->windows == all.windows);
  CHECK(found->nll == all.nll);
  CHECK(found->by_token.value == all.by_token.value);
  CHECK(found->by_token.standard_error == all.by_token.standard_error);
  CHECK(found->by_word.value == all.by_word.value);
  CHECK(found->by_byte.value == all.by_byte.value);
  CHECK(found->bits_per_byte.value == all.bits_per_byte.value);
  const auto bare =
      made(gpt2_scores_free, gpt2_score, c_model(), c_texts.data(), std::size_t{2}, nullptr);
  CHECK(bare->words == 0);
  CHECK(std::isnan(bare->by_word.value));

  const std::vector<TokenId> context = encoded("Tom has a pet");
  const std::vector<ChoiceScore> choices =
      score_choices(Engine::shared(model()), context, texts, 2);
  const auto c_choices = made(gpt2_choices_free, gpt2_score_choices, c_model(), context.data(),
                              context.size(), c_texts.data(), std::size_t{2}, &options);
  REQUIRE(c_choices->count == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    check_same(choices[i].tokens, c_choices->data[i].tokens, c_choices->data[i].n_tokens);
    CHECK(choices[i].sum == c_choices->data[i].sum);
    CHECK(choices[i].mean == c_choices->data[i].mean);
    CHECK(choices[i].greedy_match == (c_choices->data[i].greedy_match != 0));
  }
}

TEST_CASE("comparisons of two models are the same") {
  std::vector<TokenId> ids;
  while (ids.size() < 700) ids.push_back(static_cast<TokenId>(ids.size() * 7 % 4000));
  const Model other = model().to(WeightType::int8);
  const auto c_other =
      made(gpt2_model_free, gpt2_model_convert, c_model(), std::int32_t{GPT2_DTYPE_INT8});
  gpt2_engine_options engine_options;
  gpt2_engine_options_init(&engine_options, sizeof engine_options);
  engine_options.kv_type = GPT2_KV_F16;
  const auto rounded = made(gpt2_engine_free, gpt2_engine_new, c_model(), &engine_options);
  const Engine cpp_rounded(model(), {.kv_type = KVType::f16});
  std::vector<double> shares;
  gpt2_compare_options options;
  gpt2_compare_options_init(&options, sizeof options);
  options.on_progress = [](void* user, double share) {
    static_cast<std::vector<double>*>(user)->push_back(share);
    return 1;
  };
  options.user = &shares;
  const auto check = [&](const PerplexityComparison& a, const gpt2_comparison& b) {
    CHECK(a.tokens == b.tokens);
    CHECK(a.windows == b.windows);
    CHECK(a.perplexity[0] == b.perplexity_a);
    CHECK(a.perplexity[1] == b.perplexity_b);
    CHECK(a.change == b.change);
    CHECK(a.standard_error == b.standard_error);
    CHECK(a.max_logit_change == b.max_logit_change);
    CHECK(b.max_logit_change > 0.0);
    CHECK(shares.size() == b.windows);
    shares.clear();
  };
  check(compare_perplexity(model(), other, ids),
        *made(gpt2_comparison_free, gpt2_compare_perplexity, c_model(), c_other.get(), ids.data(),
              ids.size(), &options));
  options.engine_b = rounded.get();
  check(compare_perplexity(Engine::shared(model()), cpp_rounded, ids),
        *made(gpt2_comparison_free, gpt2_compare_perplexity, c_model(), c_model(), ids.data(),
              ids.size(), &options));
  options.engine_a = rounded.get();
  options.engine_b = nullptr;
  check(compare_perplexity(cpp_rounded, Engine::shared(model()), ids),
        *made(gpt2_comparison_free, gpt2_compare_perplexity, c_model(), c_model(), ids.data(),
              ids.size(), &options));
  options.on_progress = [](void*, double) { return 0; };
  gpt2_comparison* none = nullptr;
  CHECK(gpt2_compare_perplexity(c_model(), c_model(), ids.data(), ids.size(), &options, &none) ==
        GPT2_CANCELLED);
}

// The expected numbers are the ones in the file.
TEST_CASE("a generation config has all that the file says") {
  const test::TemporaryDirectory directory;
  directory.write("config.json", R"({"model_type": "gpt2"})");
  directory.write("generation_config.json",
                  R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.75,
                      "min_p": 0.125, "typical_p": 0.625, "epsilon_cutoff": 0.25,
                      "eta_cutoff": 0.375, "sequence_bias": [[[1, 2], -2.5], [[3], 4]],
                      "repetition_penalty": 1.5, "no_repeat_ngram_size": 3,
                      "bad_words_ids": [[5], [6, 7]], "min_length": 8, "min_new_tokens": 9,
                      "forced_bos_token_id": 10, "forced_eos_token_id": [11, 12],
                      "remove_invalid_values": true, "exponential_decay_length_penalty": [12, 1.25],
                      "suppress_tokens": [13, 14], "begin_suppress_tokens": [15],
                      "renormalize_logits": true, "num_return_sequences": 4, "max_length": 30,
                      "max_new_tokens": 16})");
  const std::string path = directory.path().string();
  const auto config = made(gpt2_generation_config_free, gpt2_generation_config_load, path.c_str());
  CHECK(config->do_sample == 1);
  CHECK(config->num_return_sequences == 4);
  CHECK(config->max_length == 30);
  CHECK(config->max_new_tokens == 16);
  const gpt2_sampling_options& sampling = *config->sampling;
  CHECK(sampling.size == sizeof sampling);
  CHECK(sampling.temperature == 0.5f);
  CHECK(sampling.top_k == 7);
  CHECK(sampling.top_p == 0.75f);
  CHECK(sampling.min_p == 0.125f);
  CHECK(sampling.typical_p == 0.625f);
  CHECK(sampling.epsilon_cutoff == 0.25f);
  CHECK(sampling.eta_cutoff == 0.375f);
  CHECK(sampling.repetition_penalty == 1.5f);
  CHECK(sampling.no_repeat_ngram_size == 3);
  CHECK(sampling.min_length == 8);
  CHECK(sampling.min_new_tokens == 9);
  CHECK(sampling.remove_invalid_values == 1);
  CHECK(sampling.renormalize_logits == 1);
  CHECK(sampling.forced_bos_token_id == 10);
  CHECK(sampling.decay_start == 12);
  CHECK(sampling.decay_factor == 1.25);
  const auto ids_of = [](const gpt2_ids& ids) {
    return std::vector<TokenId>(ids.data, ids.data + ids.count);
  };
  using Ids = std::vector<TokenId>;
  CHECK(ids_of(sampling.forced_eos_token_id) == Ids{11, 12});
  CHECK(ids_of(sampling.suppress_tokens) == Ids{13, 14});
  CHECK(ids_of(sampling.begin_suppress_tokens) == Ids{15});
  REQUIRE(sampling.n_bad_words_ids == 2);
  CHECK(ids_of(sampling.bad_words_ids[0]) == Ids{5});
  CHECK(ids_of(sampling.bad_words_ids[1]) == Ids{6, 7});
  REQUIRE(sampling.n_sequence_bias == 2);
  CHECK(ids_of(sampling.sequence_bias[0].ids) == Ids{1, 2});
  CHECK(sampling.sequence_bias[0].bias == -2.5f);
  CHECK(ids_of(sampling.sequence_bias[1].ids) == Ids{3});
  CHECK(sampling.sequence_bias[1].bias == 4.0f);
  CHECK(made(gpt2_sampler_free, gpt2_sampler_new, &sampling, std::size_t{20}, nullptr));

  directory.write("generation_config.json",
                  R"({"num_beams": 6, "num_return_sequences": 2, "length_penalty": 1.5,
                      "early_stopping": "never", "num_beam_groups": 3, "diversity_penalty": 0.5,
                      "pad_token_id": 9})");
  const auto search = made(gpt2_generation_config_free, gpt2_generation_config_load, path.c_str());
  const gpt2_beam_options& beams = *search->beams;
  CHECK(beams.size == sizeof beams);
  CHECK(beams.num_beams == 6);
  CHECK(beams.num_return_sequences == 2);
  CHECK(beams.length_penalty == 1.5);
  CHECK(beams.early_stopping == GPT2_EARLY_STOPPING_NEVER);
  CHECK(beams.num_beam_groups == 3);
  CHECK(beams.diversity_penalty == 0.5f);
  CHECK(beams.pad_token_id == 9);
  CHECK(beams.sampling == search->sampling);
  CHECK(search->do_sample == 0);
  CHECK(search->sampling->temperature == 0.0f);
  CHECK(search->num_return_sequences == 1);
  CHECK(search->max_length == 20);  // HuggingFace's default
  CHECK(search->max_new_tokens == SIZE_MAX);

  directory.write("generation_config.json", R"({"guidance_scale": 2})");
  gpt2_generation_config* none = nullptr;
  CHECK(gpt2_generation_config_load(path.c_str(), &none) == GPT2_UNSUPPORTED);
  CHECK(std::string(gpt2_last_error()).find("guidance_scale is 2") != std::string::npos);
}

TEST_CASE("embeddings are the same") {
  const std::vector<std::vector<TokenId>> texts = {encoded("The cat sat down."),
                                                   encoded("A dog ran.")};
  const std::vector<gpt2_ids> c_texts = {{texts[0].data(), texts[0].size()},
                                         {texts[1].data(), texts[1].size()}};
  const std::size_t n_embd = model().config().n_embd;
  gpt2_embed_options options;
  gpt2_embed_options_init(&options, sizeof options);
  std::vector<float> found(2 * n_embd);
  const auto check = [&](const EmbedOptions& cpp) {
    REQUIRE(gpt2_embed(c_model(), c_texts.data(), 2, &options, found.data()) == GPT2_OK);
    const auto expected = embed(Engine::shared(model()), texts, cpp);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(expected[i], &found[i * n_embd]));
  };
  check({});
  options.pooling = GPT2_POOLING_LAST;
  options.layer = 2;
  check({.pooling = Pooling::last, .layer = 2});
}

TEST_CASE("the weights are the same, and so are logits of hidden states") {
  const std::vector<NamedWeight> expected = weights_of(model());
  const gpt2_weight* weights = nullptr;
  std::size_t n_weights = 0;
  REQUIRE(gpt2_model_weights(c_model(), &weights, &n_weights) == GPT2_OK);
  REQUIRE(n_weights == expected.size());
  for (std::size_t i = 0; i < n_weights; ++i) {
    const gpt2_weight& found = weights[i];
    CHECK(found.name == expected[i].name);
    CHECK(found.dtype == static_cast<int>(expected[i].type));
    CHECK(std::vector<std::size_t>(found.shape, found.shape + found.n_shape) == expected[i].shape);
    REQUIRE(found.size == expected[i].bytes.size());
    CHECK(std::memcmp(found.data, expected[i].bytes.data(), found.size) == 0);
  }
  const Config& config = model().config();
  std::vector<float> states(3 * config.n_embd), logits(3 * config.vocab_size);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(i % 7) - 3.0f;
  std::vector<float> wanted(logits.size());
  for (const bool ln_f : {false, true}) {
    unembed(Engine::shared(model()), states, wanted, {.ln_f = ln_f});
    REQUIRE(gpt2_unembed(c_model(), nullptr, states.data(), 3, ln_f, logits.data()) == GPT2_OK);
    CHECK(same_bits(wanted, logits.data()));
  }
}

TEST_CASE("a quantized model is written, found and loaded") {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "int8").string();
  const auto quantized = made(gpt2_model_free, gpt2_model_convert, c_model(), GPT2_DTYPE_INT8);
  REQUIRE(gpt2_model_save_quantized(quantized.get(), path.c_str()) == GPT2_OK);
  const auto found = made(gpt2_bytes_free, gpt2_find_model, path.c_str());
  CHECK(found->data == path);
  CHECK(found->size == path.size());
  gpt2_load_options options;
  REQUIRE(gpt2_load_options_init(&options, sizeof options) == GPT2_OK);
  options.dtype = GPT2_DTYPE_STORED;
  const auto loaded = made(gpt2_model_free, gpt2_model_load, path.c_str(), &options);
  CHECK(gpt2_model_get_info(loaded.get())->dtype == GPT2_DTYPE_INT8);
  CHECK(gpt2_model_get_info(loaded.get())->path == path);
  options.dtype = GPT2_DTYPE_F32;
  gpt2_model* none = nullptr;
  CHECK(gpt2_model_load(path.c_str(), &options, &none) == GPT2_INVALID_ARGUMENT);
}

TEST_CASE("a model and a tokenizer are loaded from memory, without a copy of the weights") {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const char* const name : {"config.json", "model.safetensors", "vocab.json", "merges.txt"}) {
    contents.emplace_back(name, read_file(kDirectory / name, std::size_t{1} << 30));
  }
  std::vector<gpt2_memory_file> files;
  for (const auto& [name, content] : contents) {
    files.push_back({name.c_str(), content.data(), content.size()});
  }
  const auto loaded =
      made(gpt2_model_free, gpt2_model_load_memory, files.data(), files.size(), nullptr);
  CHECK(gpt2_model_get_info(loaded.get())->path == std::string());
  CHECK(gpt2_model_get_info(loaded.get())->config_json == model().config().to_json());
  const auto text =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load_memory, files.data(), files.size());
  const auto ids =
      made(gpt2_ids_free, gpt2_tokenizer_encode, text.get(), "Once upon", std::size_t{9}, nullptr);
  CHECK(std::vector<TokenId>(ids->data, ids->data + ids->count) == encoded("Once upon"));

  const auto logits_of = [&] {
    const auto c = made(gpt2_session_free, gpt2_session_new, loaded.get(), nullptr);
    const float* logits = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), ids->data, ids->count, &logits) == GPT2_OK);
    return std::vector<float>(logits, logits + model().config().vocab_size);
  };
  Session session(model());
  const std::span<const float> expected = session.forward(encoded("Once upon"));
  CHECK(same_bits(expected, logits_of().data()));
  // Changing the bytes in place changes the logits, which shows that the model has no copy of them.
  std::string& weights = contents[1].second;
  std::fill(weights.end() - 1000, weights.end(), '\0');
  CHECK_FALSE(same_bits(expected, logits_of().data()));

  gpt2_load_options options;
  REQUIRE(gpt2_load_options_init(&options, sizeof options) == GPT2_OK);
  options.dtype = GPT2_DTYPE_INT8;
  const auto small =
      made(gpt2_model_free, gpt2_model_load_memory, files.data(), files.size(), &options);
  CHECK(gpt2_model_get_info(small.get())->dtype == GPT2_DTYPE_INT8);
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "int8").string();
  CHECK(gpt2_model_save_quantized(small.get(), path.c_str()) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_last_error() == std::string("a model that was loaded from memory cannot be saved, "
                                         "because the other files of its directory are not "
                                         "known: load it by its path"));
}

TEST_CASE("instruction sets and threads change no bit") {
  const std::vector<TokenId> once = encoded("Once upon a time");
  Session session(model());
  const std::span<const float> expected = session.forward(once);
  const std::string before = gpt2_isa_name();
  for (std::size_t i = 0; gpt2_available_isa(i) != nullptr; ++i) {
    REQUIRE(gpt2_force_isa(gpt2_available_isa(i)) == GPT2_OK);
    CHECK(std::strcmp(gpt2_isa_name(), gpt2_available_isa(i)) == 0);
    gpt2_engine_options engine_options;
    gpt2_engine_options_init(&engine_options, sizeof engine_options);
    engine_options.threads = static_cast<std::int32_t>(i % 3) + 1;
    const auto engine = made(gpt2_engine_free, gpt2_engine_new, c_model(), &engine_options);
    std::int32_t threads = 0;
    REQUIRE(gpt2_engine_threads(engine.get(), &threads) == GPT2_OK);
    CHECK(threads == engine_options.threads);
    gpt2_session_options options;
    gpt2_session_options_init(&options, sizeof options);
    options.engine = engine.get();
    const auto c = made(gpt2_session_free, gpt2_session_new, c_model(), &options);
    const float* logits = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &logits) == GPT2_OK);
    CHECK(same_bits(expected, logits));
  }
  REQUIRE(gpt2_force_isa(before.c_str()) == GPT2_OK);
}

TEST_CASE("an exception of a callback in C++ does not cross the interface") {
  gpt2_generate_options options;
  gpt2_generate_options_init(&options, sizeof options);
  const auto c = c_session();
  const TokenId once = 443;
  const auto generate_with = [&](gpt2_on_token on_token) {
    options.on_token = on_token;
    gpt2_generation* none = nullptr;
    const gpt2_status status = gpt2_generate(c.get(), nullptr, &once, 1, &options, &none);
    CHECK(none == nullptr);
    return status;
  };
  CHECK(generate_with([](void*, gpt2_token) -> int { throw std::runtime_error("two\nlines"); }) ==
        GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("two lines"));
  const auto throw_half_characters = [](void*, gpt2_token) -> int {
    throw std::runtime_error(std::string(2000, '\x80'));
  };
  CHECK(generate_with(throw_half_characters) == GPT2_INTERNAL);
  CHECK(generate_with([](void*, gpt2_token) -> int { throw 42; }) == GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("an exception of an unknown type"));
  CHECK(generate_with([](void*, gpt2_token) -> int { throw std::bad_alloc(); }) ==
        GPT2_OUT_OF_MEMORY);

  gpt2_observer observer;
  gpt2_observer_init(&observer, sizeof observer);
  observer.see = [](void*, const gpt2_observation*) -> int { throw std::runtime_error("seen"); };
  const gpt2_slice slice = {c.get(), &once, 1, nullptr, 0};
  CHECK(gpt2_observe(&slice, 1, &observer) == GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("seen"));
  observer.change = [](void*, const gpt2_intervention*) -> int {
    throw std::runtime_error("changed");
  };
  CHECK(gpt2_observe(&slice, 1, &observer) == GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("changed"));
}

}  // namespace gpt2::test::same_test
