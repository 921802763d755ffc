#include "serve/worker.h"

#include <utility>

namespace gpt2::serve {

Worker::Worker(const std::vector<std::unique_ptr<ServedModel>>& models, std::size_t max_jobs)
    : models_(models), max_jobs_(max_jobs), thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_new_.notify_one();
  thread_.join();
}

bool Worker::submit(std::unique_ptr<Job>& job) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || jobs_ >= max_jobs_) return false;
    ++jobs_;
    new_.push_back(std::move(job));
  }
  has_new_.notify_one();
  return true;
}

void Worker::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

Gauges Worker::gauges() const {
  const std::lock_guard lock(mutex_);
  Gauges gauges = gauges_;
  gauges.requests = jobs_;
  return gauges;
}

void Worker::run() {
  while (take_new(/*may_wait=*/running_.empty() && to_compute_.empty())) {
    if (!to_compute_.empty()) {
      std::unique_ptr<Job> job = std::move(to_compute_.front());
      to_compute_.pop_front();
      try {
        job->compute([this] {
          if (take_new(false)) turn();
        });
        begin(std::move(job));
      } catch (...) {
        end(job, std::current_exception());
      }
    }
    turn();
  }
}

// Moves new jobs to where they belong. Returns false if the worker shall stop.
bool Worker::take_new(bool may_wait) {
  std::deque<std::unique_ptr<Job>> jobs;
  {
    std::unique_lock lock(mutex_);
    if (may_wait) has_new_.wait(lock, [this] { return stops_ || !new_.empty(); });
    if (stops_) return false;
    jobs.swap(new_);
  }
  for (std::unique_ptr<Job>& job : jobs) {
    if (job->has_own_passes()) {
      to_compute_.push_back(std::move(job));
    } else {
      begin(std::move(job));
    }
  }
  return true;
}

void Worker::begin(std::unique_ptr<Job> job) {
  try {
    job->begin();
    running_.push_back(std::move(job));
  } catch (...) {
    end(job, std::current_exception());
  }
}

// Runs one pass for the texts of each model, and sends what is new.
void Worker::turn() {
  Gauges gauges;
  for (const auto& model : models_) {
    model->scheduler.step();
    const SchedulerStats stats = model->scheduler.stats();
    gauges.waiting += stats.waiting;
    gauges.running += stats.running;
    gauges.kv_bytes += stats.memory;
    gauges.reused_tokens += stats.reused_tokens;
  }
  for (std::unique_ptr<Job>& job : running_) {
    try {
      if (job->advance()) end(job, nullptr);
    } catch (...) {
      end(job, std::current_exception());
    }
  }
  std::erase(running_, nullptr);
  const std::lock_guard lock(mutex_);
  gauges_ = gauges;
}

void Worker::end(std::unique_ptr<Job>& job, std::exception_ptr error) {
  if (error) job->fail(error);
  job.reset();
}

}  // namespace gpt2::serve
