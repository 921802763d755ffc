#include "generate/writing/stop_filter.h"

#include <algorithm>
#include <utility>

namespace gpt2 {
namespace {

// The length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t overlap(std::string_view text, std::string_view stop) {
  std::size_t length = std::min(text.size(), stop.size() - 1);
  while (!text.ends_with(stop.substr(0, length))) --length;
  return length;
}

}  // namespace

std::string StopFilter::write(std::string_view bytes) {
  held_ += bytes;
  std::size_t certain = held_.size();
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t begin = held_.find(stop);
    if (begin == std::string::npos) continue;
    stopped_ = true;
    // The first one to end is the first one that is found if the bytes come one by one.
    if (std::pair(begin + stop.size(), begin) < std::pair(end, certain)) {
      end = begin + stop.size();
      certain = begin;
    }
  }
  for (const std::string& stop : stops_) {
    if (!stopped_) certain = std::min(certain, held_.size() - overlap(held_, stop));
  }
  std::string out = held_.substr(0, certain);
  held_.erase(0, stopped_ ? held_.size() : certain);
  return out;
}

std::string StopFilter::flush() { return std::exchange(held_, ""); }

}  // namespace gpt2
