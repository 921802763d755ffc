#pragma once

#include <filesystem>

#include "cli/inspect/activations.h"
#include "cli/inspect/report.h"

namespace gpt2::cli {

/// Returns whether a file is NumPy's archive of arrays: a zip archive whose first file is an array.
[[nodiscard]] bool is_npz(const std::filesystem::path& file);

/// Returns all values that can be observed.
[[nodiscard]] std::set<Observed> all_observed();

/// Writes the activations as NumPy's archive of arrays under the names of TransformerLens's hooks
/// (gpt2/observed_names.h), with its shapes but without the batch: hook_z has the shape (tokens,
/// n_head, head_dim), and hook_pattern (n_head, tokens, tokens). Also writes the residual stream
/// before each half of a block, and the token ids as "tokens". Throws Error if the arrays are too
/// large for the format (3.75 GiB). REQUIRES: the activations have all_observed().
void write_npz(const std::filesystem::path& file, const Report& report,
               const Activations& activations);

}  // namespace gpt2::cli
