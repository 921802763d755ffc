#pragma once

#include <cstddef>

namespace gpt2 {

/// The bytes that the process can use before the system or its control group runs out of memory: an
/// estimate of this moment. SIZE_MAX if the system does not say.
[[nodiscard]] std::size_t available_memory();

}  // namespace gpt2
