#pragma once

#include <memory>

#include "requests/completion_request.h"
#include "serve/answer_form.h"
#include "serve/call.h"
#include "serve/job.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Returns the job that answers a request for completions or chat. The model and the tokenizer of
/// the form must outlive it.
[[nodiscard]] std::unique_ptr<Job> completion_job(ServedModel& model, CompletionRequest request,
                                                  std::unique_ptr<AnswerForm> form,
                                                  std::shared_ptr<Call> call);

}  // namespace gpt2::serve
