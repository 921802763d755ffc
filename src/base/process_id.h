#pragma once

namespace gpt2 {

/// Returns the id of this process. A child of fork() has another id than its parent.
[[nodiscard]] int process_id() noexcept;

}  // namespace gpt2
