#include "cli/generate/draft.h"

#include <exception>

#include "gpt2/runtime.h"

namespace gpt2::cli {

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
