#pragma once

#include <span>

#include "gpt2/engine.h"
#include "gpt2/inspect.h"
#include "inspect/pass_record.h"

namespace gpt2 {

/// Fills in found.lens, found.scores and, for each token, the target of found.contributions and its
/// logit. These are the results that need the logits, which are computed for some tokens at a time.
/// Calls options.progress.
void inspect_predictions(Inspection& found, const Engine& engine, const PassRecord& pass,
                         std::span<const TokenId> tokens, const InspectOptions& options);

}  // namespace gpt2
