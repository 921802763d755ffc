#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gpt2::serve {

/// A histogram of times, in seconds, for Prometheus.
class Histogram {
 public:
  void add(double value);

  /// Returns its lines: the number of values up to each bound, their sum and their number.
  [[nodiscard]] std::string lines(const std::string& name) const;

 private:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                         0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
  std::array<std::uint64_t, kBounds.size() + 1> counts_ = {};  // not cumulative
  double sum_ = 0.0;
};

struct Gauges {
  std::size_t requests = 0;       ///< accepted and not answered
  std::size_t waiting = 0;        ///< texts that have not begun
  std::size_t running = 0;        ///< texts that share the passes
  std::size_t kv_bytes = 0;       ///< keys and values of running texts
  std::size_t reused_tokens = 0;  ///< of prompts, so far, that were not computed again
  std::size_t connections = 0;
};

/// What the server has done, for GET /metrics.
///
/// Thread safety: any thread may call any function.
class Metrics {
 public:
  void count_request(const std::string& path, int status);
  void count_tokens(std::size_t prompt, std::size_t completion);
  void note_first_token(double seconds);  ///< since the request arrived
  void note_token(double seconds);        ///< since the token before

  /// Returns everything in Prometheus's text format.
  [[nodiscard]] std::string text(const Gauges& gauges) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t completion_tokens_ = 0;
  Histogram first_token_;
  Histogram token_;
};

}  // namespace gpt2::serve
