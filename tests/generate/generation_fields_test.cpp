// Tries the numbers of the tables of options for generation and for beam search just outside of
// their ranges, through every door: the library, the lines of `gpt2 batch` and the
// options of the command. All doors must refuse them with a message that names the option.
// package_test.py does the same in Python, and sampling_fields_test for the sampling options.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gpt2/beam_search.h"
#include "gpt2/option_fields.h"
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::generation_fields_test {

using nlohmann::json;

namespace {

// A number that is not allowed, as text and in the options of the library.
template <class Options>
struct Refused {
  std::string name;
  std::string number;
  Options options;
};

template <class Row, class Options>
void add_refused(const Row& field, std::vector<Refused<Options>>& list) {
  using T = typename Row::Value;
  const auto add = [&](auto number) {
    Options options;
    options.*field.member = number;
    list.push_back({field.name, json(number).dump(), options});
  };
  if constexpr (std::is_same_v<T, std::size_t> || std::is_same_v<T, std::optional<std::size_t>>) {
    add(static_cast<std::size_t>(field.range.max) + 1);
    add(std::numeric_limits<std::size_t>::max());
    if (field.range.min > 0.0) add(static_cast<std::size_t>(field.range.min) - 1);
  } else if constexpr (std::is_floating_point_v<T>) {
    add(std::nextafter(static_cast<T>(field.range.max), std::numeric_limits<T>::max()));
    add(std::nextafter(static_cast<T>(field.range.min), std::numeric_limits<T>::lowest()));
  }
}

const std::vector<Refused<GenerationOptions>>& of_generation() {
  static const auto all = [] {
    std::vector<Refused<GenerationOptions>> list;
    for_each_generation_field([&](const auto& field) { add_refused(field, list); });
    return list;
  }();
  return all;
}

const std::vector<Refused<BeamOptions>>& of_beams() {
  static const auto all = [] {
    std::vector<Refused<BeamOptions>> list;
    for_each_beam_field([&](const auto& field) { add_refused(field, list); });
    return list;
  }();
  return all;
}

const Model& model() {
  static const Model loaded = Model::load(alphabet_model());
  return loaded;
}

constexpr TokenId kPrompt[] = {'a'};

// Runs the command with an option, as which `number` must be refused.
void check_command(const std::string& name, const std::string& number, Words more) {
  std::string option = "--" + name;
  std::ranges::replace(option, '_', '-');
  Words words = {"-m", alphabet_model(), option + "=" + number};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = run(words);
  CHECK(outcome.status == 2);
  CAPTURE(outcome.err, option);
  CHECK(outcome.err.find(option) != std::string::npos);
}

}  // namespace

TEST_CASE("the library refuses numbers outside of the tables of generation and beams") {
  CHECK(of_generation().size() == 3 * 2);
  CHECK(of_beams().size() == 2 * 3 + 2);
  for (const auto& one : of_generation()) {
    Session session(Engine::shared(model()));
    check_bad_argument([&] { generate(session, kPrompt, one.options, {}); }, {one.name});
  }
  for (const auto& one : of_beams()) {
    const BeamSearchOptions options = {.beams = one.options};
    check_bad_argument(
        [&] { static_cast<void>(beam_search(Engine::shared(model()), kPrompt, options)); },
        {one.name});
  }
}

TEST_CASE("the command refuses numbers outside of the tables of generation and beams") {
  for (const auto& one : of_generation()) {
    check_command(one.name, one.number,
                  one.name == "keep" ? Words{"--overflow", "slide", "a"} : Words{"a"});
  }
  for (const auto& one : of_beams()) check_command(one.name, one.number, {"a"});
}

TEST_CASE("the lines of batch refuse numbers outside of the table of generation") {
  const TemporaryDirectory place;
  std::string lines;
  for (const auto& one : of_generation()) {
    lines += R"({"prompt": "a", ")" + one.name + "\": " + one.number + "}\n";
  }
  const auto in = place.write("in.jsonl", lines);
  const auto out = place.path() / "out.jsonl";
  CHECK(run({"batch", in.string(), "-o", out.string(), "-m", alphabet_model()}).status == 3);
  std::ifstream file(out);
  std::string line;
  for (const auto& one : of_generation()) {
    REQUIRE(std::getline(file, line));
    CAPTURE(line, one.name);
    CHECK(json::parse(line).value("error", "").find(one.name) != std::string::npos);
  }
}

}  // namespace gpt2::test::generation_fields_test
