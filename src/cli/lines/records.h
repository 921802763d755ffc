#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/lines/reader.h"
#include "cli/terminal/console.h"
#include "gpt2/error.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"
#include "requests/json_text.h"
#include "requests/members.h"
#include "requests/tokens.h"

// Helpers for commands that answer every line of their input with one line of JSON.

namespace gpt2::cli {

/// The name of a line in messages of parse_object().
inline constexpr std::string_view kLineName = "the line";

/// Returns "line 3: ...": an error message about a line, such as one from parse_object(), with the
/// number of the line, which counts from 1.
[[nodiscard]] std::string about_line(std::size_t number, std::string message);

/// Returns the tokens of an object that has either "token_ids" or a member called `name`, which is
/// a text or a list of token ids. Throws Error for any other object.
[[nodiscard]] std::vector<TokenId> read_tokens(Members& members, const TokenReader& reader,
                                               const std::string& name);

/// Returns the tokens of a line that is a JSON object with "text" or "token_ids". Throws Error for
/// any other line.
[[nodiscard]] std::vector<TokenId> read_record(const TokenReader& reader, const std::string& line);

/// Thrown out of a library's progress function to end the work after an interrupt.
struct Interrupted {};

/// Returns json_text(value) with a newline.
[[nodiscard]] std::string line_of(const Json& value);

/// Some lines of the input, and the items read from them.
template <class Item>
struct LineGroup {
  std::size_t first = 1;                           ///< the number of its first line, from 1
  std::vector<Item> items = {};                    ///< one for each line without an error
  std::vector<std::optional<std::string>> errors;  ///< one for each line; nullopt if it has an item
};

/// Reads a file line by line, in bounded memory, and calls take(group) for groups of about 4,096
/// tokens or at most as many lines. Lines that a pipe has already delivered are taken before the
/// function waits for more. Throws Error if the file cannot be read.
///   read  makes an Item of the text of a line, or throws Error
///   size  returns its number of tokens
template <class Item, class Read, class Size, class Take>
void read_lines(const std::string& file, const std::string& what, const Read& read,
                const Size& size, const Take& take) {
  constexpr std::size_t kGroup = 4096;
  const InputFile input(file);
  LineReader lines(input.descriptor(), input.name(), kMaxLineBytes);
  Line line;
  std::size_t number = 0;
  Progress progress(what);
  for (bool has_more = true; has_more;) {
    if (const std::size_t bytes = input.bytes(); bytes > 0) {
      progress.part(static_cast<double>(lines.offset()) / static_cast<double>(bytes));
    } else {
      progress.show(concat("line ", number + 1));
    }
    LineGroup<Item> group = {.first = number + 1, .errors = {}};
    const auto may_read = [&] { return group.errors.empty() || lines.is_ready(); };
    for (std::size_t tokens = 0; tokens < kGroup && group.errors.size() < kGroup && may_read();) {
      has_more = lines.next(line);
      if (!has_more) break;
      ++number;
      try {
        group.items.push_back(read(text_of(line)));
        group.errors.emplace_back();
        tokens += size(group.items.back());
      } catch (const Error& error) {
        group.errors.emplace_back(error.what());
      }
    }
    take(group);
  }
}

/// Writes answers to standard output, and counts those that have an error.
class AnswerWriter {
 public:
  /// Writes one line of JSON for each line of a group: its error record, which names the line, or
  /// the next of the answers.
  void write(std::size_t first, std::span<const std::optional<std::string>> errors,
             std::vector<Json> answers);

  /// Throws Error if there were errors, so that the command fails visibly.
  void end(const std::string& file) const;

 private:
  std::size_t written_ = 0;
  std::size_t errors_ = 0;
};

/// Answers every line of a file with one line of JSON, in order. Lines that cannot be read become
/// error records; if there are any, throws Error at the end.
///   answer  returns one JSON value for each Item of a group; see read_lines() for the rest
template <class Item, class Read, class Size, class Answer>
void answer_lines(const std::string& file, const std::string& what, const Read& read,
                  const Size& size, const Answer& answer) {
  AnswerWriter writer;
  read_lines<Item>(file, what, read, size, [&](const LineGroup<Item>& group) {
    writer.write(group.first, group.errors, answer(std::span<const Item>(group.items)));
  });
  writer.end(file);
}

}  // namespace gpt2::cli
