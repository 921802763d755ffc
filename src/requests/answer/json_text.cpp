#include "requests/answer/json_text.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace gpt2 {

namespace {

void append_json(std::string& text, const Json& value) {
  if (value.is_number_float() && std::isfinite(value.get<double>())) {
    const std::string digits = concat(value.get<double>());
    text += digits;
    if (digits.find_first_of(".e") == std::string::npos) text += ".0";
  } else if (value.is_structured()) {
    text += value.is_object() ? '{' : '[';
    for (auto item = value.begin(); item != value.end(); ++item) {
      if (item != value.begin()) text += ',';
      if (value.is_object()) {
        append_json(text, item.key());
        text += ':';
      }
      append_json(text, *item);
    }
    text += value.is_object() ? '}' : ']';
  } else {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace

std::string json_text(const Json& value) {
  std::string text;
  append_json(text, value);
  return text;
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

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace gpt2
