#pragma once

#include <nlohmann/json.hpp>

#include "gpt2/engine.h"
#include "gpt2/scheduler.h"
#include "gpt2/tokenizer.h"
#include "requests/run/run.h"
#include "support/test.h"

// Requests that are read, run and answered in the test's own process, as every door does it. Only
// these functions know how a reader and a run are called.

namespace gpt2::test {

using nlohmann::json;

/// A model that requests are for.
struct AskedModel {
  Engine engine;
  std::optional<Tokenizer> tokenizer;

  [[nodiscard]] std::vector<TokenId> ids(const std::string& text) const {
    return tokenizer.value().encode(text);
  }
};

/// Returns the alphabet model, which takes 64 tokens, with its tokenizer or without.
[[nodiscard]] const AskedModel& alphabet();
[[nodiscard]] const AskedModel& alphabet_of_ids();

/// Returns the bundled model, which takes 512 tokens.
[[nodiscard]] const AskedModel& stories();

/// What a door knows when it reads a request.
struct Door {
  const AskedModel& model = alphabet();
  json defaults = json::object();  ///< members that every request has unless it says otherwise
  bool is_dialog = false;          ///< whether the model is one of dialogs
  std::size_t max_choices = 128;
};

/// A door with the bundled model.
[[nodiscard]] inline Door of_stories() { return {stories()}; }

/// Requests that share a scheduler. The head of each answer is {"id": <prefix of the kind> + "1",
/// "created": 5, "model": "m", "system_fingerprint": "f"}.
class Asking {
 public:
  explicit Asking(Door door = {});

  /// Reads a request, and begins a run. Throws Error for a request that is wrong.
  [[nodiscard]] std::unique_ptr<Run> begin(const std::string& kind, const json& body,
                                           RunEvents events = {});

  Scheduler scheduler;

 private:
  const Door door_;
};

/// Runs to the end, and returns the answer of a run that has finished.
[[nodiscard]] json answer_of(Run& run);

/// Returns the answer to a request. Throws Error for a request that is wrong.
[[nodiscard]] json answer(const std::string& kind, const json& body, const Door& door = {},
                          RunEvents events = {});

/// Returns the parts of the answer to a request, to which "stream" is added.
[[nodiscard]] std::vector<json> parts(const std::string& kind, json body, const Door& door = {});

/// Returns the error with which a request is refused: {"message", "type", "param", "code"}, or null
/// if it is answered.
[[nodiscard]] json refusal(const std::string& kind, const json& body, const Door& door = {});

/// A wrong request, the member that the refusal names, and its code.
struct Refused {
  std::string body;
  json param, code = {};
};
inline const json kMissing = "missing_required_parameter", kUnknown = "unknown_parameter",
                  kTooLong = "context_length_exceeded";

/// Checks that requests are refused. Bodies are texts, which may lack the braces; `common` is text
/// with the members that all of them have.
void check_refusals(const std::string& kind, const std::string& common,
                    const std::vector<Refused>& requests, const Door& door = {});

}  // namespace gpt2::test
