#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/observer.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// A change of a pass, which shows what a part of the model is good for.
struct PassChange {
  enum class Kind {
    skip_layer,    ///< "2": block 2 adds nothing to the residual stream
    skip_head,     ///< "2.1": the output of head 1 of block 2 is 0
    skip_mlp,      ///< "2": the feed-forward layer of block 2 adds nothing
    identity_norm  ///< "ln_1.2", "h.2.ln_1" or "ln_f": only multiplies by weight and adds bias
  };
  static constexpr const char* kNames[] = {"skip_layer", "skip_head", "skip_mlp", "identity_norm"};

  Kind kind;
  std::string place;      ///< as it was read
  std::size_t layer = 0;  ///< n_layer for ln_f
  std::size_t head = 0;   ///< of skip_head
  bool is_ln_1 = false;   ///< of identity_norm
};

/// Returns the change at a place of the model, such as {Kind::skip_head, "2.1"}. Throws
/// Error(invalid_argument), whose message begins with `name`, for a place that the model does not
/// have. Any thread may call it.
[[nodiscard]] PassChange read_change(PassChange::Kind kind, const std::string& place,
                                     const Config& config, const std::string& name);

/// Lets the observer change a pass of a model with this config. Replaces Observer::change and
/// Observer::changes, unless there are no changes. Any thread may call it.
///
/// Example:
///   using enum PassChange::Kind;
///   const Config& config = model.config();
///   Observer observer;
///   add_changes(observer, {read_change(skip_head, "0.1", config, "the head")}, config);
///   Session session(model);
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time");
///   std::vector<float> logits(config.vocab_size);  // without head 1 of block 0
///   const Slice slice = {&session, text, logits};
///   forward({&slice, 1}, observer);
void add_changes(Observer& observer, std::vector<PassChange> changes, const Config& config);

}  // namespace gnu::visibility("default")]]gpt2
