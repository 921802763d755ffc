#include "cli/lines/records.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "base/text.h"
#include "cli/lines/reader.h"
#include "cli/terminal/console.h"
#include "gpt2/error.h"

namespace gpt2::cli {

using nlohmann::json;

std::string about_line(std::size_t number, std::string message) {
  if (message.starts_with(concat(kLineName, ": "))) message.erase(0, kLineName.size() + 2);
  return concat("line ", number, ": ", message);
}

std::vector<TokenId> read_tokens(Members& members, const TokenReader& reader,
                                 const std::string& name) {
  const json* const text = members.find(name);
  const json* const ids = members.find("token_ids");
  if ((text != nullptr) == (ids != nullptr)) {
    reject("expected either \"", name, "\" or \"token_ids\", found ",
           text ? "both: leave one out" : "neither");
  }
  if (ids != nullptr) return reader.read_ids(*ids, "token_ids");
  if (!reader.tokenizer && text->is_string()) {
    reject("with --tokens, there is no tokenizer for \"", name, "\": give \"token_ids\"");
  }
  return reader.read_json(*text, name);
}

std::vector<TokenId> read_record(const TokenReader& reader, const std::string& line) {
  json record;
  parse_object(record, line, kLineName);
  Members members(record);
  return read_tokens(members, reader, "text");
}

std::string line_of(const Json& value) { return json_text(value) + '\n'; }

namespace {

// Reads lines until there are enough for a group. Returns the error of each of them, or nullopt.
// `number` is that of the last line. Sets has_more to false at the end of the file.
std::vector<std::optional<std::string>> read_group(
    LineReader& lines, const std::function<std::size_t(const std::string&)>& read,
    std::size_t& number, bool& has_more) {
  constexpr std::size_t kGroup = 4096;
  std::vector<std::optional<std::string>> errors;
  Line line;
  for (std::size_t tokens = 0; tokens < kGroup && errors.size() < kGroup;) {
    if (!errors.empty() && !lines.is_ready()) break;
    has_more = lines.next(line);
    if (!has_more) break;
    ++number;
    try {
      tokens += read(text_of(line));
      errors.emplace_back();
    } catch (const Error& error) {
      errors.emplace_back(about_line(number, error.what()));
    }
  }
  return errors;
}

}  // namespace

void answer_lines(const std::string& file, const std::string& what,
                  const std::function<std::size_t(const std::string& line)>& read,
                  const std::function<std::vector<Json>()>& answer) {
  const InputFile input(file);
  LineReader lines(input.descriptor(), input.name(), kMaxLineBytes);
  std::size_t number = 0, failed = 0;
  Progress progress(what);
  for (bool has_more = true; has_more;) {
    if (const std::size_t bytes = input.bytes(); bytes > 0) {
      progress.part(static_cast<double>(lines.offset()) / static_cast<double>(bytes));
    } else {
      progress.show(concat("line ", number + 1));
    }
    const auto errors = read_group(lines, read, number, has_more);
    const std::vector<Json> answers = answer();
    auto next = answers.begin();
    std::string text;
    for (const auto& error : errors) {
      failed += error ? 1 : 0;
      text += line_of(error ? Json({{"error", *error}}) : *next++);
    }
    write_stdout(text);
  }
  if (failed == 0) return;
  reject(shown_input(file), ": ", failed, " of ", counted(number, "line"),
         " failed: see \"error\" in their records");
}

}  // namespace gpt2::cli
