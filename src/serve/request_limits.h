#pragma once

#include "api/completion_request.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Throws Error for a request whose texts, options, beams or log-probabilities would take so much
/// memory that the requests of others suffer, although each member is in its range.
void check_limits(const CompletionRequest& request, const ServedModel& model);

}  // namespace gpt2::serve
