// Tries every row of the table of sampling options at both ends of its range, just outside of them
// and with a value of another type, through each kind of door: the struct of the library,
// generation_config.json, the JSON of the C interface (which Python and the lines of gpt2 batch
// share), and the text of the command. All must give the same verdict, and a refusal must name the
// option.
#include <type_traits>

#include "generate/options/option_codec.h"
#include "gpt2/error.h"
#include "gpt2/generation_config.h"
#include "gpt2/gpt2.h"
#include "gpt2/sampler.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::sampling_fields_test {

using nlohmann::json;

namespace {

constexpr std::size_t kVocabSize = 512;  // of the bundled model
constexpr const char* kAccepted = "(accepted)";

// A value of an option, and whether it is allowed.
struct Case {
  std::string name;
  json value;
  bool is_allowed;
  bool is_from_huggingface;                  // generation_config.json may have it
  std::optional<SamplingOptions> options{};  // with this value, if C++ can have it
};

// The values that one number of a row may and may not have. T is the type that holds it.
template <class T>
std::vector<std::pair<double, bool>> numbers_around(const OptionRange& range) {
  const auto next = [](double from, double towards) -> double {
    if (std::is_same_v<T, float>) {
      return std::nextafter(static_cast<float>(from), static_cast<float>(towards));
    }
    return std::is_integral_v<T> ? from + (towards > from ? 1 : -1) : std::nextafter(from, towards);
  };
  const auto in_t = [](double number) { return static_cast<double>(static_cast<T>(number)); };
  constexpr double kFar = std::numeric_limits<float>::max();
  std::vector<std::pair<double, bool>> numbers = {
      {in_t(range.min), true}, {next(in_t(range.min), -kFar), false}, {in_t(range.max), true}};
  if (range.max < 1e19) numbers.emplace_back(next(in_t(range.max), kFar), false);
  if (std::isfinite(range.also) && range.also != range.min) numbers.emplace_back(range.also, true);
  // The number below the lowest one may be the further number that is allowed.
  for (auto& [number, is_allowed] : numbers) is_allowed = is_allowed || number == range.also;
  return numbers;
}

// Calls add(JSON of a value, whether it is allowed, whether it has the right type).
template <class T, class Add>
void for_each_value(const OptionRange& range, const Add& add) {
  if constexpr (std::is_same_v<T, bool>) {
    add(true, true, true);
    add(false, true, true);
    add(2, false, false);
  } else if constexpr (std::is_integral_v<T>) {
    if (range.min < 0) {  // a seed: all numbers of 64 bits
      add(INT64_MIN, true, false);
      return add(UINT64_MAX, true, true);
    }
    for (const auto& [number, is_allowed] : numbers_around<T>(range)) {
      const bool is_negative = number < 0;
      add(is_negative ? json(-1)
                      : json(number < 1.8e19 ? static_cast<std::uint64_t>(number) : UINT64_MAX),
          is_allowed, !is_negative);
    }
    add(1.5, false, false);
  } else if constexpr (std::is_floating_point_v<T>) {
    for (const auto& [number, is_allowed] : numbers_around<T>(range)) add(number, is_allowed, true);
  } else if constexpr (std::is_same_v<T, std::optional<std::size_t>>) {
    return for_each_value<std::size_t>(range, add);
  } else if constexpr (std::is_same_v<T, std::optional<TokenId>>) {
    add(0, true, true);
    add(-7, false, false);
  } else if constexpr (std::is_same_v<T, std::vector<TokenId>>) {
    add(json{0, 5}, true, true);
    add(json{0, -7}, false, false);
  } else if constexpr (std::is_same_v<T, std::vector<std::vector<TokenId>>>) {
    add(json{{0, 5}, {7}}, true, true);
    add(json::array({json::array()}), false, false);
  } else if constexpr (std::is_same_v<T, std::vector<SequenceBias>>) {
    for (const auto& [number, is_allowed] : numbers_around<float>(range)) {
      add(json::array({json::array({json{0, 5}, number})}), is_allowed, true);
    }
  } else if constexpr (std::is_same_v<T, std::vector<std::pair<TokenId, float>>>) {
    for (const auto& [number, is_allowed] : numbers_around<float>(range)) {
      add(json{{"5", number}}, is_allowed, true);
    }
  } else {
    static_assert(std::is_same_v<T, std::optional<ExponentialDecay>>);
    for (const auto& [number, is_allowed] : numbers_around<double>(range)) {
      add(json{3, number}, is_allowed, true);
    }
  }
  add("x", false, false);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for_each_sampling_field([&list](const auto& field) {
      using T = typename std::remove_cvref_t<decltype(field)>::Value;
      const bool is_huggingface = field.origin == OptionOrigin::huggingface;
      for_each_value<T>(field.range, [&](const json& given, bool is_allowed, bool has_type) {
        const json value = json::parse(given.dump());  // whole numbers as a file would have them
        Case one = {field.name, value, is_allowed, is_huggingface};
        if (has_type) {
          constexpr double kAny = std::numeric_limits<double>::infinity();
          one.options.emplace();
          REQUIRE(OptionCodec<T>::read(value, {-kAny, kAny}, (*one.options).*field.member));
        }
        list.push_back(one);
      });
    });
    return list;
  }();
  return all;
}

