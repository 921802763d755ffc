#pragma once

#include <memory>

#include "requests/inspection.h"
#include "serve/call.h"
#include "serve/job.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Returns the job that answers with the page of `gpt2 inspect`. The model must outlive it. Throws
/// Error if the page would be too large.
[[nodiscard]] std::unique_ptr<Job> inspect_job(const ServedModel& model, InspectionRequest request,
                                               std::shared_ptr<Call> call);

}  // namespace gpt2::serve
