#pragma once

#include <cstddef>

#include "requests/completion_request.h"
#include "requests/embedding.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Throws Error for a request whose texts, options, beams or log-probabilities would take so much
/// memory that the requests of others suffer, although each member is in its range.
void check_limits(const CompletionRequest& request, const ServedModel& model);

/// Returns how many bytes a request may hold until it is answered, about: for its prompts, the
/// options of each of its texts, and log-probabilities.
[[nodiscard]] std::size_t held_bytes(const CompletionRequest& request, const ServedModel& model);
[[nodiscard]] std::size_t held_bytes(const EmbeddingRequest& request);

}  // namespace gpt2::serve
