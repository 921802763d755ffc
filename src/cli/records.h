#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "gpt2/config.h"
#include "gpt2/error.h"
#include "gpt2/tokenizer.h"

// Commands that answer every line of their input with one line of JSON.

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// Returns the lines of a text, without their newlines. A newline at the end begins no line.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// How texts become tokens. Without a tokenizer, texts consist of token ids.
struct TokenReader {
  const std::optional<Tokenizer>& tokenizer;
  std::size_t vocab_size;

  /// Returns the tokens of a text. Throws Error if one of them is not in the model's vocabulary.
  [[nodiscard]] std::vector<TokenId> read(const std::string& text) const;

  /// Returns the tokens of a JSON value: a text, or a list of token ids. `name` is what messages
  /// call it. Throws Error for any other value.
  [[nodiscard]] std::vector<TokenId> read_json(const Json& value, const std::string& name) const;

  /// Returns the tokens of a JSON object that has either "text" or "token_ids". Throws Error for
  /// any other line.
  [[nodiscard]] std::vector<TokenId> read_record(std::string_view line) const;
};

/// Parses a JSON object. Throws Error if the line is anything else.
[[nodiscard]] Json parse_record(std::string_view line);

/// Returns the member of an object. Throws Error if there is none.
[[nodiscard]] const Json& member(const Json& object, const std::string& name);

/// Returns the line that stands for a JSON value, with U+FFFD for bytes that are not UTF-8.
[[nodiscard]] std::string line_of(const Json& json);

/// Returns the number that JSON shows with the digits of the float, and no more than those.
[[nodiscard]] double short_number(float value);

/// Returns {"error": message}.
[[nodiscard]] Json error_record(const std::string& message);

/// Writes the answers, and counts those that have an error. Throws Error at the end if there are
/// any, so that the command fails visibly.
class AnswerWriter {
 public:
  void write(std::span<const Json> answers);
  void end() const;

 private:
  std::size_t written_ = 0;
  std::size_t errors_ = 0;
};

/// Reads every line, answers the lines in groups of about 4,096 tokens and writes the answers in
/// order. An Error of `read` becomes an error record. Throws Error at the end if there are any.
///   read      makes an Item of a line
///   size      returns its number of tokens
///   answer    returns one JSON value for each Item of a group
template <class Item, class Read, class Size, class Answer>
void answer_lines(const std::string& input, const std::string& what, const Read& read,
                  const Size& size, const Answer& answer) {
  constexpr std::size_t kGroup = 4096;
  const std::vector<std::string_view> lines = lines_of(input);
  AnswerWriter writer;
  for (std::size_t next = 0; next < lines.size();) {
    Progress progress(format("%s: line %zu of %zu", what.c_str(), next + 1, lines.size()));
    std::vector<Item> items;
    std::vector<Json> answers;  // of the group; null where an item's answer will be
    for (std::size_t tokens = 0; next < lines.size() && tokens < kGroup; ++next) {
      try {
        items.push_back(read(lines[next]));
        answers.emplace_back();
        tokens += size(items.back());
      } catch (const Error& error) {
        answers.push_back(error_record(error.what()));
      }
    }
    std::vector<Json> found = answer(std::span<const Item>(items));
    auto of_item = found.begin();
    for (Json& place : answers) {
      if (place.is_null()) place = std::move(*of_item++);
    }
    progress.done();
    writer.write(answers);
  }
  writer.end();
}

}  // namespace gpt2::cli
