// Tests that the C interface gives the same results as the C++ interface, bit for bit.
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file_source.h"
#include "gpt2/beam_search.h"
#include "gpt2/embed.h"
#include "gpt2/generation_config.h"
#include "gpt2/gpt2.h"
#include "gpt2/inspect.h"
#include "gpt2/model.h"
#include "gpt2/observer.h"
#include "gpt2/option_fields.h"
#include "gpt2/runtime.h"
#include "gpt2/scheduler.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "requests/hash.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace gpt2::test::same_test {

using namespace gpt2::test::bundled;
using nlohmann::json;

namespace {

template <class T>
using Freed = std::unique_ptr<T, void (*)(T*)>;

// Calls `make` with the arguments and a pointer to a handle, and requires that it succeeds.
template <class T, class Make, class... Arguments>
Freed<T> made(void (*free)(T*), Make make, Arguments... arguments) {
  T* result = nullptr;
  const gpt2_status status = make(arguments..., &result);
  INFO(gpt2_last_error());
  REQUIRE(status == GPT2_OK);
  return {result, free};
}

// The same for a function that returns bytes.
template <class Make, class... Arguments>
std::string bytes_of(Make make, Arguments... arguments) {
  gpt2_bytes* result = nullptr;
  const gpt2_status status = make(arguments..., &result);
  INFO(gpt2_last_error());
  REQUIRE(status == GPT2_OK);
  REQUIRE(result->data[result->size] == '\0');
  const std::string bytes(result->data, result->size);
  gpt2_free(result);
  return bytes;
}

template <class Make, class... Arguments>
json json_of(Make make, Arguments... arguments) {
  return json::parse(bytes_of(make, arguments...));
}

const gpt2_model* c_model() {
  static const auto loaded = made(gpt2_model_free, gpt2_model_load, kDirectory.string().c_str(),
                                  nullptr, nullptr, nullptr);
  return loaded.get();
}

const gpt2_tokenizer* c_tokenizer() {
  static const auto loaded =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load, kDirectory.string().c_str());
  return loaded.get();
}

const gpt2_engine* no_engine() { return nullptr; }

// Returns callbacks or an observer with its size and nothing else.
template <class T>
T sized() {
  T result = {};
  result.size = sizeof result;
  return result;
}

Freed<gpt2_session> c_session(const char* options = nullptr) {
  return made(gpt2_session_free, gpt2_session_new, c_model(), no_engine(), options);
}

Freed<gpt2_scheduler> c_scheduler(const char* options = nullptr) {
  return made(gpt2_scheduler_free, gpt2_scheduler_new, c_model(), no_engine(), options);
}

Freed<gpt2_run> c_run(gpt2_scheduler* scheduler, const char* kind, const json& request,
                      const gpt2_callbacks* callbacks = nullptr) {
  return made(gpt2_run_free, gpt2_run_new, scheduler, c_tokenizer(), kind, request.dump().c_str(),
              callbacks);
}

json result_of(const char* kind, const json& request) {
  const auto scheduler = c_scheduler();
  return json_of(gpt2_run_result, c_run(scheduler.get(), kind, request).get());
}

std::vector<TokenId> encoded(const char* text) { return tokenizer().encode(text); }

bool same_bits(std::span<const float> a, const float* b) {
  return std::memcmp(a.data(), b, a.size_bytes()) == 0;
}

void check_same(float a, const json& b) {
  const auto number = b.is_null() ? std::nanf("") : b.get<float>();
  CHECK((same_bits({&a, 1}, &number) || (std::isnan(a) && b.is_null())));
}

void check_same(std::span<const TokenLogprob> a, const json& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_same(a[i].logprob, b[i].at("logprob"));
    if (!b[i].at("rank").is_null()) CHECK(a[i].rank == b[i].at("rank"));
    REQUIRE(a[i].top.size() == b[i].at("top").size());
    for (std::size_t j = 0; j < a[i].top.size(); ++j) {
      CHECK(a[i].top[j].id == b[i].at("top")[j].at("id"));
      check_same(a[i].top[j].logprob, b[i].at("top")[j].at("logprob"));
    }
  }
}

