#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c_api/handle.h"
#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "gpt2/weights.h"

// The handles that are used in several files. They are in the global namespace because gpt2.h
// declares them for C.

struct gpt2_model {
  static constexpr const char* kName = "gpt2_model";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40701;

  gpt2_model(gpt2::Model loaded, std::string path);

  std::uint64_t tag = kTag;
  gpt2::Model model;
  std::string path;
  std::string config_json;
  gpt2_model_info info;
  std::vector<gpt2::NamedWeight> named_weights;
  std::vector<gpt2_weight> weights;  ///< points into named_weights
};

struct gpt2_tokenizer {
  static constexpr const char* kName = "gpt2_tokenizer";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40702;

  std::uint64_t tag = kTag;
  gpt2::Tokenizer tokenizer;
  gpt2_tokenizer_info info;
};

struct gpt2_engine {
  static constexpr const char* kName = "gpt2_engine";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40703;

  std::uint64_t tag = kTag;
  gpt2::Engine engine;
};

struct gpt2_session {
  static constexpr const char* kName = "gpt2_session";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40704;

  std::uint64_t tag = kTag;
  gpt2::Session session;
  gpt2_session_info info = {};
};

struct gpt2_cancel {
  static constexpr const char* kName = "gpt2_cancel";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40705;

  std::uint64_t tag = kTag;
  std::shared_ptr<std::atomic<bool>> flag = std::make_shared<std::atomic<bool>>(false);
};

namespace gpt2::c_api {

/// Returns `engine` or, if it is NULL, the engine that all calls for this model share. Throws
/// Error(invalid_argument) if `engine` belongs to another model.
Engine engine_for(const gpt2_model* model, const gpt2_engine* engine);

/// Returns the tokenizer of the handle, or nothing if the handle is NULL. The tokenizer stays valid
/// if a callback frees the handle.
std::optional<Tokenizer> optional_tokenizer(const gpt2_tokenizer* tokenizer);

}  // namespace gpt2::c_api
