// Tests observers that change what a pass computes: compares them with passes over other
// texts, and checks that a change has the same bits for any division of the text, number of threads
// and instruction set.
#include <thread>

#include "gpt2/embed.h"
#include "gpt2/observer.h"
#include "gpt2/runtime.h"
#include "model/engine_impl.h"
#include "model/transformer.h"
#include "support/passes.h"
#include "support/seen.h"
#include "support/test.h"

namespace gpt2::test::intervention_test {

namespace {

using Change = std::function<void(const Intervention&)>;

constexpr std::size_t kLayers = 3, kHeads = 5, kHeadDim = 9, kEmbd = kHeads * kHeadDim;

std::function<bool(Observed, std::size_t)> only(Observed what, std::size_t layer) {
  return [=](Observed a, std::size_t b) { return a == what && b == layer; };
}

// Sets the elements [begin, begin + count) of every row; by default, all of them.
Change set_to(float value, std::size_t begin = 0, std::size_t count = std::dynamic_extent) {
  return [=](const Intervention& values) {
    for (std::size_t i = 0; i < values.rows; ++i) {
      std::ranges::fill(values.row(i).subspan(begin, count), value);
    }
  };
}

// Replaces the values with those that were seen in another pass, after it has written NaN to all of
// them, so that a row that is left out shows.
Change patch(const Seen& seen) {
  return [&seen](const Intervention& values) {
    const bool is_triangle = values.what == Observed::attention_weights;
    set_to(is_triangle ? 0.0f : std::numeric_limits<float>::quiet_NaN())(values);
    const std::vector<float>& from = seen.at(values.what, values.layer, values.head);
    for (std::size_t i = 0; i < values.rows; ++i) {
      const std::size_t position = values.first + i;
      const std::size_t begin =
          is_triangle ? position * (position + 1) / 2 : position * values.cols;
      std::copy_n(&from.at(begin), is_triangle ? position + 1 : values.cols, values.row(i).begin());
    }
  };
}

std::vector<TokenId> text(unsigned seed = 5, std::size_t count = 40) {
  return random_tokens(odd_model(), count, seed);
}

// The logits of a whole text and everything that was seen.
struct Result {
  std::vector<float> logits;
  Seen seen;
};

Result run(std::span<const TokenId> ids, Observer observer, const Model& model = odd_model()) {
  Session session = session_of(model, 1);
  Result result = {std::vector<float>(ids.size() * model.config().vocab_size), {}};
  if (!observer.see) observer.see = [&](const Observation& seen) { result.seen.add(seen); };
  const Slice slice = {&session, ids, result.logits};
  forward({&slice, 1}, observer);
  return result;
}

// Changes every value by an amount that depends on its position and place.
void shake(const Intervention& values) {
  for (std::size_t i = 0; i < values.rows; ++i) {
    const bool is_triangle = values.what == Observed::attention_weights;
    const std::size_t count = is_triangle ? values.first + i + 1 : values.cols;
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t place = 7 * (values.first + i) + 3 * j + values.layer + values.head;
      const std::size_t step = (place + static_cast<std::size_t>(values.what)) % 11;
      values.row(i)[j] = values.row(i)[j] * 0.875f + 0.01f * static_cast<float>(step);
    }
  }
}

}  // namespace

TEST_CASE("an observer that changes no value changes no bit") {
  const std::vector<TokenId> ids = text(5, 600);  // too many for one batch
  for (const KVType type : {KVType::f32, KVType::f16}) {
    for (const std::size_t wanted : {std::size_t{1}, std::size_t{7}, ids.size()}) {
      CAPTURE(name_of(type), wanted);
      Session plain = session_of(odd_model(), 1, 0, type);
      std::vector<float> expected(wanted * odd_model().config().vocab_size), logits(expected);
      const Slice slice = {&plain, ids, expected};
      forward({&slice, 1});
      std::size_t calls = 0;
      const auto change = [&](const Intervention&) { ++calls; };
      const auto see = [&](const Observation&) { ++calls; };
      for (const Observer& observer : {Observer{.see = see}, Observer{.change = change}}) {
        calls = 0;
        Session watched = session_of(odd_model(), 2, 0, type);
        const Slice same = {&watched, ids, logits};
        forward({&same, 1}, observer);
        CHECK(calls == 2 * (3 + kLayers * (14 + kHeads)));  // two pieces
        CHECK(same_bits(logits, expected));
        CHECK(same_bits(watched.forward(std::span(ids).first(1)),
                        plain.fork().forward(std::span(ids).first(1))));
      }
    }
  }
}

