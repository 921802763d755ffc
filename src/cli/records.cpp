#include "cli/records.h"

#include <charconv>
#include <cstdint>

#include "cli/args.h"

namespace gpt2::cli {
using nlohmann::json;

std::vector<TokenId> TokenReader::read(const std::string& text) const {
  if (!tokenizer) return parse_tokens(text, vocab_size);
  if (lost_bytes != nullptr) *lost_bytes += tokenizer->unencodable_bytes(text);
  const std::vector<TokenId> tokens =
      lost_bytes != nullptr ? tokenizer->encode(text) : encode(*tokenizer, text);
  for (const TokenId token : tokens) {
    if (static_cast<std::size_t>(token) < vocab_size) continue;
    refuse(
        format("the text: expected token ids from 0 to %zu, found %d: the tokenizer belongs to "
               "another model",
               vocab_size - 1, token));
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_ids(const json& value, const std::string& name) const {
  if (!value.is_array()) {
    refuse(name + ": expected a list of token ids, found " + value.type_name());
  }
  std::vector<TokenId> tokens;
  for (const json& id : value) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab_size) {
      refuse(format("%s[%zu]: expected a token id from 0 to %zu, found %.40s", name.c_str(),
                    tokens.size(), vocab_size - 1, id.dump(-1, ' ', true).c_str()));
    }
    tokens.push_back(id.get<TokenId>());
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_json(const json& value, const std::string& name) const {
  if (tokenizer && value.is_string()) return read(value.get_ref<const std::string&>());
  if (tokenizer && !value.is_array()) {
    refuse(name + ": expected a text or a list of token ids, found " + value.type_name());
  }
  return read_ids(value, name);
}

std::vector<TokenId> TokenReader::read_record(const std::string& line) const {
  json record;
  parse_object(record, line);
  Members members(record);
  const std::optional<std::string> text = members.text("text");
  const json* const ids = members.find("token_ids");
  if (text.has_value() == (ids != nullptr)) {
    refuse(std::string("expected either \"text\" or \"token_ids\", found ") +
           (text ? "both" : "neither"));
  }
  if (ids != nullptr) return read_ids(*ids, "token_ids");
  if (!tokenizer) {
    refuse("with --tokens, there is no tokenizer for \"text\": give \"token_ids\"");
  }
  return read(*text);
}

std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// If a float is converted to a double, JSON writes 17 digits, of which the last 8 are meaningless.
double short_number(float value) {
  char digits[32];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double number = value;
  std::from_chars(digits, end, number);
  return number;
}

Json error_record(const std::string& message) { return {{"error", message}}; }

void AnswerWriter::write(std::span<const Json> answers) {
  std::string lines;
  for (const Json& answer : answers) {
    lines += line_of(answer);
    errors_ += answer.contains("error");
  }
  written_ += answers.size();
  write_stdout(lines);
}

void AnswerWriter::end(const std::string& file) const {
  if (errors_ == 0) return;
  refuse(format("%s: %zu of %s failed: see \"error\" in their records", shown_input(file).c_str(),
                errors_, counted(written_, "line").c_str()));
}

}  // namespace gpt2::cli
