#include "cli/load_model.h"

#include <chrono>
#include <optional>

#include "cli/args.h"
#include "cli/console.h"
#include "cli/elapsed.h"
#include "gpt2/error.h"
#include "gpt2/model_files.h"

namespace gpt2::cli {

std::filesystem::path model_path(const std::string& name) {
  try {
    return find_model(name);
  } catch (const Error& error) {
    if (name != GPT2_BUNDLED_MODEL || error.code() != ErrorCode::not_found) throw;
    throw Error(error.code(), std::string(error.what()) + ", with -m");
  }
}

Model load_as(const std::filesystem::path& path, const LoadOptions& options) {
  try {
    return Model::load(path, options);
  } catch (const Error& error) {
    const bool is_conversion = options.dtype != WeightType::stored;
    if (!is_conversion || error.code() != ErrorCode::invalid_argument) throw;
    throw UsageError("--dtype", error.what());
  }
}

Model load_model(const std::filesystem::path& path, WeightType dtype) {
  constexpr double kPatience = 1.0;  // seconds
  const auto start = std::chrono::steady_clock::now();
  std::optional<Progress> shown;
  const auto progress = [&](double share) {
    if (!shown && seconds_since(start) < kPatience) return;
    if (!shown) shown.emplace("loading " + path.string());
    shown->part(share);
  };
  return load_as(path, {.dtype = dtype, .progress = progress});
}

}  // namespace gpt2::cli
