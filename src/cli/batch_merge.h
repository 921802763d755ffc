#pragma once

#include <cstddef>
#include <string>

#include "cli/batch_output.h"

namespace gpt2::cli {

/// Joins the files of the shares of `output`, in the order of the lines. Writes a temporary file
/// and renames it at the end. The number of lines is that of `input`. Returns the number of records
/// with errors. Throws Error if `output` exists or if records are missing; the message names the
/// missing records.
std::size_t merge_shards(const InputFile& input, const std::string& output);

}  // namespace gpt2::cli
