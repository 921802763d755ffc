#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpt2 {

/// Lets text through up to the first stop string, wherever token borders fall: what may be the
/// beginning of one is held back until it is known not to be.
class StopFilter {
 public:
  /// Empty stop strings are ignored.
  explicit StopFilter(std::vector<std::string> stops);

  /// The text that became certain with these bytes.
  [[nodiscard]] std::string write(std::string_view bytes);

  /// What was held back, at the end of a text in which no stop string came.
  [[nodiscard]] std::string flush();

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gpt2
