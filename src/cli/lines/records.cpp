#include "cli/lines/records.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

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

void AnswerWriter::write(std::size_t first, std::span<const std::optional<std::string>> errors,
                         std::vector<Json> answers) {
  std::string lines;
  auto answer = answers.begin();
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i]) {
      lines += line_of({{"error", about_line(first + i, *errors[i])}});
      ++errors_;
    } else {
      lines += line_of(*answer++);
    }
  }
  written_ += errors.size();
  write_stdout(lines);
}

void AnswerWriter::end(const std::string& file) const {
  if (errors_ == 0) return;
  reject(shown_input(file), ": ", errors_, " of ", counted(written_, "line"),
         " failed: see \"error\" in their records");
}

}  // namespace gpt2::cli
