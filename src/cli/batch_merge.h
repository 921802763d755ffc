#pragma once

#include <cstddef>
#include <string>

#include "cli/batch_output.h"

namespace gpt2::cli {

/// Joins the files that the shares of `output` were written to, in the order of the lines. Writes
/// another file first and renames it in the end. `input` tells how many lines there are. Returns
/// the number of records with errors. Throws Error if `output` exists, and if records are missing,
/// which it names.
std::size_t merge_shards(const InputFile& input, const std::string& output);

}  // namespace gpt2::cli
