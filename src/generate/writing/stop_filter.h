#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpt2 {

/// Passes text on up to the first stop string, however the text is divided into tokens. The first
/// one is the one that ends first or, if several end at the same place, the longest of them. Holds
/// back text that may be the beginning of a stop string until more text shows that it is not.
class StopFilter {
 public:
  /// REQUIRES: no stop string is empty.
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds bytes. Returns the text that is now known not to be part of a stop string.
  [[nodiscard]] std::string write(std::string_view bytes);

  /// Returns the text held back. Call this at the end of a text without a stop string.
  [[nodiscard]] std::string flush();

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gpt2
