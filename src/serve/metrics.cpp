#include "serve/metrics.h"

#include <algorithm>

#include "base/text.h"

namespace gpt2::serve {
namespace {

std::string head(const char* name, const char* type, const char* help) {
  return concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

std::string number(const char* name, const char* type, const char* help, std::uint64_t value) {
  return concat(head(name, type, help), name, " ", value, "\n");
}

}  // namespace

void Histogram::add(double value) {
  const auto* const bound = std::ranges::lower_bound(kBounds, value);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += value;
}

std::string Histogram::lines(const std::string& name) const {
  std::string text;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    count += counts_[i];
    text += concat(name, "_bucket{le=\"", kBounds[i], "\"} ", count, "\n");
  }
  count += counts_.back();
  return text + concat(name, "_bucket{le=\"+Inf\"} ", count, "\n", name, "_sum ", sum_, "\n", name,
                       "_count ", count, "\n");
}

void Metrics::count_request(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
}

void Metrics::count_tokens(std::size_t prompt, std::size_t completion) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += prompt;
  completion_tokens_ += completion;
}

void Metrics::note_first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_.add(seconds);
}

void Metrics::note_token(double seconds) {
  const std::lock_guard lock(mutex_);
  token_.add(seconds);
}

std::string Metrics::text(const Gauges& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text = head("gpt2_requests_total", "counter",
                          "Answers, by path and status (499: the client was gone); requests that "
                          "are not valid HTTP are not counted.");
  for (const auto& [key, count] : requests_) {
    text += concat("gpt2_requests_total{path=\"", key.first, "\",status=\"", key.second, "\"} ",
                   count, "\n");
  }
  text += number("gpt2_prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens_);
  text += number("gpt2_completion_tokens_total", "counter", "Tokens written.", completion_tokens_);
  text += number("gpt2_reused_prompt_tokens_total", "counter",
                 "Tokens of prompts that were not computed again.", gauges.reused_tokens);
  text += number("gpt2_requests_open", "gauge", "Requests without an answer.", gauges.requests);
  text += number("gpt2_texts_waiting", "gauge", "Texts that have not begun.", gauges.waiting);
  text += number("gpt2_batch_size", "gauge", "Texts that share the passes.", gauges.running);
  text += number("gpt2_kv_bytes", "gauge", "Bytes of keys and values.", gauges.kv_bytes);
  text += number("gpt2_connections", "gauge", "Open connections.", gauges.connections);
  text +=
      head("gpt2_time_to_first_token_seconds", "histogram", "From a request to its first token.");
  text += first_token_.lines("gpt2_time_to_first_token_seconds");
  text += head("gpt2_time_per_token_seconds", "histogram", "From one token of a text to the next.");
  return text + token_.lines("gpt2_time_per_token_seconds");
}

}  // namespace gpt2::serve
