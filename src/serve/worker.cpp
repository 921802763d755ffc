#include "serve/worker.h"

#include <exception>
#include <utility>

namespace gpt2::serve {

Worker::Worker(const std::vector<std::unique_ptr<ServedModel>>& models, std::size_t max_jobs)
    : models_(models), max_jobs_(max_jobs), thread_([this] { run(); }) {}

Worker::~Worker() {
  cut_off();
  thread_.join();
}

bool Worker::submit(std::unique_ptr<Job>& job, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || jobs_ >= max_jobs_ || held_ + bytes > kMaxHeld) return false;
    ++jobs_;
    held_ += bytes;
    new_.push_back(std::move(job));
  }
  has_new_.notify_one();
  return true;
}

void Worker::release(std::size_t bytes) {
  note_gauges();
  held_ -= bytes;
  --jobs_;
}

void Worker::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

void Worker::cut_off() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_new_.notify_one();
}

Gauges Worker::gauges() const {
  const std::lock_guard lock(mutex_);
  Gauges gauges = gauges_;
  gauges.requests = jobs_;
  return gauges;
}

void Worker::run() {
  while (true) {
    try {
      take_new(/*may_wait=*/running_.empty() && to_compute_.empty());
      compute_next();
      turn();
    } catch (const ServerEnds&) {
      {
        const std::lock_guard lock(mutex_);
        running_.splice(running_.end(), new_);
      }
      return fail_all(std::current_exception());
    } catch (...) {  // no memory
      fail_all(std::current_exception());
    }
  }
}

// Runs the passes of the next job that has some of its own.
void Worker::compute_next() {
  if (to_compute_.empty()) return;
  Jobs next;
  next.splice(next.end(), to_compute_, to_compute_.begin());
  try {
    next.front()->compute([this] {
      take_new(false);
      turn();
    });
    begin(next);
  } catch (const ServerEnds&) {
    next.front()->fail(std::current_exception());
    throw;
  } catch (...) {
    next.front()->fail(std::current_exception());
  }
}

// Moves new jobs to where they belong. Throws ServerEnds if the worker shall stop.
void Worker::take_new(bool may_wait) {
  if (may_wait) note_gauges();  // a job that failed may have had texts
  Jobs jobs;
  {
    std::unique_lock lock(mutex_);
    if (may_wait) has_new_.wait(lock, [this] { return stops_ || !new_.empty(); });
    if (stops_) throw ServerEnds();
    jobs.swap(new_);
  }
  while (!jobs.empty()) {
    if (jobs.front()->has_own_passes()) {
      to_compute_.splice(to_compute_.end(), jobs, jobs.begin());
    } else {
      begin(jobs);
    }
  }
}

// Begins the first one of these jobs, and takes it from them.
void Worker::begin(Jobs& jobs) {
  Jobs job;
  job.splice(job.end(), jobs, jobs.begin());
  try {
    if (!job.front()->advance()) running_.splice(running_.end(), job);
  } catch (...) {
    job.front()->fail(std::current_exception());
  }
}

// Runs one pass for the texts of each model, and sends what is new. Drops the jobs that wait for
// passes of their own and that nobody wants any more, so that they leave room for others.
void Worker::turn() {
  for (const auto& model : models_) model->scheduler.step();
  note_gauges();  // before the answers are sent, whose clients may ask for the metrics next
  running_.remove_if([](const std::unique_ptr<Job>& job) {
    try {
      if (job->advance()) return true;
      job->end_silence();
      return false;
    } catch (...) {
      job->fail(std::current_exception());
      return true;
    }
  });
  to_compute_.remove_if([](const std::unique_ptr<Job>& job) {
    job->end_silence();
    if (job->is_wanted()) return false;
    job->give_up();
    return true;
  });
}

void Worker::note_gauges() {
  Gauges gauges;
  for (const auto& model : models_) {
    const SchedulerStats stats = model->scheduler.stats();
    gauges.waiting += stats.waiting;
    gauges.running += stats.running;
    gauges.kv_bytes += stats.memory;
    gauges.reused_tokens += stats.reused_tokens;
  }
  const std::lock_guard lock(mutex_);
  gauges_ = gauges;
}

void Worker::fail_all(const std::exception_ptr& error) {
  for (Jobs* const jobs : {&running_, &to_compute_}) {
    for (const auto& job : *jobs) job->fail(error);
    jobs->clear();
  }
}

}  // namespace gpt2::serve
