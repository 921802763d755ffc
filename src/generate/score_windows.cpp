#include "generate/score_windows.h"

#include <algorithm>

namespace gpt2 {

std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context, std::size_t stride) {
  std::vector<ScoredWindow> windows;
  std::size_t reached = 0;  // the end of the previous window
  for (std::size_t begin = 0; reached < tokens; begin += stride) {
    const std::size_t end = std::min(begin + context, tokens);
    windows.push_back({begin, std::max(reached, begin + 1), end, end - reached});
    reached = end;
  }
  return windows;
}

}  // namespace gpt2
