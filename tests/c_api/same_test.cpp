// Tests that the C interface gives the same results as the C++ interface, bit for bit. The tests in
// tests/python, which use this interface too, compare what has the form of JSON with the command.
#include <new>
#include <stdexcept>

#include "c_api/calls.h"
#include "gpt2/embed.h"
#include "gpt2/generate.h"
#include "gpt2/model.h"
#include "gpt2/observer.h"
#include "gpt2/option_fields.h"
#include "gpt2/runtime.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"

namespace gpt2::test::same_test {

using namespace gpt2::test::c_api;

TEST_CASE("descriptions are those of C++") {
  const json library = json_of(gpt2_describe);
  CHECK(library.at("isa") == isa_name());
  CHECK(library.at("isas") == available_isas());
  CHECK(library.at("threads") == thread_count());
  CHECK(library.at("dtypes") == json({"f32", "f16", "bf16", "int8", "int4"}));
  REQUIRE(library.at("observed").size() == observed_names().size());
  CHECK(library.at("observed")[GPT2_OBSERVED_MLP_PREACTIVATIONS].at("name") ==
        "mlp_preactivations");
  CHECK(library.at("observed")[4].at("hook") == observed_names()[4].transformer_lens);
  std::size_t rows = 0;
  const auto check_row = [&](const auto& field) {
    CHECK(library.at("options").at(rows++).at("name") == field.name);
  };
  for_each_generation_field(check_row);
  for_each_sampling_field(check_row);
  CHECK(library.at("options").at(rows++).at("name") == "bad_words");
  for_each_beam_field(check_row);
  CHECK(library.at("options").size() == rows);

  const json info = json_of(gpt2_model_info, c_model());
  CHECK(info.at("parameters") == model().parameter_count());
  CHECK(info.at("memory").at("read_for_each_token_bytes") == model().bytes_per_token());
  CHECK(info.at("dtype") == name_of(model().weight_type()));
  CHECK(info.at("config") == json::parse(model().config().to_json()));
  CHECK(info.at("path") == kDirectory.string());
  CHECK(info.at("warnings").empty());

  const json tokens = json_of(gpt2_tokenizer_info, c_tokenizer());
  CHECK(tokens.at("n_tokens") == tokenizer().size());
  CHECK(tokens.at("special_ids") == json({tokenizer().end_of_text().value()}));
}

TEST_CASE("a text becomes the same tokens, and these the same text") {
  const std::string text("caf\u00e9<|endoftext|>\0 zero", 24);
  for (const bool parse_special : {true, false}) {
    gpt2_ids *ids = nullptr, *offsets = nullptr;
    std::size_t lost = 9;
    const char* const options = parse_special ? nullptr : R"({"parse_special": false})";
    REQUIRE(gpt2_tokenizer_encode(c_tokenizer(), text.data(), text.size(), options, &ids, &lost) ==
            GPT2_OK);
    REQUIRE(gpt2_tokenizer_offsets(c_tokenizer(), text.data(), text.size(), options, &offsets) ==
            GPT2_OK);
    REQUIRE(offsets->count == 2 * ids->count);
    for (std::size_t i = 0; i < ids->count; ++i) {
      const auto begin = static_cast<std::size_t>(offsets->data[2 * i]);
      const auto end = static_cast<std::size_t>(offsets->data[2 * i + 1]);
      CHECK(text.substr(begin, end - begin) == tokenizer().bytes(ids->data[i]));
    }
    gpt2_free(offsets);
    const EncodedText expected = tokenizer().encode_text(text, {.parse_special = parse_special});
    CHECK(std::vector<TokenId>(ids->data, ids->data + ids->count) == expected.ids);
    CHECK(lost == expected.lost_bytes);
    CHECK(bytes_of(gpt2_tokenizer_decode, c_tokenizer(), ids->data, ids->count) == text);
    gpt2_free(ids);
    for (const TokenId id : expected.ids) {
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

TEST_CASE("a sampler gives the same scores and tokens") {
  const std::size_t vocab_size = model().config().vocab_size;
  const auto c =
      made(gpt2_sampler_free, gpt2_sampler_new,
           R"({"temperature": 0.9, "seed": 7, "repetition_penalty": 1.25, "top_p": 0.9, "top_k": 0,
               "eos_token_id": [4095], "prompt_length": 2, "max_length": 30, "dropped": 1})",
           vocab_size, nullptr, nullptr);
  Sampler cpp({.temperature = 0.9f, .top_p = 0.9f, .seed = 7, .repetition_penalty = 1.25f},
              vocab_size,
              {.eos_token_id = {4095}, .prompt_length = 2, .max_length = 30, .dropped = 1});
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

// python_package_test shows that the weights are used where they lie.
TEST_CASE("a model and a tokenizer in memory are those of the directory") {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const char* const name : {"config.json", "model.safetensors", "vocab.json", "merges.txt"}) {
    contents.emplace_back(name, read_bytes(kDirectory / name));
  }
  std::vector<gpt2_memory_file> files;
  for (const auto& [name, content] : contents) {
    files.push_back({name.c_str(), content.data(), content.size()});
  }
  const auto text =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load_memory, files.data(), files.size());
  const std::vector<TokenId> ids = encoded("Once upon");
  CHECK(bytes_of(gpt2_tokenizer_decode, text.get(), ids.data(), ids.size()) == "Once upon");
  const auto loaded = made(gpt2_model_free, gpt2_model_load_memory, files.data(), files.size(),
                           R"({"dtype": "int8"})", nullptr, nullptr);
  CHECK(json_of(gpt2_model_info, loaded.get()).at("path") == "");
  const auto c = made(gpt2_session_free, gpt2_session_new, loaded.get(), no_engine(), nullptr);
  const float* logits = nullptr;
  REQUIRE(gpt2_session_forward(c.get(), ids.data(), ids.size(), &logits) == GPT2_OK);
  CHECK(same_bits(Session(model().to(WeightType::int8)).forward(ids), logits));
}

namespace {

// Everything that an observer was shown: what, where and the values, one after another.
struct Seen {
  std::size_t pieces = 0;
  std::vector<float> numbers;

