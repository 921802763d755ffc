#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "requests/run/run.h"
#include "serve/metrics.h"
#include "serve/reply.h"
#include "serve/served_model.h"

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

  /// Whether the client waits.
  [[nodiscard]] bool goes_on() const;

  void send(int status, const Json& body);
  void send(HttpAnswer answer);

  void begin_stream();
  void write_event(const Json& event);
  void write_comment(std::string_view text);  ///< which clients skip
  void end_stream();

  /// Answers with an error: in a stream that has begun, as an event. Its status is 400 for an
  /// Error, 503 if there is no memory or for ServerEnds, and 500 for anything else. If there is no
  /// memory for this answer, either, the connection is closed.
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
  bool has_names_ = false;  // whether its events have names, the last one of which ends a stream
};

/// Returns how many bytes a request may hold until it is answered, about: for its prompts, the
/// options of each of its texts, and log-probabilities. Throws Error if that is so much that the
/// requests of others suffer.
[[nodiscard]] std::size_t held_bytes(const Request& request, const ServedModel& model);

/// A request that the worker computes. All functions are called on the worker's thread.
class Job {
 public:
  /// `call`: what it answers. The model must outlive the job.
  Job(const RunKind& kind, Request request, ServedModel& model, std::shared_ptr<Call> call);

  [[nodiscard]] bool is_wanted() const { return call_->goes_on(); }

  /// As those of Run. Only one job at a time computes.
  [[nodiscard]] bool has_own_passes() const { return run_->has_own_passes(); }
  void compute(const std::function<void()>& between) { run_->compute(between); }

  /// Gives its texts to the scheduler of its model, at first, and sends what is new. Called after
  /// each step of the schedulers. Returns whether the answer is complete.
  bool advance();

  /// Writes a comment to a stream that has been silent for some seconds, because it waits for its
  /// turn, so that proxies keep its connection.
  void end_silence();

  /// Answers with an error. Called after another function has thrown; nothing is called after it.
  void fail(std::exception_ptr error) noexcept { call_->fail(std::move(error)); }

  /// Ends a job that is not wanted any more. Nothing is called after it.
  void give_up() { fail(std::make_exception_ptr(Cancelled())); }

 private:
  const std::shared_ptr<Call> call_;
  const bool wants_stream_;
  const std::unique_ptr<Run> run_;
  bool streams_ = false;  // whether a stream has begun
  Clock::time_point last_write_ = Clock::now();
};

}  // namespace gpt2::serve
