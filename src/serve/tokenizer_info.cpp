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

std::string text_of(const Tokenizer& tokenizer, TokenId id) {
  return std::string(tokenizer.bytes(id));
}

}  // namespace

Json tokenizer_info(const std::optional<Tokenizer>& tokenizer, const Config& config,
                    const std::filesystem::path& path) {
  if (!tokenizer) return nullptr;
  JsonDocument<nlohmann::json> settings;
  const auto file = directory_of(path) / "tokenizer_config.json";
  if (is_there(file)) parse_object(settings.root, read_file(file, kMaxBytes), file.string());
  Json info = {{"tokenizer_class", text_of(settings.root, "tokenizer_class")},
               {"bos_token", nullptr},
               {"eos_token", nullptr},
               {"pad_token", text_of(settings.root, "pad_token")},
               {"chat_template", text_of(settings.root, "chat_template")}};
  const auto bos = config.bos_token_id ? config.bos_token_id : tokenizer->bos_token();
  if (bos) info["bos_token"] = text_of(*tokenizer, *bos);
  if (const auto eos = tokenizer->end_of_text()) info["eos_token"] = text_of(*tokenizer, *eos);
  const auto chat = directory_of(path) / "chat_template.jinja";
  if (is_there(chat)) info["chat_template"] = read_file(chat, kMaxBytes);
  return info;
}

}  // namespace gpt2::serve