void check_same(const GenerationResult& a, const std::string& text, const json& b) {
  CHECK(b.at("token_ids") == a.tokens);
  CHECK(b.at("text") == text);
  CHECK(b.at("finish_reason") == name_of(a.finish_reason));
  CHECK(b.at("prompt_tokens") == a.prompt_tokens);
  if (a.logits_hash != 0) CHECK(b.at("stats").at("logits_hash") == hash_text(a.logits_hash));
  if (b.contains("logprobs")) check_same(a.logprobs, b.at("logprobs"));
}

// A request with an option of each type, and the same options in C++.
json full_request(const char* prompt) {
  return {{"prompt", prompt},
          {"max_new_tokens", 40},
          {"stop", {"zebra", "xylophone"}},
          {"stop_tokens", {encoded(" zoo")[0]}},
          {"hash_logits", true},
          {"logprobs", 3},
          {"temperature", 0.9},
          {"top_k", 50},
          {"seed", 7},
          {"repetition_penalty", 1.1},
          {"min_new_tokens", 20},
          {"sequence_bias", json::array({json::array({encoded(" dog"), -2.0})})},
          {"logit_bias", {{std::to_string(encoded(" the")[0]), 3}}},
          {"bad_words_ids", {encoded(" dog"), encoded(" cat")}},
          {"suppress_tokens", encoded(" girl")},
          {"exponential_decay_length_penalty", {10, 1.01}},
          {"renormalize_logits", true}};
}

GenerationOptions full_options() {
  GenerationOptions options = {.max_new_tokens = 40,
                               .stop_tokens = {encoded(" zoo")[0]},
                               .stop = {"zebra", "xylophone"},
                               .hash_logits = true,
                               .top_logprobs = 3};
  options.sampling = {.temperature = 0.9f,
                      .top_k = 50,
                      .seed = 7,
                      .sequence_bias = {{encoded(" dog"), -2.0f}},
                      .logit_bias = {{encoded(" the")[0], 3.0f}},
                      .repetition_penalty = 1.1f,
                      .bad_words_ids = {encoded(" dog"), encoded(" cat")},
                      .min_new_tokens = 20,
                      .exponential_decay_length_penalty = {{10, 1.01}},
                      .suppress_tokens = encoded(" girl"),
                      .renormalize_logits = true};
  return options;
}

// What C++ writes, and its text.
std::pair<GenerationResult, std::string> written(const char* prompt,
                                                 const GenerationOptions& options) {
  Session session(model());
  std::string text;
  GenerationResult result = generate(session, tokenizer(), encoded(prompt), options,
                                     [&](std::string_view piece) { return text += piece, true; });
  return {std::move(result), text};
}

}  // namespace

TEST_CASE("descriptions are those of C++") {
  const json library = json_of(gpt2_describe);
  CHECK(library.at("isa") == isa_name());
  CHECK(library.at("isas") == available_isas());
  CHECK(library.at("threads") == thread_count());
  CHECK(library.at("dtypes") == json({"f32", "f16", "bf16", "int8", "int4"}));
  CHECK(library.at("finish_reasons").size() == 5);
  REQUIRE(library.at("observed").size() == observed_names().size());
  CHECK(library.at("observed")[GPT2_OBSERVED_MLP_ACTIVATIONS].at("name") == "mlp_activations");
  CHECK(library.at("observed")[4].at("hook") == observed_names()[4].transformer_lens);
  std::size_t rows = 0;
  const auto check_row = [&](const auto& field) {
    CHECK(library.at("options").at(rows++).at("name") == field.name);
  };
  for_each_generation_field(check_row);
  for_each_sampling_field(check_row);
  for_each_beam_field(check_row);
  CHECK(library.at("options").size() == rows);

  json info = json_of(gpt2_model_info, c_model());
  const Config& config = model().config();
  info.erase("weight_bytes");
  CHECK(info == json{{"vocab_size", config.vocab_size},
                     {"n_positions", config.n_positions},
                     {"n_embd", config.n_embd},
                     {"n_layer", config.n_layer},
                     {"n_head", config.n_head},
                     {"n_inner", config.inner_dim()},
                     {"parameter_count", model().parameter_count()},
                     {"bytes_per_token", model().bytes_per_token()},
                     {"eos_token_id", config.eos_token_id},
                     {"bos_token_id", config.bos_token_id.value()},
                     {"dtype", name_of(model().weight_type())},
                     {"config", json::parse(config.to_json())},
                     {"path", kDirectory.string()}});

  const json tokens = json_of(gpt2_tokenizer_info, c_tokenizer());
  CHECK(tokens.at("n_tokens") == tokenizer().size());
  CHECK(tokens.at("vocab_size") == tokenizer().vocab_size());
  CHECK(tokens.at("end_of_text") == tokenizer().end_of_text().value());
  CHECK(tokens.at("special_ids") == json({*tokenizer().end_of_text()}));
  CHECK(tokens.at("description") == tokenizer().description());
}

