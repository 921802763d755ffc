#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/job.h"
#include "serve/metrics.h"
#include "serve/served_model.h"

namespace gpt2::serve {

/// The thread that computes: it runs the schedulers of all models, so that the texts of all
/// requests share their passes.
///
/// Thread safety: any thread may call any function.
class Worker {
 public:
  /// Accepts up to `max_jobs` jobs at a time. The models must outlive it.
  Worker(const std::vector<std::unique_ptr<ServedModel>>& models, std::size_t max_jobs);

  /// Lets all jobs fail.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Takes a job that holds this many bytes until it is answered, and that must call release().
  /// Returns false if there are too many jobs, if they would hold more than kMaxHeld, or after
  /// close().
  [[nodiscard]] bool submit(std::unique_ptr<Job>& job, std::size_t bytes);
  static constexpr std::size_t kMaxHeld = 512 << 20;

  /// Says that a job of so many bytes has been answered, so that another one may take its place. To
  /// be called once for each job, on the worker's thread, when the job has no more texts.
  void release(std::size_t bytes);

  void close();

  /// Lets all jobs fail with ServerEnds, and begins no pass from now on. Does not wait until they
  /// have. REQUIRES: close() has been called.
  void cut_off();

  [[nodiscard]] Gauges gauges() const;

  [[nodiscard]] std::size_t jobs() const { return jobs_; }

 private:
  using Jobs = std::list<std::unique_ptr<Job>>;  // moving a job to another list takes no memory

  void run();
  void compute_next();
  void turn();
  void note_gauges();
  void take_new(bool may_wait);
  void begin(Jobs& jobs);
  void fail_all(const std::exception_ptr& error);

  const std::vector<std::unique_ptr<ServedModel>>& models_;
  const std::size_t max_jobs_;

  mutable std::mutex mutex_;
  std::condition_variable has_new_;
  Jobs new_;  // guarded by the mutex, as the rest of this paragraph
  Gauges gauges_;
  bool is_closed_ = false;
  bool stops_ = false;

  std::atomic<std::size_t> jobs_ = 0;
  std::atomic<std::size_t> held_ = 0;  // bytes of these jobs
  Jobs to_compute_;                    // those with passes of their own, in order
  Jobs running_;
  std::thread thread_;  // uses all of the above
};

}  // namespace gpt2::serve
