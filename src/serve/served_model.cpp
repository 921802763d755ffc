#include "serve/served_model.h"

#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "requests/read/members.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxBytes = 16 << 20;

// Returns a text among the settings, or null.
Json text_of(const nlohmann::json& settings, const char* name) {
  if (!settings.contains(name) || !settings[name].is_string()) return nullptr;
  return settings[name].get_ref<const std::string&>();
}

Json text_of(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? Json(tokenizer.bytes(*id)) : Json();
}

std::optional<TokenId> pad_token(const Tokenizer& tokenizer) {
  for (const auto& [name, id] : tokenizer.special_tokens()) {
    if (name == "pad_token") return id;
  }
  return std::nullopt;
}

}  // namespace

TokenizerInfo tokenizer_info(const std::optional<Tokenizer>& tokenizer, const Config& config,
                             const std::filesystem::path& path) {
  if (!tokenizer) return {};
  JsonDocument<nlohmann::json> settings;
  const auto file = directory_of(path) / "tokenizer_config.json";
  if (is_there(file)) parse_object(settings.root, read_file(file, kMaxBytes), file.string());
  const auto bos = config.bos_token_id ? config.bos_token_id : tokenizer->bos_token();
  auto eos = tokenizer->end_of_text();
  if (!eos && !config.eos_token_id.empty()) eos = config.eos_token_id.front();
  const auto chat = directory_of(path) / "chat_template.jinja";
  const Json chat_template =
      is_there(chat) ? Json(read_file(chat, kMaxBytes)) : text_of(settings.root, "chat_template");
  return {.answer = {{"tokenizer_class", text_of(settings.root, "tokenizer_class")},
                     {"bos_token", text_of(*tokenizer, bos)},
                     {"eos_token", text_of(*tokenizer, eos)},
                     {"pad_token", text_of(*tokenizer, pad_token(*tokenizer))},
                     {"chat_template", chat_template}},
          .has_chat_template = chat_template.is_string()};
}

}  // namespace gpt2::serve