TEST_CASE("a text becomes the same tokens, and these the same text") {
  const std::string text("caf\u00e9<|endoftext|>\0 zero", 24);
  for (const bool parse_special : {true, false}) {
    gpt2_ids* ids = nullptr;
    std::size_t lost = 9, expected_lost = 9;
    REQUIRE(gpt2_tokenizer_encode(c_tokenizer(), text.data(), text.size(),
                                  parse_special ? nullptr : R"({"parse_special": false})", &ids,
                                  &lost) == GPT2_OK);
    const std::vector<TokenId> expected =
        tokenizer().encode(text, {.parse_special = parse_special}, &expected_lost);
    CHECK(std::vector<TokenId>(ids->data, ids->data + ids->count) == expected);
    CHECK(lost == expected_lost);
    CHECK(bytes_of(gpt2_tokenizer_decode, c_tokenizer(), ids->data, ids->count) == text);
    gpt2_free(ids);
    for (const TokenId id : expected) {
      const char* bytes = nullptr;
      std::size_t size = 0;
      REQUIRE(gpt2_tokenizer_token_bytes(c_tokenizer(), id, &bytes, &size) == GPT2_OK);
      CHECK(std::string_view(bytes, size) == tokenizer().bytes(id));
    }
  }
  gpt2_token found = 0;
  REQUIRE(gpt2_tokenizer_find(c_tokenizer(), "<|endoftext|>", 13, &found) == GPT2_OK);
  CHECK(found == tokenizer().end_of_text());
  REQUIRE(gpt2_tokenizer_find(c_tokenizer(), "no such token", 13, &found) == GPT2_OK);
  CHECK(found == -1);
}

TEST_CASE("texts are continued with the same tokens and logits") {
  const auto [expected, text] = written("Once upon a time", full_options());
  std::string streamed;
  gpt2_callbacks callbacks = sized<gpt2_callbacks>();
  callbacks.user = &streamed;
  callbacks.on_token = [](void* user, std::size_t, gpt2_token, const char* piece,
                          std::size_t size) {
    static_cast<std::string*>(user)->append(piece, size);
    return 1;
  };
  const auto c = c_session();
  const auto in_session = made(gpt2_run_free, gpt2_run_in_session, c.get(), c_tokenizer(),
                               full_request("Once upon a time").dump().c_str(), &callbacks);
  check_same(expected, text, json_of(gpt2_run_result, in_session.get()).at(0));
  CHECK(streamed == text);

  // In the passes of a scheduler, of which each text is in turn.
  const auto scheduler = c_scheduler(R"({"max_sequences": 2})");
  const char* const prompts[] = {"Once upon", "The cat", "One day"};
  std::vector<Freed<gpt2_run>> runs;
  for (const char* const prompt : prompts) {
    runs.push_back(c_run(scheduler.get(), "generate", full_request(prompt)));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [alone, its_text] = written(prompts[i], full_options());
    check_same(alone, its_text, json_of(gpt2_run_result, runs[i].get()).at(0));
  }

  // Without a tokenizer, and with a draft, which changes only the counts of drafted tokens.
  const auto draft = made(gpt2_model_free, gpt2_model_convert, c_model(), "int8");
  gpt2_callbacks drafting = sized<gpt2_callbacks>();
  drafting.draft = draft.get();
  json request = full_request("");
  request["prompt"] = encoded("Once upon a time");
  request.erase("stop");
  const auto ids_only = made(gpt2_run_free, gpt2_run_new, scheduler.get(),
                             static_cast<const gpt2_tokenizer*>(nullptr), "generate",
                             request.dump().c_str(), &drafting);
  const json again = json_of(gpt2_run_result, ids_only.get()).at(0);
  CHECK(again.at("token_ids") == expected.tokens);
  CHECK(again.at("stats").at("drafted_tokens") > 0);
  CHECK_FALSE(again.contains("text"));
}

