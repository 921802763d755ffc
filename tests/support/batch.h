#pragma once

#include "base/text.h"
#include "support/command.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test {

/// A directory with an input for gpt2 batch, "in".
struct Batch {
  TemporaryDirectory directory;

  explicit Batch(const std::string& input) { directory.write("in", input); }

  /// Runs gpt2 batch from "in" to "out", with 8 tokens for each text if a line has no other number.
  [[nodiscard]] Outcome run(const Words& more = {}, const Words& environment = {}) const {
    return gpt2::test::run(arguments(more),
                           {.directory = directory.path(), .environment = environment});
  }

  [[nodiscard]] static Words arguments(const Words& more) {
    return joined_words({"batch", "in", "-o", "out", "-n", "8"}, more);
  }

  [[nodiscard]] std::string read(const std::string& name = "out") const {
    return read_bytes(directory.path() / name);
  }

  [[nodiscard]] std::vector<json> records() const { return json_lines(read()); }

  /// Returns the records of the shares in the order of the lines, as `sort -ms -t: -k2,2n` does.
  [[nodiscard]] std::string read_shares(int count) const {
    std::map<std::size_t, std::string> records;
    for (int i = 0; i < count; ++i) {
      std::istringstream share(read(concat("out.", i, "-of-", count)));
      for (std::string record; std::getline(share, record);) {
        records[json::parse(record)["line"]] += record + '\n';
      }
    }
    std::string all;
    for (const auto& [line, of_line] : records) all += of_line;
    return all;
  }
};

/// Returns the record of a request in our own form to the bundled model, with the options of
/// Batch::run().
inline json record_of(json request, std::size_t sequence) {
  request.emplace("max_new_tokens", 8);
  request["sequence"] = sequence;
  return answer("generate", request, {stories()}).at(0);
}

/// Returns lines of prompts with different lengths, and with texts of different lengths.
inline std::string numbered_prompts(int count) {
  std::string input;
  for (int i = 0; i < count; ++i) {
    input += "{\"prompt\": \"Tom has " + std::to_string(i) +
             " cats\", \"max_new_tokens\": " + std::to_string(1 + i * 7 % 40) + "}\n";
  }
  return input;
}

}  // namespace gpt2::test
