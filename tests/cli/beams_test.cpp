// Tests gpt2 generate --num-beams: it finds the same sequences as the library, and writes them in
// every format.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gpt2/beam_search.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::beams_test {

namespace {

const std::string kPrompt = "Once upon";

// Returns the sequences that the library finds.
std::vector<BeamSequence> search(const BeamOptions& beams, std::size_t max_new_tokens) {
  const auto& tokenizer = bundled::tokenizer();
  return beam_search(Engine(bundled::model()), tokenizer.encode(kPrompt),
                     {.beams = beams, .max_new_tokens = max_new_tokens, .tokenizer = tokenizer});
}

std::string text_of(const BeamSequence& sequence) {
  return bundled::tokenizer().decode(sequence.tokens);
}

std::string out(Words arguments) {
  arguments.push_back(kPrompt);
  const Outcome outcome = run(arguments);
  CAPTURE(arguments);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome.out;
}

}  // namespace

TEST_CASE("one sequence is written like a text, and several sequences have headings") {
  const auto best = search({.num_beams = 3}, 6);
  const std::string text = kPrompt + text_of(best.front());
  CHECK(out({"--num-beams", "3", "-n", "6"}) == text + "\n");
  CHECK(out({"--num-beams", "3", "-n", "6", "--no-newline"}) == text);
  CHECK(out({"--num-beams", "3", "-n", "6", "--no-echo"}) == text_of(best.front()) + "\n");

  const auto three = search({.num_beams = 4,
                             .num_return_sequences = 3,
                             .length_penalty = -1.5,
                             .early_stopping = EarlyStopping::never},
                            12);
  std::string expected;
  for (std::size_t i = 0; i < 3; ++i) {
    expected += "--- " + std::to_string(i + 1) + " of 3\n" + kPrompt + text_of(three[i]) + "\n";
  }
  CHECK(out({"--num-beams", "4", "--num-return-sequences", "3", "-n", "12", "--length-penalty",
             "-1.5", "--early-stopping", "never"}) == expected);
}

TEST_CASE("token ids and JSON have a line for each sequence") {
  const auto sequences = search({.num_beams = 2, .num_return_sequences = 2}, 4);
  std::istringstream lines(
      out({"--json", "--num-beams", "2", "--num-return-sequences", "2", "-n", "4"}));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto object = nlohmann::ordered_json::parse(line);
    Words keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    CHECK(keys == Words{"model", "prompt", "prompt_token_ids", "text", "token_ids", "finish_reason",
                        "score"});
    REQUIRE(count < 2);
    CHECK(object["token_ids"].get<std::vector<TokenId>>() == sequences[count].tokens);
    CHECK(object["text"].get<std::string>() == text_of(sequences[count]));
    CHECK(object["finish_reason"].get<std::string>() == "length");
    CHECK(object["score"].get<float>() == static_cast<float>(sequences[count].score));
  }
  CHECK(count == 2);

  std::string ids;
  for (const TokenId id : bundled::tokenizer().encode(kPrompt)) ids += std::to_string(id) + " ";
  std::string expected = ids;
  for (const TokenId id : sequences.front().tokens) expected += std::to_string(id) + " ";
  expected.back() = '\n';
  CHECK(run({"--tokens", "--num-beams", "2", "-n", "4", ids}).out == expected);
}

TEST_CASE("--stats tells the speed and the hash of the logits of all beams") {
  std::uint64_t hash = 0;
  BeamSearchOptions options = {.beams = {.num_beams = 3},
                               .max_new_tokens = 6,
                               .stop_tokens = {bundled::tokenizer().end_of_text().value()},
                               .hash_logits = true};
  options.on_step = [&](const BeamStep& step) {
    hash = step.logits_hash;
    return true;
  };
  const Engine engine(bundled::model());
  CHECK(!beam_search(engine, bundled::tokenizer().encode(kPrompt), options).empty());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));

  const Words arguments = {"--num-beams", "3", "-n", "6", "--stats", kPrompt};
  const Outcome text = run(arguments);
  CHECK(text.out == out({"--num-beams", "3", "-n", "6"}));
  CHECK(text.err.starts_with("beams       3\ngeneration  18 tokens, "));
  CHECK(text.err.ends_with(std::string(" tokens/s\nlogits      ") + digits + "\n"));
  Words as_json = arguments;
  as_json.insert(as_json.begin(), "--json");
  const Outcome json = run(as_json);
  CHECK(json.err == "");
  const auto stats = nlohmann::json::parse(json.out)["stats"];
  CHECK(stats["logits_hash"] == digits);
  CHECK(stats["generation_seconds"] > 0.0);
}

TEST_CASE("--hf-defaults takes the beams of the generation config, and options replace them") {
  const TemporaryDirectory directory;
  std::filesystem::copy(bundled::kDirectory, directory.path(),
                        std::filesystem::copy_options::recursive);
  directory.write("generation_config.json", R"({"num_beams": 3, "num_return_sequences": 2,
      "length_penalty": 0.5, "early_stopping": true, "max_new_tokens": 5})");
  const auto with = [&](Words arguments) {
    arguments.insert(arguments.begin(), {"-m", directory.path().string(), "--hf-defaults"});
    return arguments;
  };
  CHECK(out(with({})) == out({"--num-beams", "3", "--num-return-sequences", "2", "--length-penalty",
                              "0.5", "--early-stopping", "true", "-n", "5"}));
  CHECK(
      out(with({"--num-return-sequences", "1", "--num-beams", "2"})) ==
      out({"--num-beams", "2", "--length-penalty", "0.5", "--early-stopping", "true", "-n", "5"}));
  CHECK(out(with({"--num-beams", "1"})) == out({"--greedy", "-n", "5"}));
  check_refused(with({"--seed", "3", "x"}), 2, {"--seed: ", "--num-beams 1", "the default"});
}

// requests_completions_rules_test has all of them; a message names the options.
TEST_CASE("options that contradict beam search are refused, both by name") {
  for (const Words& option : std::vector<Words>{
           {"--temperature", "1"}, {"--draft", "int8"}, {"--logprobs", "2", "--json"}}) {
    check_refused(joined_words({"x", "--num-beams", "2"}, option), 2,
                  {option.front() + ": cannot be combined with --num-beams"});
  }
  for (const auto& [options, facts] : std::vector<std::pair<Words, Words>>{
           {{"--length-penalty", "1"}, {"--length-penalty: needs --num-beams"}},
           {{"--num-beams", "2", "--num-return-sequences", "3"}, {"--samples: ", "2, found 3"}},
           {{"--num-beams", "2", "--num-return-sequences", "2", "--no-newline"}, {"--no-newline"}},
           {{"--num-beams", "2", "-n", "0"}, {"--max-new-tokens: expected ", "from 1"}},
           {{"--num-beams", "2", "--early-stopping", "no"}, {"--early-stopping", "'no'"}}}) {
    check_refused(joined_words(options, {"x"}), 2, facts);
  }
}

TEST_CASE("a terminal shows the progress of a search, and Ctrl-C writes what was found",
          "[terminal]") {
  Command command({"--num-beams", "64", "-n", "1000", "--threads", "1", "--ignore-eos",
                   "--early-stopping", "never", kPrompt},
                  {.terminal = true, .terminal_errors = true});
  command.await_error("searching ... 1 %");
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  CHECK(command.out.starts_with(kPrompt));
  CHECK(command.out.size() > kPrompt.size() + 1);
}

}  // namespace gpt2::test::beams_test
