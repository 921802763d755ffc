#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gpt2/error.h"
#include "requests/completion.h"
#include "serve/metrics.h"
#include "serve/reply.h"

namespace gpt2::serve {

/// The error of the calls that are not complete when the server ends.
struct ServerEnds : std::exception {
  [[nodiscard]] const char* what() const noexcept override {
    return "the server has ended before the answer was complete: send the request again";
  }
};

/// The call that a job answers: where the answer goes, and when nobody waits for it any more.
///
/// Thread safety: any thread may call any function.
class Call {
 public:
  Call(std::string request_id, std::shared_ptr<Reply> reply, Metrics& counters)
      : id(std::move(request_id)), metrics(counters), reply_(std::move(reply)) {}

  /// Whether to go on: the client waits, and cancel() has not been called.
  [[nodiscard]] bool goes_on() const;

  /// Makes goes_on() false.
  void cancel() { is_cancelled_ = true; }

  void send(int status, const Json& body);
  void send(HttpAnswer answer);

  void begin_stream();
  void write_event(const Json& event);
  void end_stream();

  /// Answers with an error: in a stream that has begun, as an event. Its status is 400 for an
  /// Error, 503 if there is no memory or for ServerEnds, and 500 for anything else. If there is no
  /// memory for this answer, either, the connection is closed. Makes goes_on() false.
  void fail(std::exception_ptr error) noexcept;

  /// Called once, right before the end of the answer is sent, so that what the call has used is
  /// free when the client sees it. Set it before another thread has the call.
  std::function<void()> before_end = {};

  /// The id of the answer: that of the request, or another one. Set it before another thread has
  /// the call.
  std::string id;

  Metrics& metrics;
  const Clock::time_point arrival = Clock::now();

 private:
  void answer_error(std::exception_ptr error);
  void send_error(int status, const std::string& body);
  void prepare_end();

  const std::shared_ptr<Reply> reply_;
  std::atomic<bool> is_cancelled_ = false;
};

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
