#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c_api/guard.h"
#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"

// The handles that are used in several files. They are in the global namespace because gpt2.h
// declares them for C.

struct gpt2_model : gpt2::c_api::HandleOf<1> {
  static constexpr const char* kName = "gpt2_model";

  gpt2_model(gpt2::Model loaded, std::string path);

  gpt2::Model model;
  std::string path;
  std::vector<gpt2::NamedWeight> named_weights;
  std::vector<gpt2_weight> weights;  ///< points into named_weights
};

struct gpt2_tokenizer : gpt2::c_api::HandleOf<2> {
  static constexpr const char* kName = "gpt2_tokenizer";

  gpt2::Tokenizer tokenizer;
};

struct gpt2_engine : gpt2::c_api::HandleOf<3> {
  static constexpr const char* kName = "gpt2_engine";

  gpt2::Engine engine;
};

namespace gpt2::c_api {

/// A session, which its handle and a run in it keep alive.
struct SharedSession {
  explicit SharedSession(Session of) : session(std::move(of)) {}  // clang 14 cannot do without

  Session session;
  std::atomic<bool> has_run = false;  ///< whether a run in it has not finished
  std::atomic<bool> is_used = false;  ///< whether a SessionUse has it
};

}  // namespace gpt2::c_api

struct gpt2_session : gpt2::c_api::HandleOf<4> {
  static constexpr const char* kName = "gpt2_session";

  std::shared_ptr<gpt2::c_api::SharedSession> shared;
};

namespace gpt2::c_api {

/// Returns `engine` or, if it is NULL, the engine that all calls for this model share. Throws
/// Error(invalid_argument) if `engine` belongs to another model.
Engine engine_for(const gpt2_model* model, const gpt2_engine* engine);

/// Returns the tokenizer of the handle, or nothing if the handle is NULL. The tokenizer stays valid
/// if a callback frees the handle.
std::optional<Tokenizer> optional_tokenizer(const gpt2_tokenizer* tokenizer);

/// A session that nobody else may use until this is destroyed.
struct EndUse {
  std::shared_ptr<SharedSession> of;
  void operator()(const Session*) const { of->is_used = false; }
};
using SessionUse = std::unique_ptr<Session, EndUse>;

/// Returns the session, to be changed. Throws Error(invalid_argument) if a run, another thread, or
/// a call further up on the stack uses it.
SessionUse free_session(const gpt2_session* session);

}  // namespace gpt2::c_api
