// Tests what writes more than a text: --samples, --sequence and --num-beams; and --overflow and
// --draft, which change none.
#include <csignal>

#include "gpt2/beam_search.h"
#include "support/bundled_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::samples_test {

namespace {

const Words kArguments = {"--temperature", "1", "--max-new-tokens", "30", "--seed", "5", "Tom"};

Words with(const Words& more) { return joined_words(more, kArguments); }

// Returns what the command writes, for the prompt "Once upon" unless the words have another one.
std::string out(const Words& words, const std::string& prompt = "Once upon") {
  const Outcome outcome = run(joined_words(words, {"-p", prompt}));
  CAPTURE(words);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome.out;
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
  const Words json = {"--samples", "5", "--sequence", "2", "--json", "--logprobs", "1"};
  CHECK(run(with(json)).out == expected_json);
  CHECK(nlohmann::json::parse(expected_json.substr(0, expected_json.find('\n'))).at("sequence") ==
        2);
  const auto ids = [](const char* option, const char* number) {
    return run({"--tokens", "-n", "3", "-s", "4", "--no-echo", option, number, "10 11"}).out;
  };
  CHECK(ids("--samples", "2") == ids("--sequence", "0") + ids("--sequence", "1"));
}

TEST_CASE("--stats hashes the logits of all samples in order") {
  const auto hash_of = [](const Words& more) {
    const std::string err = run(with(more)).err;
    const std::size_t at = err.find("\nlogits      ");
    REQUIRE(at != std::string::npos);
    CHECK(err.size() == at + 30);
    return std::stoull(err.substr(at + 13), nullptr, 16);
  };
  std::uint64_t expected = 0;
  for (const std::string sequence : {"2", "3", "4"}) {
    expected = (expected ^ hash_of({"--stats", "--sequence", sequence})) * 0x100000001b3;
  }
  CHECK(hash_of({"--stats", "--samples", "3", "--sequence", "2"}) == expected);
}

TEST_CASE("--hf-defaults takes the texts and beams of the config, and options replace them") {
  const TemporaryDirectory directory;
  std::filesystem::copy(bundled::kDirectory, directory.path(),
                        std::filesystem::copy_options::recursive);
  const auto written = [&](const char* config, const Words& more = {}) {
    directory.write("generation_config.json", config);
    return out(joined_words({"-m", directory.path().string(), "--hf-defaults"}, more));
  };
  const char* const samples =
      R"({"do_sample": true, "num_return_sequences": 3, "max_new_tokens": 5})";
  const Words drawn = {"-n", "5", "--temperature", "1", "--top-k", "50", "--samples"};
  CHECK(written(samples) == out(joined_words(drawn, {"3"})));
  CHECK(written(samples, {"--samples", "2"}) == out(joined_words(drawn, {"2"})));
  CHECK(written(samples, {"--greedy"}) == out({"--greedy", "-n", "5"}));
  CHECK(written(samples, {"--num-beams", "2"}) == out({"--num-beams", "2", "-n", "5"}));
  const char* const beams = R"({"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.5,
                                "early_stopping": true, "max_new_tokens": 5})";
  const Words search = {"-n", "5", "--length-penalty", "0.5", "--early-stopping", "true"};
  CHECK(written(beams) ==
        out(joined_words(search, {"--num-beams", "3", "--num-return-sequences", "2"})));
  CHECK(written(beams, {"--num-return-sequences", "1", "--num-beams", "2"}) ==
        out(joined_words(search, {"--num-beams", "2"})));
  CHECK(written(beams, {"--num-beams", "1"}) == out({"--greedy", "-n", "5"}));
  check_refused({"-m", directory.path().string(), "--hf-defaults", "--seed", "3", "x"}, 2,
                {"--seed: ", "--num-beams 1", "the default"});
}

TEST_CASE("beams are written like texts, with headings if there are several") {
  const auto& tokenizer = bundled::tokenizer();
  BeamSearchOptions options = {.beams = {.num_beams = 4,
                                         .num_return_sequences = 3,
                                         .length_penalty = -1.5,
                                         .early_stopping = EarlyStopping::never},
                               .max_new_tokens = 12,
                               .tokenizer = tokenizer};
  const auto found = beam_search(Engine(bundled::model()), tokenizer.encode("Once upon"), options);
  const Words words = {"--num-beams",      "4",    "--num-return-sequences", "3",    "-n", "12",
                       "--length-penalty", "-1.5", "--early-stopping",       "never"};
  std::string expected, ids;
  const auto records = json_lines(out(joined_words(words, {"--json"})));
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string text = tokenizer.decode(found[i].tokens);
    expected += "--- " + std::to_string(i + 1) + " of 3\nOnce upon" + text + "\n";
    CHECK(records[i]["token_ids"] == found[i].tokens);
    CHECK(records[i]["text"] == text);
    CHECK(records[i]["score"].get<float>() == static_cast<float>(found[i].score));
    CHECK_FALSE(records[i].contains("seed"));
    for (const TokenId id : found[i].tokens) ids += std::to_string(id) + " ";
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
  const auto record = nlohmann::json::parse(run(joined_words({"--json"}, words)).out);
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

TEST_CASE("a text that slides goes on where the context is full") {
  const Words arguments = {"--greedy", "--ignore-eos", "-n", "700", "Once"};
  const auto more = [&](const Words& first) { return run(joined_words(first, arguments)); };
  const Outcome stopped = more({"--overflow", "stop"});
  CHECK(stopped.err.find("the text ends here: the context of ") != std::string::npos);
  const Outcome slid = more({"--overflow", "slide", "--keep", "4"});
  CHECK(slid.err == "");
  const std::string begin = stopped.out.substr(0, stopped.out.size() - 1);
  CHECK(slid.out.starts_with(begin));
  CHECK(slid.out.size() > begin.size() + 100);
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
