#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "gpt2/error.h"
#include "serve/call.h"

namespace gpt2::serve {

/// A request that the worker computes. All functions are called on the worker's thread.
class Job {
 public:
  /// `call`: what it answers.
  explicit Job(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Whether anybody still waits for the answer.
  [[nodiscard]] bool is_wanted() const { return call_->goes_on(); }

  /// Whether compute() has something to do.
  [[nodiscard]] virtual bool has_own_passes() const = 0;

  /// Computes what takes passes of its own, which other texts do not share. Calls `between` between
  /// these passes, so that the texts of other requests go on. Only one job at a time does this.
  virtual void compute(const std::function<void()>& between) = 0;

  /// Gives its texts to the scheduler of its model.
  virtual void begin() {}

  /// Called after each step of the schedulers: sends what is new. Returns whether the answer is
  /// complete.
  virtual bool advance() { return true; }

  /// Answers with an error. Called after another function has thrown; nothing is called after it.
  void fail(std::exception_ptr error) noexcept { call_->fail(std::move(error)); }

  /// Ends a job that is not wanted any more. Nothing is called after it.
  void give_up() { fail(std::make_exception_ptr(cancelled())); }

 protected:
  /// Lets the texts of other requests go on, between two passes of compute(). Throws Error if the
  /// job is not wanted any more.
  void pause(const std::function<void()>& between) const {
    between();
    if (!is_wanted()) throw cancelled();
  }

  const std::shared_ptr<Call> call_;

 private:
  static Error cancelled() { return Error(ErrorCode::invalid_argument, "cancelled"); }
};

}  // namespace gpt2::serve
