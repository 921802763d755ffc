#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpt2 {

/// Text from a file as a message can show it: in single quotes, everything but printable ASCII as
/// \xNN, cut after `max_bytes`. No terminal control sequence and no second line comes through.
[[nodiscard]] std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// Text for a terminal, in one line: a control character, an invalid byte or a mark that changes
/// the direction of writing becomes a space.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace gpt2
