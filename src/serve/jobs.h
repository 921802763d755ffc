#pragma once

#include <cstddef>
#include <memory>

#include "requests/completion.h"
#include "requests/completion_request.h"
#include "requests/embedding.h"
#include "requests/inspection.h"
#include "serve/call.h"
#include "serve/served_model.h"

// The jobs that answer requests, and how much memory these may hold. A model must outlive its jobs.

namespace gpt2::serve {

/// Returns how many bytes a request may hold until it is answered, about: for its prompts, the
/// options of each of its texts, and log-probabilities. Throws Error if that is so much that the
/// requests of others suffer.
[[nodiscard]] std::size_t held_bytes(const CompletionRequest& request, const ServedModel& model);
[[nodiscard]] std::size_t held_bytes(const EmbeddingRequest& request);
[[nodiscard]] std::size_t held_bytes(const InspectionRequest& request, const ServedModel& model);

/// Answers a request for completions or chat. The tokenizer of the form must outlive the job.
[[nodiscard]] std::unique_ptr<Job> completion_job(ServedModel& model, CompletionRequest request,
                                                  std::unique_ptr<AnswerForm> form,
                                                  std::shared_ptr<Call> call);

[[nodiscard]] std::unique_ptr<Job> embedding_job(const ServedModel& model, EmbeddingRequest request,
                                                 std::shared_ptr<Call> call);

/// Answers with the page of `gpt2 inspect`.
[[nodiscard]] std::unique_ptr<Job> inspect_job(const ServedModel& model, InspectionRequest request,
                                               std::shared_ptr<Call> call);

}  // namespace gpt2::serve
