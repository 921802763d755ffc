#include "cli/lines/records.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/counted.h"
#include "base/fail.h"
#include "cli/lines/members.h"
#include "cli/tokens.h"

namespace gpt2::cli {

using nlohmann::json;

std::vector<TokenId> TokenReader::read(const std::string& text) const {
  if (!tokenizer) return parse_tokens(text, vocab_size);
  if (lost_bytes != nullptr) *lost_bytes += tokenizer->unencodable_bytes(text);
  const std::vector<TokenId> tokens =
      lost_bytes != nullptr ? tokenizer->encode(text) : encode(*tokenizer, text);
  for (const TokenId token : tokens) {
    if (static_cast<std::size_t>(token) < vocab_size) continue;
    reject("the text: expected token ids from 0 to ", vocab_size - 1, ", found ", token,
           ": the tokenizer belongs to another model");
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_ids(const json& value, const std::string& name) const {
  if (!value.is_array()) {
    reject(name, ": expected a list of token ids, found ", value.type_name());
  }
  std::vector<TokenId> tokens;
  for (const json& id : value) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab_size) {
      reject(name, "[", tokens.size(), "]: expected a token id from 0 to ", vocab_size - 1,
             ", found ", id.dump(-1, ' ', true).substr(0, 40));
    }
    tokens.push_back(id.get<TokenId>());
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_json(const json& value, const std::string& name) const {
  if (tokenizer && value.is_string()) return read(value.get_ref<const std::string&>());
  if (tokenizer && !value.is_array()) {
    reject(name, ": expected a text or a list of token ids, found ", value.type_name());
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
    reject("expected either \"text\" or \"token_ids\", found ", text ? "both" : "neither");
  }
  if (ids != nullptr) return read_ids(*ids, "token_ids");
  if (!tokenizer) {
    reject("with --tokens, there is no tokenizer for \"text\": give \"token_ids\"");
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

Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id, float logprob) {
  Json token = {{"id", id}};
  if (tokenizer) token["text"] = tokenizer->bytes(id);
  token["logprob"] = short_number(logprob);
  return token;
}

Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                  const TokenLogprob& score) {
  Json token = likely_json(tokenizer, id, score.logprob);
  token["rank"] = std::isnan(score.logprob) ? Json() : Json(score.rank);
  Json& top = token["top"] = Json::array();
  for (const auto& [other, logprob] : score.top) {
    top.push_back(likely_json(tokenizer, other, logprob));
  }
  return token;
}

Json logprobs_json(const std::optional<Tokenizer>& tokenizer, std::span<const TokenId> tokens,
                   std::span<const TokenLogprob> scores) {
  Json list = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    list.push_back(logprob_json(tokenizer, tokens[i], scores[i]));
  }
  return list;
}

void AnswerWriter::write(std::size_t first, std::span<const std::optional<std::string>> errors,
                         std::vector<Json> answers) {
  std::string lines;
  auto answer = answers.begin();
  for (std::size_t i = 0; i < errors.size(); ++i) {
    Json record = errors[i] ? Json{{"error", *errors[i]}} : std::move(*answer++);
    if (record.contains("error")) {
      record["error"] = about_line(first + i, record["error"].get<std::string>());
      ++errors_;
    }
    lines += line_of(record);
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
