#include "model/walk_choices.h"

#include <cstdlib>
#include <string_view>

#include "base/fail.h"

namespace gpt2 {

bool measures_walks() {
  const char* const variable = std::getenv("GPT2_TUNE");
  const std::string_view value = variable != nullptr && *variable != '\0' ? variable : "on";
  if (value != "on" && value != "off") reject("GPT2_TUNE must be on or off, got ", quote(value));
  return value == "on" && kernels().matmul_int8.count > 1;
}

WalkChoices::WalkChoices() : is_on_(measures_walks()) {}

std::vector<WalkChoice> WalkChoices::list() const {
  std::vector<WalkChoice> choices;
  for (const Entry& e : std::span(entries_).first(count_)) {
    choices.push_back(
        {e.type, e.k, e.n, e.is_single_row, e.names[e.contest.best()], e.contest.gain()});
  }
  return choices;
}

}  // namespace gpt2