  template <class Observation>
  int add(const Observation& seen) {
    ++pieces;
    for (const std::size_t number : {static_cast<std::size_t>(seen.what), seen.layer, seen.head,
                                     seen.slice, seen.first, seen.rows, seen.cols}) {
      numbers.push_back(static_cast<float>(number));
    }
    for (std::size_t i = 0; i < seen.rows; ++i) {
      const float* const row = seen.data + i * seen.stride;
      numbers.insert(numbers.end(), row, row + seen.cols);
    }
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
    CHECK(seen.pieces > 100);
    REQUIRE(seen.numbers.size() == c_seen.numbers.size());
    CHECK(same_bits(seen.numbers, c_seen.numbers.data()));
    all_logits.push_back(logits);

    c_observer.wants = [](void*, gpt2_observed what, std::size_t layer) {
      return static_cast<int>(what == GPT2_OBSERVED_ATTENTION_WEIGHTS && layer == 1);
    };
    c_seen = {};
    REQUIRE(gpt2_forward(c_slices, 1, &c_observer) == GPT2_OK);
    CHECK(c_seen.pieces == model().config().n_head);
    CHECK(c_seen.numbers.at(0) == static_cast<float>(Observed::attention_weights));
    CHECK(c_seen.numbers.at(4) == static_cast<float>(once.size()));
  }
  CHECK(all_logits[0] != all_logits[1]);
}

TEST_CASE("an exception of a callback in C++ does not cross the interface") {
  using Text = const char*;
  const auto scheduler = c_scheduler();
  gpt2_callbacks callbacks = sized<gpt2_callbacks>();
  const auto check = [&](gpt2_on_token on_token, gpt2_status status, const char* error) {
    callbacks.on_token = on_token;
    const auto run = c_run(scheduler.get(), "generate", {{"prompt", "Once"}}, &callbacks);
    gpt2_bytes* none = nullptr;
    CHECK(gpt2_run_result(run.get(), &none) == status);
    CHECK(none == nullptr);
    CHECK(std::string(gpt2_last_error()).find(error) != std::string::npos);
  };
  check([](void*, std::size_t, gpt2_token, Text,
           std::size_t) -> int { throw std::runtime_error("two\nlines"); },
        GPT2_INTERNAL, "two lines");
  check(
      [](void*, std::size_t, gpt2_token, Text, std::size_t) -> int {
        throw std::runtime_error(std::string(2000, '\x80'));  // no character
      },
      GPT2_INTERNAL, "");
  check([](void*, std::size_t, gpt2_token, Text, std::size_t) -> int { throw 42; }, GPT2_INTERNAL,
        "unknown type");
  check([](void*, std::size_t, gpt2_token, Text, std::size_t) -> int { throw std::bad_alloc(); },
        GPT2_OUT_OF_MEMORY, "memory");

  const auto c = c_session();
  const TokenId once = 443;
  gpt2_observer observer = sized<gpt2_observer>();
  observer.see = [](void*, const gpt2_observation*) -> int { throw std::runtime_error("seen"); };
  const gpt2_slice slice = {c.get(), &once, 1, nullptr, 0};
  CHECK(gpt2_forward(&slice, 1, &observer) == GPT2_INTERNAL);
  CHECK(gpt2_last_error() == std::string("seen"));
}

}  // namespace gpt2::test::same_test
