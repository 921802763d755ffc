#include "serve/reply.h"

#include <algorithm>
#include <utility>

#include "requests/answer/completion.h"

namespace gpt2::serve {

HttpAnswer json_answer(int status, const Json& body) {
  return {.status = status, .body = body.text() + '\n'};
}

HttpAnswer error_answer(int status, const std::string& message) {
  return json_answer(status, error_json(message));
}

HttpAnswer busy_answer(const std::string& reason) {
  HttpAnswer answer =
      json_answer(503, error_json(reason + ": try again later", "server_error", "overloaded"));
  answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

void Reply::send(HttpAnswer answer) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  buffer_ = std::exchange(answer.body, {});
  head_ = std::move(answer);
  end_ = Clock::now();
  wake();
}

void Reply::begin_stream(HttpAnswer head) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  head_ = std::move(head);
  is_stream_ = true;
  wake();
}

void Reply::write(std::string_view piece) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  // Each removal moves the bytes that remain, so it pays only if these are few.
  if (taken_ > buffer_.size() / 2) buffer_.erase(0, std::exchange(taken_, 0));
  buffer_ += piece;
  if (buffer_.size() - taken_ > kMaxUnread) drop();
  wake();
}

void Reply::end() {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  end_ = Clock::now();
  wake();
}

bool Reply::is_abandoned() const {
  const std::lock_guard lock(mutex_);
  return is_abandoned_;
}

std::optional<HttpAnswer> Reply::head(const std::function<void()>& suspend,
                                      std::function<void()> resume) {
  const std::lock_guard lock(mutex_);
  if (!head_ && !is_abandoned_) {
    suspend();
    resume_ = std::move(resume);
  }
  return head_;
}

std::optional<std::size_t> Reply::read(char* buffer, std::size_t max,
                                       const std::function<void()>& suspend,
                                       std::function<void()> resume) {
  const std::lock_guard lock(mutex_);
  if (taken_ == buffer_.size() && (end_ || is_abandoned_)) return std::nullopt;
  const std::size_t count = std::min(max, buffer_.size() - taken_);
  buffer_.copy(buffer, count, taken_);
  taken_ += count;
  if (count == 0) {
    suspend();
    resume_ = std::move(resume);
  }
  return count;
}

bool Reply::is_stream() const {
  const std::lock_guard lock(mutex_);
  return is_stream_;
}

std::size_t Reply::held() const {
  const std::lock_guard lock(mutex_);
  return buffer_.size();
}

std::optional<Clock::time_point> Reply::end_time() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

void Reply::abandon() {
  const std::lock_guard lock(mutex_);
  drop();
  wake();
}

void Reply::detach() {
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  resume_ = nullptr;
}

void Reply::drop() {
  is_abandoned_ = true;
  if (!end_) end_ = Clock::now();
  std::string().swap(buffer_);
  taken_ = 0;
}

// The connection is resumed while the mutex is locked, so that detach() cannot come between.
void Reply::wake() {
  if (resume_) std::exchange(resume_, nullptr)();
}

}  // namespace gpt2::serve
