// Tests --samples, --sequence, --overflow and --draft auto.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file_source.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::samples_test {

namespace {

const Words kArguments = {"--temperature", "1", "--max-new-tokens", "30", "--seed", "5", "Tom"};

Words with(const Words& more) { return joined_words(more, kArguments); }

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

TEST_CASE("with --tokens, each sample is a line of token ids") {
  for (const Words& rest : {Words{"10 11"}, {"--no-echo", "10 11"}}) {
    const auto ids = [&](const char* option, const char* number) {
      return run(joined_words({"--tokens", "-n", "3", "-s", "4", option, number}, rest)).out;
    };
    CHECK(ids("--samples", "2") == ids("--sequence", "0") + ids("--sequence", "1"));
  }
}

TEST_CASE("--hf-defaults draws as many texts as the generation config says") {
  const TemporaryDirectory directory;
  std::filesystem::copy(bundled::kDirectory, directory.path(),
                        std::filesystem::copy_options::recursive);
  directory.write("generation_config.json",
                  R"({"do_sample": true, "num_return_sequences": 3, "max_new_tokens": 5})");
  const auto with = [&](Words more) {
    more.insert(more.end(), {"-m", directory.path().string(), "Tom"});
    const Outcome outcome = run(more);
    CHECK(outcome.err == "");
    return outcome.out;
  };
  const auto samples = [&](const char* count) {
    return with({"-n", "5", "--temperature", "1", "--top-k", "50", "--samples", count});
  };
  CHECK(with({"--hf-defaults"}) == samples("3"));
  CHECK(with({"--hf-defaults", "--samples", "2"}) == samples("2"));
  CHECK(with({"--hf-defaults", "--draft", "prompt"}) == samples("3"));
  CHECK(with({"--hf-defaults", "--greedy"}) == with({"--greedy", "-n", "5"}));
  CHECK(with({"--hf-defaults", "--num-beams", "2"}) == with({"--num-beams", "2", "-n", "5"}));
}

TEST_CASE("samples that Ctrl-C interrupts end in the same way as a single text", "[terminal]") {
  Command command({"--samples", "3", "--ignore-eos", "-n", "100000", "--overflow", "slide", "Tom"},
                  {.terminal = true, .terminal_errors = true});
  command.await_error("writing ... 60 tokens");
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  CHECK(command.out.starts_with("--- 1 of 3\nTom"));
  CHECK(command.out.ends_with("\n"));
}

TEST_CASE("a text that slides goes on where the context is full") {
  const Words arguments = {"--greedy", "--ignore-eos", "-n", "1500", "Once"};
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
  const auto samples = [](const char* draft) {
    return run({"--samples", "3", "-n", "30", "--draft", draft, "Tom"});
  };
  const auto batch = [&](const std::string& draft) {
    const std::string output = (place.path() / draft).string();
    const Outcome outcome =
        run({"batch", "--lines", lines, "-o", output, "-n", "30", "--draft", draft});
    CHECK(outcome.status == 0);
    return gpt2::read_file(output, 1 << 20);
  };
  const std::string plain = samples("off").out;
  CHECK(plain.starts_with("--- 1 of 3\nTom"));
  const std::string records = batch("off");
  CHECK(run({"--samples", "3", "-n", "30", "Tom"}).out == plain);
  for (const char* const draft : {"auto", "prompt", "int8", "int4"}) {
    INFO(draft);
    const Outcome outcome = samples(draft);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == plain);
    CHECK(batch(draft) == records);
  }
}

}  // namespace gpt2::test::samples_test
