#pragma once

#include <cstdio>

namespace gpt2::cli {

/// Sets the standard streams so that they carry bytes unchanged, and terminals so that they show
/// UTF-8 and colours. `main` calls it first.
void prepare_streams();

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// The keys that end the input from a terminal.
extern const char* const kEndKeys;

}  // namespace gpt2::cli
