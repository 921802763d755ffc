#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpt2 {

/// Returns the name that the user probably meant by `word`: a name that begins with `word`, if
/// `word` has three letters or more, or else the name with the smallest edit distance among those
/// whose distance is at most a third of their letters. Returns "" if there is none. REQUIRES: names
/// is not empty.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> names);

}  // namespace gpt2