TEST_CASE("a request without options has the defaults of the command") {
  const json plain = result_of("generate", {{"prompt", "Once"}, {"max_new_tokens", 9}});
  const auto [expected, text] =
      written("Once", {.max_new_tokens = 9, .sampling = {.temperature = 0.8f, .top_k = 40}});
  check_same(expected, text, plain.at(0));
  const json chat = result_of("chat", {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}});
  CHECK(chat.at("choices")[0].at("message").at("role") == "assistant");
  const json completion = result_of("completions", {{"prompt", "Once"}, {"temperature", 0}});
  CHECK(completion.at("usage").at("completion_tokens") == 16);
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
  CHECK(json_of(gpt2_session_info, fork.get()) == json{{"position", once.size() + cat.size()},
                                                       {"waiting", cat.size()},
                                                       {"capacity", model().config().n_positions},
                                                       {"dropped", 0}});
  const gpt2_token* ids = nullptr;
  std::size_t n_ids = 0;
  REQUIRE(gpt2_session_tokens(fork.get(), &ids, &n_ids) == GPT2_OK);
  CHECK(n_ids == once.size() + cat.size());
  CHECK(ids[once.size()] == cat[0]);
  REQUIRE(gpt2_session_forward(fork.get(), nullptr, 0, &logits) == GPT2_OK);
  CHECK(same_bits(cpp_fork.forward(cat), logits));
  CHECK(gpt2_session_rewind(c.get(), 2) == GPT2_OK);
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
  REQUIRE(gpt2_forward(c_slices, 2, nullptr) == GPT2_OK);
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
  const auto loaded =
      made(gpt2_session_free, gpt2_session_load, c_model(), no_engine(), file.c_str(), nullptr);
  REQUIRE(gpt2_session_forward(loaded.get(), cat.data(), cat.size(), &logits) == GPT2_OK);
  CHECK(same_bits(session.forward(cat), logits));
}

TEST_CASE("a session slides in the same way") {
  const std::vector<TokenId> once = encoded("Once upon a time there was a cat");
  Session session(model(), {.max_tokens = once.size()});
  const json options = {{"max_tokens", once.size()}};
  const auto c = c_session(options.dump().c_str());
  const float* logits = nullptr;
  session.forward(once);
  REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &logits) == GPT2_OK);
  std::size_t dropped = 0;
  REQUIRE(gpt2_session_slide(c.get(), 2, 1, &dropped) == GPT2_OK);
  CHECK(dropped > 0);
  CHECK(dropped == session.slide(2, 1));
  CHECK(json_of(gpt2_session_info, c.get()).at("dropped") == dropped);
  REQUIRE(gpt2_session_forward(c.get(), once.data(), 1, &logits) == GPT2_OK);
  CHECK(same_bits(session.forward({once.data(), 1}), logits));
}

TEST_CASE("engines give the same bits with any instruction set and number of threads") {
  const std::vector<TokenId> once = encoded("Once upon a time");
  const auto logits_with = [&](const json& options) {
    const auto engine = made(gpt2_engine_free, gpt2_engine_new, c_model(), options.dump().c_str());
    const gpt2_engine* const of = engine.get();
    const auto c = made(gpt2_session_free, gpt2_session_new, c_model(), of, nullptr);
    const float* found = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), once.data(), once.size(), &found) == GPT2_OK);
    return std::vector<float>(found, found + model().config().vocab_size);
  };
  Session f32(model()), f16(Engine(model(), {.kv_type = KVType::f16}));
  const auto plain = f32.forward(once), rounded = f16.forward(once);
  const std::string before(isa_name());
  for (const std::string& isa : available_isas()) {
    REQUIRE(gpt2_force_isa(isa.c_str()) == GPT2_OK);
    CHECK(json_of(gpt2_describe).at("isa") == isa);
    CHECK(same_bits(plain, logits_with({{"threads", 3}}).data()));
  }
  REQUIRE(gpt2_force_isa(before.c_str()) == GPT2_OK);
  CHECK(same_bits(plain, logits_with({{"kv_type", "auto"}}).data()));
  CHECK(same_bits(rounded, logits_with({{"kv_type", "f16"}}).data()));
  CHECK_FALSE(same_bits(plain, logits_with({{"kv_type", "f16"}}).data()));
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

