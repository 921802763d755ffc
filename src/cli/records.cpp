#include "cli/records.h"

#include <algorithm>
#include <charconv>

#include "cli/args.h"

namespace gpt2::cli {
namespace {

void check_id(std::int64_t id, std::size_t vocab_size, const std::string& where) {
  if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) return;
  refuse(format("%s: expected a token id from 0 to %zu, found %lld", where.c_str(), vocab_size - 1,
                static_cast<long long>(id)));
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<TokenId> TokenReader::read(const std::string& text) const {
  if (!tokenizer) return parse_tokens(text, vocab_size);
  std::vector<TokenId> tokens = encode(*tokenizer, text);
  for (const TokenId token : tokens) check_id(token, vocab_size, "the text");
  return tokens;
}

std::vector<TokenId> TokenReader::read_json(const Json& value, const std::string& name) const {
  if (value.is_string() && tokenizer) return read(value.get_ref<const std::string&>());
  if (!value.is_array()) {
    refuse(format("%s: expected %s, found %s", name.c_str(),
                  tokenizer ? "a text or a list of token ids" : "a list of token ids (--tokens)",
                  value.type_name()));
  }
  std::vector<TokenId> tokens;
  for (const Json& id : value) {
    const std::string where = format("%s[%zu]", name.c_str(), tokens.size());
    if (!id.is_number_integer()) {
      refuse(format("%s: expected a token id, found %.40s", where.c_str(), id.dump().c_str()));
    }
    check_id(id.get<std::int64_t>(), vocab_size, where);
    tokens.push_back(id.get<TokenId>());
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_record(std::string_view line) const {
  const Json record = parse_record(line);
  if (record.contains("text") == record.contains("token_ids")) {
    refuse("expected either \"text\" or \"token_ids\", found " +
           std::string(record.contains("text") ? "both" : "neither"));
  }
  const bool is_text = record.contains("text");
  const std::string name = is_text ? "text" : "token_ids";
  const Json& value = record[name];
  if (is_text != value.is_string()) {
    refuse(format("%s: expected %s, found %s", name.c_str(), is_text ? "a text" : "a list",
                  value.type_name()));
  }
  return read_json(value, name);
}

Json parse_record(std::string_view line) {
  try {
    Json record = Json::parse(line);
    if (record.is_object()) return record;
    refuse(std::string("expected a JSON object, found ") + record.type_name());
  } catch (const Json::parse_error& error) {
    refuse(format("expected a JSON object, found invalid JSON at byte %zu", error.byte));
  } catch (const Json::out_of_range&) {
    refuse("expected a JSON object, found a number out of range");
  }
}

const Json& member(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse("expected \"" + name + "\", found no such key");
  return *found;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// A float as a double has 17 digits, of which the last 8 say nothing.
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

void AnswerWriter::end() const {
  if (errors_ == 0) return;
  refuse(format("%zu of %zu lines could not be answered: see \"error\" in their records", errors_,
                written_));
}

}  // namespace gpt2::cli