TEST_CASE("patching a text with its own activations changes no bit") {
  const Result own = run(text(), {});
  const Result other = run(text(6), {});
  for (std::size_t i = 0; i < kObservedCount; ++i) {
    const auto what = static_cast<Observed>(i);
    CAPTURE(static_cast<int>(what));
    const auto here = [=](Observed place, std::size_t) { return place == what; };
    const Result same = run(text(), {.change = patch(own.seen), .changes = here});
    CHECK(same_bits(same.logits, own.logits));
    CHECK(same.seen.rows == own.seen.rows);
    CHECK_FALSE(
        same_bits(run(text(), {.change = patch(other.seen), .changes = here}).logits, own.logits));
  }
  CHECK(same_bits(run(text(), {.change = patch(own.seen)}).logits, own.logits));
}

TEST_CASE("values of another text give what that text computes from them") {
  using enum Observed;
  const Result own = run(text(), {}), other = run(text(6), {});
  const std::size_t layer = 1;
  const struct {
    std::vector<Observed> patched;
    std::size_t at;  // the layer
    std::vector<Observed> equal;
  } cases[] = {{{embeddings}, 0, {ln_1_statistics, ln_1_output, block_output}},
               {{ln_1_output}, layer, {queries, keys, values}},
               {{queries, keys, values}, layer, {attention_weights, head_outputs}},
               {{head_outputs}, layer, {attn_output}},
               {{block_middle}, layer, {ln_2_statistics, ln_2_output, mlp_output, block_output}},
               {{ln_2_output}, layer, {mlp_preactivations, mlp_activations}},
               {{mlp_preactivations}, layer, {mlp_activations}},
               {{mlp_activations}, layer, {mlp_output}},
               {{block_output}, 0, {block_output}},
               {{block_output}, 2, {block_output}},
               {{ln_f_output}, kLayers, {ln_f_output}}};
  for (const auto& one : cases) {
    CAPTURE(static_cast<int>(one.patched.front()));
    const auto changes = [&](Observed what, std::size_t at) {
      return at == one.at && std::ranges::count(one.patched, what) != 0;
    };
    const Result result = run(text(), {.change = patch(other.seen), .changes = changes});
    for (const Observed what : one.equal) {
      for (std::size_t head = 0; head < (what == attention_weights ? kHeads : 1); ++head) {
        CHECK(same_bits(result.seen.at(what, one.at, head), other.seen.at(what, one.at, head)));
      }
    }
    const bool is_all = one.patched.front() == embeddings || one.patched.front() == block_middle ||
                        one.equal == one.patched;
    CHECK(same_bits(result.logits, other.logits) == is_all);
  }
}

TEST_CASE("a LayerNorm normalizes with changed statistics") {
  const std::vector<TokenId> ids = text();
  const Transformer& transformer = *odd_model().transformer();
  const auto check = [&](Observed statistics, Observed output, std::size_t layer,
                         const LayerNorm& norm) {
    CAPTURE(static_cast<int>(statistics), layer);
    for (const auto& [mean, rstd] : {std::pair(0.0f, 1.0f), std::pair(0.25f, 3.0f)}) {
      const auto change = [mean = mean, rstd = rstd](const Intervention& values) {
        for (std::size_t i = 0; i < values.rows; i += 2) {  // leaves every other row as it is
          values.row(i)[0] = mean;
          values.row(i)[1] = 1e6f;  // changing the variance alone has no effect
          values.row(i)[2] = rstd;
        }
      };
      const Result plain = run(ids, {});
      const Result result = run(ids, {.change = change, .changes = only(statistics, layer)});
      const std::vector<float>& x = result.seen.at(Observed::block_output, layer - 1);
      const std::vector<float>& y = result.seen.at(output, layer);
      REQUIRE(y.size() == ids.size() * kEmbd);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (i / kEmbd % 2 == 1) {
          CHECK(y[i] == plain.seen.at(output, layer)[i]);
          continue;
        }
        const double weight = norm.weight.data()[i % kEmbd], bias = norm.bias.data()[i % kEmbd];
        const double scaled = (static_cast<double>(x[i]) - mean) * rstd * weight;
        // Four operations, each of which rounds to f32.
        const double bound = 4 * 0x1p-24 * (std::abs(scaled) + std::abs(bias)) * 1.0001;
        CHECK(std::abs(y[i] - (scaled + bias)) <= bound);
      }
      CHECK_FALSE(same_bits(result.logits, plain.logits));
    }
  };
  check(Observed::ln_1_statistics, Observed::ln_1_output, 1, transformer.blocks[1].ln_1);
  check(Observed::ln_f_statistics, Observed::ln_f_output, kLayers, transformer.ln_f);
}

