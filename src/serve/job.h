#pragma once

#include <exception>
#include <functional>

namespace gpt2::serve {

/// A request that the worker computes. All functions are called on the worker's thread.
class Job {
 public:
  virtual ~Job() = default;

  /// Whether compute() has something to do.
  [[nodiscard]] virtual bool has_own_passes() const { return false; }

  /// Computes what takes passes of its own, which other texts do not share. Calls `between` between
  /// these passes, so that the texts of other requests go on. Only one job at a time does this.
  virtual void compute(const std::function<void()>& between) { between(); }

  /// Gives its texts to the scheduler of its model.
  virtual void begin() {}

  /// Called after each step of the schedulers: sends what is new. Returns whether the answer is
  /// complete.
  virtual bool advance() { return true; }

  /// Answers with an error. Called after another function has thrown; nothing is called after it.
  virtual void fail(std::exception_ptr error) noexcept = 0;
};

}  // namespace gpt2::serve