template <class Values>
void shake(const Values& values) {
  for (std::size_t i = 0; i < values.rows; ++i) {
    for (std::size_t j = 0; j < values.cols; ++j) values.data[i * values.stride + j] *= 1.25f;
  }
}

int add_seen(void* user, const gpt2_observation* piece) {
  return static_cast<Seen*>(user)->add(*piece);
}

}  // namespace

TEST_CASE("an observer sees the same pass, and changes it in the same way") {
  const std::vector<TokenId> once = encoded("Once upon a time"), cat = encoded("The cat");
  std::vector<std::vector<float>> all_logits;
  for (const bool is_changed : {false, true}) {
    Session a(model()), b(model());
    b.append(cat);
    const auto c_a = c_session(), c_b = c_session();
    REQUIRE(gpt2_session_append(c_b.get(), cat.data(), cat.size()) == GPT2_OK);
    std::vector<float> logits(model().config().vocab_size), c_logits(logits.size());
    const Slice slices[] = {{&a, once, logits}, {&b, {}, {}}};
    const gpt2_slice c_slices[] = {{c_a.get(), once.data(), once.size(), c_logits.data(), 1},
                                   {c_b.get(), nullptr, 0, nullptr, 0}};
    Seen seen, c_seen;  // after the changes
    Observer observer = {.see = [&](const Observation& piece) { seen.add(piece); }};
    gpt2_observer c_observer = sized<gpt2_observer>();
    c_observer.user = &c_seen;
    c_observer.see = add_seen;
    if (is_changed) {
      observer.change = shake<Intervention>;
      observer.changes = [](Observed, std::size_t layer) { return layer == 2; };
      c_observer.change = [](void*, const gpt2_observation* values) { return shake(*values), 1; };
      c_observer.changes = [](void*, gpt2_observed, std::size_t layer) {
        return static_cast<int>(layer == 2);
      };
    }
    forward(slices, observer);
    REQUIRE(gpt2_forward(c_slices, 2, &c_observer) == GPT2_OK);
    CHECK(same_bits(logits, c_logits.data()));
    CHECK(seen.pieces.size() > 100);
    CHECK(seen.pieces == c_seen.pieces);
    all_logits.push_back(logits);

    c_observer.wants = [](void*, gpt2_observed what, std::size_t layer) {
      return static_cast<int>(what == GPT2_OBSERVED_ATTENTION_WEIGHTS && layer == 1);
    };
    c_seen.pieces.clear();
    REQUIRE(gpt2_forward(c_slices, 1, &c_observer) == GPT2_OK);
    CHECK(c_seen.pieces.size() == model().config().n_head);
    CHECK(c_seen.pieces.at(0).what == static_cast<int>(Observed::attention_weights));
    CHECK(c_seen.pieces.at(0).first == once.size());
  }
  CHECK(all_logits[0] != all_logits[1]);
}

