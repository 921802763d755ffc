#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gpt2 {

/// Returns advice for someone who gave an option by a name that other programs use, such as
/// "did you mean --stop?". Returns "" if there is none. `name` has the form of HuggingFace's names,
/// such as "eos_token_id". `shown` returns how an option of this program is written where the
/// advice is read, such as "--stop" for "stop", or "" if there is no such option.
[[nodiscard]] std::string other_name_advice(
    std::string_view name, const std::function<std::string(const std::string&)>& shown);

}  // namespace gpt2