TEST_CASE("changed attention weights multiply the values") {
  const std::vector<TokenId> ids = text();
  const std::size_t head = 2, layer = 1;
  // Row i gets twice the value of token i / 2; row 0 gets nothing. What is written to later tokens
  // must have no effect.
  const auto change = [](const Intervention& values) {
    if (values.head != head) return;
    for (std::size_t i = 0; i < values.rows; ++i) {
      std::ranges::fill(values.row(i).first(values.first + i + 1), 0.0f);
      std::ranges::fill(values.row(i).subspan(values.first + i + 1), 5.0f);
      if (i > 0) values.row(i)[i / 2] = 2.0f;
    }
  };
  Observer observer = {.change = change, .changes = only(Observed::attention_weights, layer)};
  Seen seen;
  observer.see = [&](const Observation& values) {
    if (values.what != Observed::attention_weights) seen.add(values);
  };
  run(ids, observer);
  const Result plain = run(ids, {});
  const std::vector<float>& outputs = seen.at(Observed::head_outputs, layer);
  const std::vector<float>& values = seen.at(Observed::values, layer);  // the cache has f32
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < kEmbd; ++j) {
      CAPTURE(i, j);
      const float output = outputs.at(i * kEmbd + j);
      if (j / kHeadDim != head) {
        CHECK(output == plain.seen.at(Observed::head_outputs, layer)[i * kEmbd + j]);
      } else {
        CHECK(output == (i > 0 ? 2.0f * values.at(i / 2 * kEmbd + j) : 0.0f));
      }
    }
  }
}

TEST_CASE("changes have the same bits in any batch or pieces, on every instruction set") {
  const std::vector<TokenId> ids = text(5, 600);
  const std::span<const TokenId> all(ids);
  const std::size_t vocab_size = odd_model().config().vocab_size;
  const Result expected = run(ids, {.change = shake});
  CHECK_FALSE(same_bits(expected.logits, run(ids, {}).logits));

  const std::string before(isa_name());
  for (const std::string_view isa : available_isas()) {
    CAPTURE(isa);
    force_isa(isa);
    std::vector<Session> sessions = sessions_of(odd_model(), 3, {0, 0});
    std::vector<float> logits(ids.size() * vocab_size);
    Seen seen;
    const auto see = [&](const Observation& values) {
      if (values.slice == 1) seen.add(values);
    };
    const std::size_t cuts[] = {0, 1, 90, 91, 600};
    for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
      const std::size_t count = cuts[i + 1] - cuts[i];
      const std::span<float> part = std::span(logits).subspan(cuts[i] * vocab_size);
      const Slice slices[] = {
          {&sessions[0], all.subspan(i, 1), {}},
          {&sessions[1], all.subspan(cuts[i], count), part.first(count * vocab_size)}};
      forward(slices, {.see = see, .change = shake});
    }
    CHECK(same_bits(logits, expected.logits));
    std::size_t compared = 0;
    for (const auto& [key, rows] : expected.seen.rows) {
      const auto [slice, what, layer, head] = key;
      CAPTURE(static_cast<int>(what), layer);
      CHECK(same_bits(seen.at(what, layer, head, 1), rows));
      ++compared;
    }
    CHECK(compared == 3 + kLayers * (14 + kHeads));
  }
  force_isa(before);
}