TEST_CASE("a sampler gives the same scores and tokens") {
  const std::size_t vocab_size = model().config().vocab_size;
  const TokenId end = *tokenizer().end_of_text();
  json options = full_request("");
  for (const char* const name : {"prompt", "hash_logits", "stop_tokens"}) options.erase(name);
  options.update({{"eos_token_id", {end}},
                  {"prompt_length", 2},
                  {"max_length", 30},
                  {"dropped", 1},
                  {"min_tokens_to_keep", 2}});
  const auto c = made(gpt2_sampler_free, gpt2_sampler_new, options.dump().c_str(), vocab_size,
                      nullptr, nullptr);
  Sampler cpp(full_options().sampling, vocab_size,
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

TEST_CASE("a beam search finds the same sequences") {
  BeamSearchOptions cpp = {.max_new_tokens = 30, .tokenizer = tokenizer()};
  cpp.beams = {.num_beams = 6,
               .num_return_sequences = 4,
               .length_penalty = -1.5,
               .early_stopping = EarlyStopping::never};
  cpp.sampling = {.repetition_penalty = 1.25f, .suppress_tokens = encoded(" girl")};
  cpp.stop_tokens = encoded(".");
  const json found = result_of("generate", {{"prompt", "The moon is"},
                                            {"max_new_tokens", 30},
                                            {"num_beams", 6},
                                            {"num_return_sequences", 4},
                                            {"length_penalty", -1.5},
                                            {"early_stopping", "never"},
                                            {"repetition_penalty", 1.25},
                                            {"suppress_tokens", encoded(" girl")},
                                            {"stop_tokens", encoded(".")}});
  const auto expected = beam_search(Engine::shared(model()), encoded("The moon is"), cpp);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].at("token_ids") == expected[i].tokens);
    CHECK(found[i].at("text") == expected[i].text);
    CHECK(found[i].at("finish_reason") == name_of(expected[i].finish_reason));
    check_same(static_cast<float>(expected[i].score), found[i].at("score"));
  }
}

TEST_CASE("embeddings are the same") {
  const std::vector<std::vector<TokenId>> texts = {encoded("The cat sat down."),
                                                   encoded("A dog ran.")};
  const gpt2_ids c_texts[] = {{texts[0].data(), texts[0].size()},
                              {texts[1].data(), texts[1].size()}};
  const std::size_t n_embd = model().config().n_embd;
  const auto check = [&](const char* options, const EmbedOptions& cpp) {
    std::vector<float> found(2 * n_embd);
    REQUIRE(gpt2_embed(c_model(), nullptr, c_texts, 2, options, nullptr, nullptr, found.data()) ==
            GPT2_OK);
    const auto expected = embed(Engine::shared(model()), texts, cpp);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(expected[i], &found[i * n_embd]));
  };
  check(nullptr, {});
  check(R"({"pooling": "last", "layer": 2})", {.pooling = Pooling::last, .layer = 2});
  check(R"({"layer": -2})", {.layer = model().config().n_layer - 1});
  const json openai = result_of("embeddings", {{"input", "The cat"}});
  CHECK(openai.at("data")[0].at("embedding").size() == n_embd);
}

TEST_CASE("scores are the same") {
  const std::vector<std::vector<TokenId>> texts = {
      encoded("The cat sat down. It was a very small cat, and it had a red hat."),
      encoded("One day, a dog ran.")};
  const std::vector<TextScore> scores =
      score(Engine::shared(model()), texts, {.context = 8, .stride = 3, .top_logprobs = 2});
  const json found =
      result_of("score", {{"texts", texts}, {"context", 8}, {"stride", 3}, {"logprobs", 2}});
  const auto check = [](const Perplexity& expected, const json& record) {
    CHECK(record.at("tokens") == expected.tokens);
    CHECK(record.at("windows") == expected.windows);
    CHECK(record.at("logprob") == -expected.nll);
    CHECK(record.at("perplexity") == expected.by_token.value);
    const double error = expected.by_token.standard_error;  // NaN for a single window
    CHECK(record.at("perplexity_error") == (std::isnan(error) ? json() : json(error)));
    CHECK(record.at("word_perplexity") == expected.by_word.value);
    CHECK(record.at("bits_per_byte") == expected.bits_per_byte.value);
  };
  check(perplexity(scores, texts, tokenizer()), found);
  REQUIRE(found.at("texts").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& text = found.at("texts")[i];
    check(perplexity({&scores[i], 1}, {&texts[i], 1}, tokenizer()), text);
    check_same(scores[i].tokens, text.at("logprobs"));
  }
  const json none = result_of("score", {{"texts", {{443}}}});  // nothing predicts a first token
  CHECK(none.at("tokens") == 0);
  CHECK(none.at("perplexity").is_null());
  CHECK_FALSE(none.at("texts")[0].contains("logprobs"));

  const std::vector<TokenId> context = encoded("Tom has a pet");
  const auto choices = gpt2::score_choices(Engine::shared(model()), context, texts, 2);
  const json compared =
      result_of("choices", {{"context", "Tom has a pet"}, {"choices", texts}, {"logprobs", 2}});
  REQUIRE(compared.at("choices").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& choice = compared.at("choices")[i];
    check_same(choices[i].tokens, choice.at("logprobs"));
    CHECK(choice.at("logprob") == choices[i].sum);
    CHECK(choice.at("logprob_per_token") == choices[i].mean);
    CHECK(choice.at("greedy_match") == choices[i].greedy_match);
  }
  CHECK(compared.at("best") == (choices[0].sum > choices[1].sum ? 0 : 1));
}

