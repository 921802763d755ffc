#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpt2 {

/// Lets text through up to the first stop string, however tokens divide it. Holds back text that
/// may be the beginning of a stop string until it is clear that it is not.
class StopFilter {
 public:
  /// Empty stop strings are ignored.
  explicit StopFilter(std::vector<std::string> stops);

  /// Adds bytes. Returns the text that is certain now.
  [[nodiscard]] std::string write(std::string_view bytes);

  /// Returns what is held back, at the end of a text without a stop string.
  [[nodiscard]] std::string flush();

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gpt2
