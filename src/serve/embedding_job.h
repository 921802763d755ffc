#pragma once

#include <memory>

#include "requests/embedding.h"
#include "serve/call.h"
#include "serve/job.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Returns the job that answers a request for embeddings. The model must outlive it.
[[nodiscard]] std::unique_ptr<Job> embedding_job(const ServedModel& model, EmbeddingRequest request,
                                                 std::shared_ptr<Call> call);

}  // namespace gpt2::serve