TEST_CASE("inspections are the same") {
  const json found = result_of("inspect", {{"prompt", "The cat sat"}, {"attention", false}});
  const Inspection expected = inspect(Engine::shared(model()), encoded("The cat sat"));
  check_same(expected.scores, found.at("tokens"));
  CHECK(found.at("model") == kDirectory.string());
}

TEST_CASE("comparisons of two models are the same") {
  std::vector<TokenId> ids;
  while (ids.size() < 700) ids.push_back(static_cast<TokenId>(ids.size() * 7 % 4000));
  const auto int8 = made(gpt2_model_free, gpt2_model_convert, c_model(), "int8");
  const auto f16 = made(gpt2_engine_free, gpt2_engine_new, c_model(), R"({"kv_type": "f16"})");
  int calls = 0;
  const json found = json_of(
      gpt2_compare, c_model(), f16.get(), int8.get(), no_engine(), ids.data(), ids.size(),
      [](void* user, double) { return ++*static_cast<int*>(user); }, &calls);
  const PerplexityComparison expected = compare_perplexity(
      Engine(model(), {.kv_type = KVType::f16}), Engine::shared(model().to(WeightType::int8)), ids);
  CHECK(found == json{{"tokens", expected.tokens},
                      {"windows", expected.windows},
                      {"perplexity_a", expected.perplexity[0]},
                      {"perplexity_b", expected.perplexity[1]},
                      {"change", expected.change},
                      {"standard_error", expected.standard_error},
                      {"max_logit_change", expected.max_logit_change}});
  CHECK(calls > 1);
}

