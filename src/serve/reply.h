#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.h"

namespace gpt2::serve {

using Clock = std::chrono::steady_clock;

/// The status that nginx notes for a client that did not wait for its answer.
inline constexpr int kClientGone = 499;

using Headers = std::vector<std::pair<std::string, std::string>>;

/// An answer to a request over HTTP. The body is empty where the Reply holds it.
struct HttpAnswer {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  Headers headers = {};
  std::string id = {};  ///< for the header X-Request-Id; "": that of the request
};

[[nodiscard]] HttpAnswer json_answer(int status, const Json& body);

/// Returns an answer that is an error of OpenAI's API, about a mistake in the request.
[[nodiscard]] HttpAnswer error_answer(int status, const std::string& message);

/// Returns an answer that asks the client to come back later.
[[nodiscard]] HttpAnswer busy_answer(const std::string& reason);

/// The way from whatever computes an answer to the connection that asked for it. The answer is sent
/// as a whole, or piece by piece as a stream.
///
/// Thread safety: one thread writes while another one, which owns the connection, reads.
class Reply {
 public:
  // For the thread that computes the answer. If is_abandoned(), these do nothing. What was not read
  // takes memory.

  void send(HttpAnswer answer);  ///< sends a whole answer; nothing may follow
  void begin_stream(HttpAnswer head);
  /// Appends to a stream. Gives up a client that leaves more than kMaxUnread bytes unread.
  /// REQUIRES: the stream has begun.
  void write(std::string_view piece);
  static constexpr std::size_t kMaxUnread = 32 << 20;
  void end();  ///< ends the stream

  /// Whether the client has gone away, so that nobody needs the answer.
  [[nodiscard]] bool is_abandoned() const;

  // For the thread that owns the connection.

  /// Returns the answer without its body, or nothing if it has not begun. In this case, calls
  /// `suspend`; `resume` will be called, once, on any thread, when it has.
  [[nodiscard]] std::optional<HttpAnswer> head(const std::function<void()>& suspend,
                                               std::function<void()> resume);

  /// Moves up to `max` bytes of the body to `buffer` and returns their number. Returns 0 if there
  /// are none yet, after calling `suspend` as head() does, and nothing at the end of the body.
  [[nodiscard]] std::optional<std::size_t> read(char* buffer, std::size_t max,
                                                const std::function<void()>& suspend,
                                                std::function<void()> resume);

  [[nodiscard]] bool is_stream() const;

  /// The number of bytes that it holds for the client. Before the first read(), those are what a
  /// whole answer has; what the client reads of one is freed with the rest.
  [[nodiscard]] std::size_t held() const;

  /// When the whole answer was there, or nothing if it is not.
  [[nodiscard]] std::optional<Clock::time_point> end_time() const;

  /// Says that the client has gone away or is given up, and frees what it has not read. Calls
  /// `resume` if it is due.
  void abandon();

  /// Says that the connection does not exist any more: `resume` is not called from now on.
  void detach();

 private:
  void drop();
  void wake();

  mutable std::mutex mutex_;
  std::optional<HttpAnswer> head_;
  std::string buffer_;     // the body, without what was removed from its beginning
  std::size_t taken_ = 0;  // bytes at its beginning that read() has returned
  bool is_stream_ = false;
  std::optional<Clock::time_point> end_;
  bool is_abandoned_ = false;
  std::function<void()> resume_;  // empty unless it is due
};

}  // namespace gpt2::serve
