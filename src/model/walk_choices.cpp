#include "model/walk_choices.h"

#include <cstdlib>
#include <string_view>

#include "base/fail.h"
#include "kernels/kernels.h"

namespace gpt2 {

bool measures_walks() {
  const char* const variable = std::getenv("GPT2_TUNE");
  const std::string_view value = variable != nullptr && *variable != '\0' ? variable : "on";
  if (value != "on" && value != "off") reject("GPT2_TUNE must be on or off, got ", quote(value));
  return value == "on" && kernels().matmul_int8.count > 1;
}

WalkChoices::WalkChoices() : is_on_(measures_walks()) {}

Contest* WalkChoices::find(const Weight& weight, bool is_single_row,
                           std::span<const char* const> names) noexcept {
  // Smaller weights stay in a cache, and are read so quickly that reading a clock would slow them.
  constexpr std::size_t kMinBytes = std::size_t{256} << 10;
  if (!is_on_ || names.size() < 2 || weight.bytes() < kMinBytes) return nullptr;
  for (Entry& e : std::span(entries_).first(count_)) {
    const bool is_shape = e.k == weight.k && e.n == weight.n && e.type == weight.type;
    const bool is_kernel = e.names.data() == names.data() && e.is_single_row == is_single_row;
    if (is_shape && is_kernel) return &e.contest;
  }
  if (count_ == entries_.size()) return nullptr;
  Entry& added = entries_[count_++];
  added = {weight.type, weight.k, weight.n, is_single_row, names, Contest(names.size())};
  return &added.contest;
}

std::vector<WalkChoice> WalkChoices::list() const {
  std::vector<WalkChoice> choices;
  for (const Entry& e : std::span(entries_).first(count_)) {
    choices.push_back(
        {e.type, e.k, e.n, e.is_single_row, e.names[e.contest.best()], e.contest.gain()});
  }
  return choices;
}

}  // namespace gpt2
