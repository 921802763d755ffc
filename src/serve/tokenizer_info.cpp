#include "serve/tokenizer_info.h"

#include <string>

#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "requests/read/members.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxBytes = 16 << 20;

// Returns a text among the settings, or null. A token may be an object with its content.
Json text_of(const nlohmann::json& settings, const char* name) {
  if (!settings.contains(name)) return nullptr;
  const nlohmann::json& value = settings[name];
  if (value.is_object()) return text_of(value, "content");
  return value.is_string() ? Json(value.get_ref<const std::string&>()) : Json();
}

Json text_of(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? Json(tokenizer.bytes(*id)) : Json();
}

}  // namespace

Json tokenizer_info(const std::optional<Tokenizer>& tokenizer, const Config& config,
                    const std::filesystem::path& path) {
  if (!tokenizer) return nullptr;
  JsonDocument<nlohmann::json> settings;
  const auto file = directory_of(path) / "tokenizer_config.json";
  if (is_there(file)) parse_object(settings.root, read_file(file, kMaxBytes), file.string());
  const auto bos = config.bos_token_id ? config.bos_token_id : tokenizer->bos_token();
  const auto chat = directory_of(path) / "chat_template.jinja";
  return {{"tokenizer_class", text_of(settings.root, "tokenizer_class")},
          {"bos_token", text_of(*tokenizer, bos)},
          {"eos_token", text_of(*tokenizer, tokenizer->end_of_text())},
          {"pad_token", text_of(settings.root, "pad_token")},
          {"chat_template", is_there(chat) ? Json(read_file(chat, kMaxBytes))
                                           : text_of(settings.root, "chat_template")}};
}

}  // namespace gpt2::serve
