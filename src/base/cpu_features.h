#pragma once

// What the CPU can do and only the system can tell. kernels/dispatch.cpp asks the CPU for the rest.

namespace gpt2 {

/// x86-64: whether this process may use the tile registers of a CPU that has AMX. Asks the system
/// for the permission. REQUIRES: the CPU has AMX.
[[nodiscard]] bool may_use_tiles() noexcept;

/// AArch64: whether the CPU has the dot product instructions.
[[nodiscard]] bool has_dot_products() noexcept;

}  // namespace gpt2