void check_verdict(const Case& one, const std::string& message, std::string shown_name = "") {
  if (shown_name.empty()) shown_name = one.name;
  CAPTURE(one.name, one.value.dump(), message);
  CHECK((message == kAccepted) == one.is_allowed);
  if (!one.is_allowed) CHECK(message.find(shown_name) != message.npos);
}

// The text of a value in the form of the command. Nothing if the command has another form.
std::optional<std::string> text_of(const Case& one) {
  const json& v = one.value;
  if (one.name == "bad_words_ids") return std::nullopt;  // the command takes texts instead
  const auto ids = [](const json& list) {
    std::string text;
    for (const json& id : list) text += (text.empty() ? "" : ",") + id.dump();
    return text;
  };
  if (v.is_string()) return v.get<std::string>();
  if (one.name == "sequence_bias") return ids(v[0][0]) + "=" + v[0][1].dump();
  if (v.is_object()) return v.begin().key() + "=" + v.begin().value().dump();
  return v.is_array() ? ids(v) : v.dump();
}

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

}  // namespace

TEST_CASE("every sampling option has the same range in C++, a generation config and C") {
  for (const Case& one : cases()) {
    if (one.options) {
      check_verdict(one, test::refusal_of([&] { Sampler sampler(*one.options, kVocabSize); }));
    }
    if (one.is_from_huggingface) {
      const std::string text = json{{"do_sample", true}, {one.name, one.value}}.dump();
      check_verdict(one, test::refusal_of(
                             [&] { static_cast<void>(GenerationConfig::parse(text, "config")); }));
    }
    const std::string options = json{{one.name, one.value}}.dump();
    gpt2_sampler* sampler = nullptr;
    const gpt2_status status =
        gpt2_sampler_new(options.c_str(), kVocabSize, nullptr, nullptr, &sampler);
    check_verdict(one, status == GPT2_OK ? kAccepted : gpt2_last_error());
    gpt2_sampler_free(sampler);
  }
}

TEST_CASE("a value that is written as JSON reads back, also from generation_config.json") {
  for_each_sampling_field([](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    for (const Case& one : cases()) {
      if (one.name != field.name || !one.is_allowed) continue;
      CAPTURE(one.name, one.value.dump());
      T value = {};
      REQUIRE(OptionCodec<T>::read(one.value, field.range, value));
      const std::string written = OptionCodec<T>::write(value).text();
      T again = {};
      REQUIRE(OptionCodec<T>::read(json::parse(written), field.range, again));
      CHECK(OptionCodec<T>::write(again).text() == written);
      if (!one.is_from_huggingface) continue;
      const std::string config = json{{"do_sample", true}, {one.name, one.value}}.dump();
      const SamplingOptions found = GenerationConfig::parse(config, "config").sampling;
      CHECK(OptionCodec<T>::write(found.*field.member).text() == written);
    }
  });
}

TEST_CASE("every sampling option has the same range in the options of the command") {
  const test::TemporaryDirectory place;
  const auto in = place.write("empty", "");
  for (const Case& one : cases()) {
    const auto text = text_of(one);
    if (!text) continue;
    if (one.value == false) continue;  // a switch that is not given
    test::Words words = {"batch", "--lines", in.string(), "-o", (place.path() / "out").string()};
    if (one.name == "sequence") words = {"generate", "-n", "0", "a"};
    words.push_back(dashed(one.name) + (one.value == true ? "" : "=" + *text));
    const test::Outcome outcome = test::run(words);
    CHECK((outcome.status == 0 || outcome.status == 2));
    check_verdict(one, outcome.status == 0 ? kAccepted : outcome.err, dashed(one.name));
  }
}

}  // namespace gpt2::test::sampling_fields_test
