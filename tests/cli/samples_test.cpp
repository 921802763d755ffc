// Tests what writes more than a text, --samples, --sequence and --num-beams, and --draft, which
// changes none.
#include <csignal>

#include "support/command.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::samples_test {

namespace {

const Words kArguments = {"--temperature", "1", "--max-new-tokens", "30", "--seed", "5", "Tom"};

Words with(const Words& more) { return joined_words(more, kArguments); }

// Returns what the command writes, for the prompt "Once upon" unless the words have another one.
std::string out(const Words& words, const std::string& prompt = "Once upon") {
  return output_of(joined_words(words, {"-p", prompt}));
}

}  // namespace

TEST_CASE("sample i is the text that --sequence i writes alone") {
  std::string expected;
  std::string expected_json;
  for (int i = 0; i < 5; ++i) {
    const std::string sequence = std::to_string(i + 2);
    const Outcome alone = run(with({"--sequence", sequence}));
    CHECK(expected.find(alone.out) == std::string::npos);
    expected += "--- " + std::to_string(i + 1) + " of 5\n" + alone.out;
    expected_json += run(with({"--sequence", sequence, "--json", "--logprobs", "1"})).out;
  }
  const Outcome samples = run(with({"--samples", "5", "--sequence", "2", "--stats"}));
  CHECK(samples.status == 0);
  CHECK(samples.out == expected);
  CHECK(samples.err.starts_with("samples     5\ngeneration  150 tokens, "));
  const Words as_json = {"--samples", "5", "--sequence", "2", "--json", "--logprobs", "1"};
  CHECK(run(with(as_json)).out == expected_json);
  CHECK(json::parse(expected_json.substr(0, expected_json.find('\n'))).at("sequence") == 2);
  const auto ids = [](const char* option, const char* number) {
    return run({"--tokens", "-n", "3", "-s", "4", "--no-echo", option, number, "10 11"}).out;
  };
  CHECK(ids("--samples", "2") == ids("--sequence", "0") + ids("--sequence", "1"));
}

TEST_CASE("--stats hashes the logits of all samples in order") {
  const auto hash_of = [](const Words& more) {
    const std::string hash = hash_in(run(with(more)).err);
    CHECK(hash.size() == 17);
    return std::stoull(hash, nullptr, 16);
  };
  std::uint64_t expected = 0;
  for (const std::string sequence : {"2", "3", "4"}) {
    expected = (expected ^ hash_of({"--stats", "--sequence", sequence})) * 0x100000001b3;
  }
  CHECK(hash_of({"--stats", "--samples", "3", "--sequence", "2"}) == expected);
}

// requests_completions_texts_test has the beams.
TEST_CASE("beams are written like texts, with headings if there are several") {
  const Words words = {"--num-beams",      "4",    "--num-return-sequences", "3",    "-n", "12",
                       "--length-penalty", "-1.5", "--early-stopping",       "never"};
  const json answered = answer("generate",
                               {{"prompt", "Once upon"},
                                {"num_beams", 4},
                                {"num_return_sequences", 3},
                                {"max_new_tokens", 12},
                                {"length_penalty", -1.5},
                                {"early_stopping", "never"}},
                               {stories()});
  std::string expected, ids;
  const auto records = json_lines(out(joined_words(words, {"--json"})));
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string text = records[i]["text"];
    expected += "--- " + std::to_string(i + 1) + " of 3\nOnce upon" + text + "\n";
    CHECK(text == answered[i]["text"]);
    CHECK(records[i]["score"] == answered[i]["score"]);
    CHECK_FALSE(records[i].contains("seed"));
    for (const json& id : records[i]["token_ids"]) ids += id.dump() + " ";
    ids.back() = '\n';
  }
  CHECK(out(words) == expected);
  CHECK(out(joined_words(words, {"--tokens", "--no-echo"}), "443 452") == ids);
  const Words one = {"--num-beams", "3", "-n", "6"};
  const std::string text = out(one);
  CHECK(out(joined_words(one, {"--no-newline"})) + "\n" == text);
  CHECK("Once upon" + out(joined_words(one, {"--no-echo"})) == text);
}

// requests_generate_test has the hash.
TEST_CASE("--stats tells the speed and the hash of the logits of all beams") {
  const Words words = {"--num-beams", "3", "-n", "6", "--stats", "Once upon"};
  const auto record = json::parse(run(joined_words({"--json"}, words)).out);
  CHECK(record["stats"]["generation_seconds"] > 0.0);
  const std::string err = run(words).err;
  CHECK(err.starts_with("beams       3\ngeneration  18 tokens, "));
  CHECK(err.ends_with(" tokens/s\nlogits      " +
                      record["stats"]["logits_hash"].get<std::string>() + "\n"));
}

TEST_CASE("Ctrl-C writes what samples and beams have until then", "[terminal]") {
  const std::pair<Words, std::string> cases[] = {
      {{"--samples", "3", "-n", "100000", "--overflow", "slide"}, "writing ... 60 tokens"},
      {{"--num-beams", "64", "-n", "1000", "-t", "1", "--early-stopping", "never"},
       "searching ... 1 %"}};
  for (const auto& [words, progress] : cases) {
    Command command(joined_words(words, {"--ignore-eos", "Tom"}),
                    {.terminal = true, .terminal_errors = true});
    command.await_error(progress);
    command.send(SIGINT);
    CHECK(command.wait() == -SIGINT);
    CHECK(command.out.starts_with(words[0] == "--samples" ? "--- 1 of 3\nTom" : "Tom"));
    CHECK(command.out.size() > 5);
    CHECK(command.out.ends_with("\n"));
  }
}

TEST_CASE("--draft changes no text of --samples and no record of batch") {
  const TemporaryDirectory place;
  const std::string lines = place.write("lines", "Once upon a time\nThe cat\nOne day\n").string();
  const auto written = [&](const std::string& draft) {
    const std::string output = (place.path() / draft).string();
    const Words words = {"-n", "30", "--draft", draft};
    CHECK(run(joined_words({"batch", "--lines", lines, "-o", output}, words)).status == 0);
    return out(joined_words({"--samples", "3"}, words)) + read_bytes(output);
  };
  const std::string plain = written("off");
  for (const char* const draft : {"auto", "prompt", "int8", "int4"}) {
    INFO(draft);
    CHECK(written(draft) == plain);
  }
}

}  // namespace gpt2::test::samples_test