TEST_CASE("`change` comes before `see`, only where it is wanted") {
  std::vector<std::string> calls;
  const auto name = [](const auto& at) {
    return std::to_string(static_cast<int>(at.what)) + "." + std::to_string(at.layer);
  };
  const auto see = [&](const Observation& seen) {
    calls.push_back("see " + name(seen));
    CHECK((seen.row(0)[0] == 3.0f) == (seen.what == Observed::queries));
  };
  const auto change = [&](const Intervention& values) {
    calls.push_back("change " + name(values));
    values.row(0)[0] = 3.0f;
  };
  std::set<std::pair<Observed, std::size_t>> asked;
  const auto changes = [&](Observed what, std::size_t layer) {
    CHECK(asked.emplace(what, layer).second);
    return layer == 2 && (what == Observed::queries || what == Observed::block_output);
  };
  const auto wants = [](Observed what, std::size_t layer) {
    return layer == 2 && (what == Observed::queries || what == Observed::keys);
  };
  run(text(), {.see = see, .wants = wants, .change = change, .changes = changes});
  CHECK(calls == std::vector<std::string>{"change 11.2", "see 11.2", "see 12.2", "change 7.2"});
  CHECK(asked.size() == 3 + kLayers * 15);
  CHECK(asked.contains({Observed::ln_f_output, kLayers}));
  CHECK_FALSE(asked.contains({Observed::block_output, kLayers}));
  CHECK_FALSE(asked.contains({Observed::embeddings, 1}));
}

TEST_CASE("a session keeps changed keys and values") {
  const std::vector<TokenId> ids = text(5, 300);
  const TokenId next = 7;
  std::vector<Session> sessions = sessions_of(odd_model(), 1, {0, 0, 0});
  Session& plain = sessions[0];
  Session& changed = sessions[1];
  Session& other = sessions[2];
  static_cast<void>(plain.forward(ids));
  const Slice slice = {&changed, std::span(ids).subspan(20), {}};
  static_cast<void>(changed.forward(std::span(ids).first(20)));
  forward({&slice, 1}, {.change = shake});
  // Returns the logits after `next` in a fork of the session.
  const auto logits_of = [&](const Session& session) {
    Session fork = session.fork();
    const std::span<const float> logits = fork.forward({&next, 1});
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> expected = logits_of(plain), different = logits_of(changed);
  CHECK_FALSE(same_bits(expected, different));

  // The tokens of these sessions are equal, but not their keys and values, so assign() must not
  // take them for the same.
  other.assign(plain);
  other.assign(changed);
  CHECK(same_bits(logits_of(other), different));
  other.assign(plain);
  CHECK(same_bits(logits_of(other), expected));
  changed.assign(plain, 295);
  static_cast<void>(changed.forward(std::span(ids).subspan(295)));
  CHECK(same_bits(logits_of(changed), expected));

  changed.rewind(20);
  forward({&slice, 1}, {.change = shake});
  CHECK(same_bits(logits_of(changed), different));
  const TemporaryDirectory folder;
  save_session(changed, folder.path() / "session");
  Session loaded = load_session(plain.engine(), folder.path() / "session");
  CHECK(same_bits(logits_of(loaded), different));
  loaded.assign(plain);
  CHECK(same_bits(logits_of(loaded), expected));
  changed.rewind(19);
  static_cast<void>(changed.forward(std::span(ids).subspan(19)));
  CHECK(same_bits(logits_of(changed), expected));
}

TEST_CASE("a callback that uses the engine of its pass throws instead of waiting for itself") {
  const Engine engine(odd_model(), {.threads = 2});
  const Engine another(odd_model(), {.threads = 1});
  const std::vector<TokenId> ids = text(5, 9);
  const auto use = [&](const Engine& used) {
    Session session(used);
    static_cast<void>(session.forward(ids));
  };
  const auto run_with = [&](const std::function<void()>& callback) {
    Session session(engine);
    const Slice slice = {&session, ids, {}};
    forward({&slice, 1}, {.see = [&](const Observation&) { callback(); }});
  };
  const auto refuses = [&](const std::function<void()>& callback) {
    check_bad_argument([&] { run_with(callback); }, {"callback", "engine"});
  };
  refuses([&] { use(engine); });
  std::vector<float> states(odd_model().config().n_embd), logits(odd_model().config().vocab_size);
  refuses([&] { unembed(engine, states, logits); });
  run_with([&] { use(another); });
  use(engine);
  // Another thread waits for the end of the pass.
  std::thread other;
  run_with([&] {
    if (!other.joinable()) other = std::thread([&] { use(engine); });
  });
  other.join();
}

}  // namespace gpt2::test::intervention_test
