#pragma once

#include <span>

#include "gpt2/engine.h"
#include "gpt2/inspect.h"
#include "inspect/pass_record.h"

namespace gpt2 {

/// Takes the logits in found.contributions apart. REQUIRES: their targets and found.norms are set.
void inspect_contributions(Inspection& found, const Engine& engine, const PassRecord& pass,
                           std::span<const TokenId> tokens);

}  // namespace gpt2
