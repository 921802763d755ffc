#include "generate/writing/tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "base/text.h"
#include "generate/options/option_codec.h"
#include "requests/read/tokens.h"

namespace gpt2 {

using nlohmann::json;

std::vector<TokenId> parse_tokens(std::string text, std::size_t count) {
  const std::size_t first = text.find_first_of("0123456789");
  if (first != std::string::npos && text.find('[', first) != std::string::npos) {
    reject("token ids: expected one list, found a '[' behind an id");
  }
  for (const char mark : {',', '[', ']'}) std::ranges::replace(text, mark, ' ');
  std::vector<TokenId> tokens;
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  std::size_t end = 0;
  for (std::size_t at; (at = text.find_first_not_of(kSpaces, end)) != std::string::npos;) {
    end = std::min(text.find_first_of(kSpaces, at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    std::size_t id = 0;
    if (!read_number(word, id) || id >= count) {
      reject("token id ", tokens.size() + 1, ": expected a number from 0 to ", count - 1,
             ", found ", quote(word.substr(0, 40)));
    }
    tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

void TokenReader::read_settings(Members& members) {
  split_special_tokens = members.flag("split_special_tokens").value_or(split_special_tokens);
}

void TokenReader::read_bos(Members& members, const Config& config) {
  if (members.flag("add_bos").value_or(false)) bos = first_token(tokenizer, config);
}

std::vector<TokenId> TokenReader::with_bos(std::vector<TokenId> tokens) const {
  if (bos) tokens.insert(tokens.begin(), *bos);
  return tokens;
}

std::vector<TokenId> TokenReader::read(const std::string& text) {
  if (!tokenizer) return parse_tokens(text, vocab_size);
  auto [tokens, ranges, lost] = tokenizer->encode_text(
      text, {.parse_special = !split_special_tokens, .add_special_tokens = add_special_tokens});
  lost_bytes += lost;
  check_tokens(tokens, vocab_size, "the text", tokenizer);
  return tokens;
}

std::vector<TokenId> TokenReader::read_ids(const json& value, const std::string& name) const {
  if (!value.is_array()) {
    reject_member(name, "expected a list of token ids, ",
                  tokenizer ? "" : "as there is no tokenizer, ", "found ", value.type_name());
  }
  const OptionRange range = {0.0, static_cast<double>(vocab_size - 1)};
  std::vector<TokenId> tokens;
  for (const json& id : value) {
    std::size_t token = 0;
    if (!OptionCodec<std::size_t>::read(id, range, token)) {
      reject_member(concat(name, "[", tokens.size(), "]"), "expected a token id from 0 to ",
                    vocab_size - 1, ", found ", id.dump(-1, ' ', true).substr(0, 40));
    }
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

std::vector<TokenId> TokenReader::read_json(const json& value, const std::string& name) {
  if (tokenizer && value.is_string()) return read(value.get_ref<const std::string&>());
  if (tokenizer && !value.is_array()) {
    reject_member(name, "expected a text or a list of token ids, found ", value.type_name());
  }
  return read_ids(value, name);
}

std::vector<TokenId> TokenReader::read_member(Members& members, const std::string& name) {
  const json* const text = members.find(name);
  const json* const ids = members.find("token_ids");
  if ((text != nullptr) == (ids != nullptr)) {
    throw RequestError(concat("expected either \"", name, "\" or \"token_ids\", found ",
                              text != nullptr ? "both: leave one out" : "neither"),
                       name);
  }
  if (ids != nullptr) return read_ids(*ids, "token_ids");
  if (!tokenizer && text->is_string()) {
    throw RequestError(concat("there is no tokenizer for \"", name, "\": give \"token_ids\""),
                       name);
  }
  return read_json(*text, name);
}

std::vector<std::vector<TokenId>> TokenReader::read_list(const json& value, const std::string& name,
                                                         std::size_t most) {
  if (!value.is_string() && !value.is_array()) {
    reject_member(name, "expected a text, a list of token ids, or a list of these, found ",
                  value.type_name());
  }
  if (value.is_string() || (!value.empty() && value[0].is_number())) {
    return {read_json(value, name)};
  }
  if (value.empty() || value.size() > most) {
    reject_member(name, "expected ",
                  most == 1 ? "one text" : concat("a list of 1 to ", most, " elements"),
                  ", found a list of ", value.size());
  }
  std::vector<std::vector<TokenId>> texts;
  for (const json& one : value) {
    texts.push_back(read_json(one, concat(name, "[", texts.size(), "]")));
  }
  return texts;
}

// In training, this token began each document, so this token alone asks the model for a new one.
TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  if (config.bos_token_id) return *config.bos_token_id;
  if (tokenizer && tokenizer->bos_token()) return *tokenizer->bos_token();
  if (tokenizer && tokenizer->end_of_text()) return *tokenizer->end_of_text();
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  reject(
      "the model has no bos or end-of-text token with which a text could begin: give a text that "
      "has tokens in the vocabulary, without --bos or add_bos");
}

void check_length(std::size_t tokens, const std::string& name, const Config& config) {
  if (tokens > 0 && tokens <= config.n_positions) return;
  throw RequestError(
      concat(name, ": expected a text of 1 to ", config.n_positions, " tokens, found ", tokens),
      name, tokens > 0 ? RequestError::kTooLong : nullptr);
}

}  // namespace gpt2
