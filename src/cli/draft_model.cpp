#include "cli/draft_model.h"

#include <exception>
#include <string>

#include "cli/load_model.h"
#include "cli/model_limits.h"
#include "gpt2/model_files.h"
#include "gpt2/runtime.h"

namespace gpt2::cli {

void add_draft_option(CLI::App& app, std::string& draft, const std::string& of_auto) {
  app.add_option("--draft", draft,
                 "Write faster, with the same text: a copy of the model in int8 or int4, or "
                 "another MODEL, or the text so far (prompt), drafts tokens, and the model checks "
                 "several at once. MODEL is a copy that gpt2 quantize wrote, or a smaller model of "
                 "the same vocabulary. auto (default) " +
                     of_auto)
      ->option_text("auto|off|int8|int4|prompt|MODEL");
}

Models load_models(const GenerateSettings& settings) {
  const std::string& draft = settings.draft;
  if (draft == "auto" || draft == "off" || draft == "prompt") {
    return {load_model(settings.model, settings.dtype), std::nullopt};
  }
  const auto type = weight_type_named(draft);
  if (draft.empty() || (type && *type != WeightType::int8 && *type != WeightType::int4)) {
    throw UsageError("--draft",
                     "expected auto, off, int8, int4, prompt or a model, found '" + draft + "'");
  }
  if (!type) {
    Models models = {load_model(settings.model, settings.dtype), Model::load(find_model(draft))};
    check_draft(models.draft->config(), models.model.config());
    return models;
  }
  const Model stored = Model::load(settings.model);
  return {stored.to(settings.dtype), stored.to(*type)};
}

std::size_t draft_bytes(const Model& model) noexcept { return model.parameter_count() * 9 / 16; }

bool gains_from_draft(const Model& model, const GenerationOptions& options) {
  constexpr std::size_t kCaches = std::size_t{64} << 20;  // the size of a large cache
  constexpr std::size_t kLongText = 128;
  const std::size_t bytes = model.bytes_per_token();
  const std::size_t of_draft = draft_bytes(model);
  const bool is_large = bytes > kCaches && bytes > of_draft;
  return is_large && options.max_new_tokens >= kLongText && of_draft < available_memory() / 4;
}

BackgroundDraft::~BackgroundDraft() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundDraft::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] {
    try {
      promise_.set_value(model_.to(WeightType::int4));
    } catch (...) {
      promise_.set_exception(std::current_exception());
    }
  });
}

}  // namespace gpt2::cli
