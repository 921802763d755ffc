#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/call.h"
#include "serve/job.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Returns the page of `gpt2 inspect` for a text. Calls `between` between its passes, and passes on
/// what that throws. The command has this function, because the page is a part of it.
using InspectPage =
    std::function<std::string(const ServedModel& model, const std::vector<TokenId>& tokens,
                              const std::function<void()>& between)>;

/// Returns the job that answers with such a page. The model must outlive it.
[[nodiscard]] std::unique_ptr<Job> inspect_job(const ServedModel& model,
                                               std::vector<TokenId> tokens, InspectPage page,
                                               std::shared_ptr<Call> call);

}  // namespace gpt2::serve
