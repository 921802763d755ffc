#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

/// Answers every line of a file with one line of JSON, in order and in bounded memory: groups of about
/// 4,096 tokens or at most as many lines at once. Lines that a pipe has already delivered are
/// answered before the function waits for more. A line for which `read` throws Error becomes an
/// error record, which names the line; if there are any, throws Error at the end, so that the
/// command fails visibly. Throws Error, too, if the file cannot be read.
///   what    says what the command does, for the progress
///   read    keeps what it reads of the text of a line, and returns its number of tokens
///   answer  returns the answers to what has been kept since its last call, and forgets it
void answer_lines(const std::string& file, const std::string& what,
                  const std::function<std::size_t(const std::string& line)>& read,
                  const std::function<std::vector<Json>()>& answer);

}  // namespace gpt2::cli