// A request with these members writes what HuggingFace's generate() would write.
TEST_CASE("a generation config becomes a request") {
  const char* const none = nullptr;
  const auto config_of = [&](const json& text) {
    return json_of(gpt2_generation_config, none, text.dump().c_str());
  };
  CHECK(config_of(json::object()) == json{{"do_sample", false}, {"max_length", 20}});
  CHECK(config_of({{"do_sample", true}}) ==
        json{{"do_sample", true}, {"temperature", 1.0}, {"top_k", 50}, {"max_length", 20}});
  json given = {{"do_sample", false},
                {"num_beams", 6},
                {"num_return_sequences", 2},
                {"length_penalty", 1.5},
                {"early_stopping", "never"},
                {"max_length", 30},
                {"bad_words_ids", {{5}, {6, 7}}}};
  CHECK(config_of(given) == given);
  given["prompt"] = "Once";
  CHECK(result_of("generate", given).size() == 2);
  CHECK(json_of(gpt2_generation_config, kDirectory.string().c_str(), none).contains("do_sample"));
  gpt2_bytes* out = nullptr;
  CHECK(gpt2_generation_config(nullptr, R"({"guidance_scale": 2})", &out) == GPT2_UNSUPPORTED);
  CHECK(std::string(gpt2_last_error()).find("guidance_scale") != std::string::npos);
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
    CHECK(found.dtype == name_of(expected[i].type));
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
  const auto quantized = made(gpt2_model_free, gpt2_model_convert, c_model(), "int8");
  REQUIRE(gpt2_model_save_quantized(quantized.get(), path.c_str()) == GPT2_OK);
  CHECK(bytes_of(gpt2_find_model, path.c_str()) == path);
  const auto loaded =
      made(gpt2_model_free, gpt2_model_load, path.c_str(), nullptr, nullptr, nullptr);
  CHECK(json_of(gpt2_model_info, loaded.get()).at("dtype") == "int8");
  gpt2_model* none = nullptr;
  CHECK(gpt2_model_load(path.c_str(), R"({"dtype": "f32"})", nullptr, nullptr, &none) ==
        GPT2_INVALID_ARGUMENT);
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
  const auto load = [&](const char* options) {
    return made(gpt2_model_free, gpt2_model_load_memory, files.data(), files.size(), options,
                nullptr, nullptr);
  };
  const auto loaded = load(nullptr);
  CHECK(json_of(gpt2_model_info, loaded.get()).at("path") == "");
  const auto text =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load_memory, files.data(), files.size());
  const std::vector<TokenId> ids = encoded("Once upon");
  CHECK(bytes_of(gpt2_tokenizer_decode, text.get(), ids.data(), ids.size()) == "Once upon");

  const auto logits_of = [&] {
    const auto c = made(gpt2_session_free, gpt2_session_new, loaded.get(), no_engine(), nullptr);
    const float* logits = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), ids.data(), ids.size(), &logits) == GPT2_OK);
    return std::vector<float>(logits, logits + model().config().vocab_size);
  };
  Session session(model());
  const std::span<const float> expected = session.forward(ids);
  CHECK(same_bits(expected, logits_of().data()));
  // Changing the bytes in place changes the logits, which shows that the model has no copy of them.
  std::string& weights = contents[1].second;
  std::fill(weights.end() - 1000, weights.end(), '\0');
  CHECK_FALSE(same_bits(expected, logits_of().data()));

  const auto small = load(R"({"dtype": "int8"})");
  CHECK(json_of(gpt2_model_info, small.get()).at("dtype") == "int8");
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "int8").string();
  CHECK(gpt2_model_save_quantized(small.get(), path.c_str()) == GPT2_INVALID_ARGUMENT);
  CHECK(std::string(gpt2_last_error()).find("from memory") != std::string::npos);
}

TEST_CASE("an exception of a callback in C++ does not cross the interface") {
  const auto scheduler = c_scheduler();
  const auto run_with = [&](gpt2_on_token on_token) {
    gpt2_callbacks callbacks = sized<gpt2_callbacks>();
    callbacks.on_token = on_token;
    const auto run = c_run(scheduler.get(), "generate", {{"prompt", "Once"}}, &callbacks);
    gpt2_bytes* none = nullptr;
    const gpt2_status status = gpt2_run_result(run.get(), &none);
    CHECK(none == nullptr);
    return status;
  };
  using Text = const char*;
  struct Case {
    gpt2_on_token on_token;
    gpt2_status status;
    const char* error;
  };
  const Case cases[] = {
      {[](void*, std::size_t, gpt2_token, Text, std::size_t) -> int {
         throw std::runtime_error("two\nlines");
       },
       GPT2_INTERNAL, "two lines"},
      {[](void*, std::size_t, gpt2_token, Text, std::size_t) -> int {
         throw std::runtime_error(std::string(2000, '\x80'));  // no character
       },
       GPT2_INTERNAL, ""},
      {[](void*, std::size_t, gpt2_token, Text, std::size_t) -> int { throw 42; }, GPT2_INTERNAL,
       "unknown type"},
      {[](void*, std::size_t, gpt2_token, Text, std::size_t) -> int { throw std::bad_alloc(); },
       GPT2_OUT_OF_MEMORY, "memory"}};
  for (const auto& [on_token, status, error] : cases) {
    CHECK(run_with(on_token) == status);
    CHECK(std::string(gpt2_last_error()).find(error) != std::string::npos);
  }

  const auto c = c_session();
  const TokenId once = 443;
  gpt2_observer observer = sized<gpt2_observer>();
  observer.see = [](void*, const gpt2_observation*) -> int { throw std::runtime_error("seen"); };
  const gpt2_slice slice = {c.get(), &once, 1, nullptr, 0};
  CHECK(gpt2_forward(&slice, 1, &observer) == GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("seen"));
}

}  // namespace gpt2::test::same_test
