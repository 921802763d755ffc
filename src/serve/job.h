#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "requests/run.h"
#include "serve/call.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// Returns how many bytes a request may hold until it is answered, about: for its prompts, the
/// options of each of its texts, and log-probabilities. Throws Error if that is so much that the
/// requests of others suffer.
[[nodiscard]] std::size_t held_bytes(const Request& request, const ServedModel& model);

/// A request that the worker computes. All functions are called on the worker's thread.
class Job {
 public:
  /// `call`: what it answers. The model must outlive the job.
  Job(const RunKind& kind, Request request, ServedModel& model, std::shared_ptr<Call> call);

  /// Whether anybody still waits for the answer.
  [[nodiscard]] bool is_wanted() const { return call_->goes_on(); }

  /// As those of Run. Only one job at a time computes.
  [[nodiscard]] bool has_own_passes() const { return run_->has_own_passes(); }
  void compute(const std::function<void()>& between) { run_->compute(between); }

  /// Gives its texts to the scheduler of its model, at first, and sends what is new. Called after
  /// each step of the schedulers. Returns whether the answer is complete.
  bool advance();

  /// Answers with an error. Called after another function has thrown; nothing is called after it.
  void fail(std::exception_ptr error) noexcept { call_->fail(std::move(error)); }

  /// Ends a job that is not wanted any more. Nothing is called after it.
  void give_up() { fail(std::make_exception_ptr(Cancelled())); }

 private:
  const std::shared_ptr<Call> call_;
  const std::unique_ptr<Run> run_;
  bool streams_ = false;  // whether a stream has begun
};

}  // namespace gpt2::serve
