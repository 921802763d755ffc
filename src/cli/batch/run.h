#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/batch/output.h"
#include "cli/batch/settings.h"
#include "cli/lines/reader.h"
#include "gpt2/engine.h"

namespace gpt2::cli {

/// The results of a run.
struct BatchSummary {
  std::size_t lines = 0;         ///< the lines of this share for which OUT has records
  std::size_t written = 0;       ///< records that this run wrote
  std::size_t errors = 0;        ///< records with errors, including those that OUT had before
  std::size_t tokens = 0;        ///< tokens that this run wrote or scored
  std::string first_error = {};  ///< the message of the first error of this run
};

/// A run of `gpt2 batch`: reads lines, lets a scheduler write their texts side by side, scores the
/// lines that are to be scored, and appends the records in order, until all lines have their
/// records or interrupted() becomes true. However many lines there are, at most 256 texts are in
/// memory. `hash` identifies the model. Throws Error if OUT has records that do not belong to the
/// lines, and if reading or writing fails.
[[nodiscard]] BatchSummary run_batch(const Engine& engine, const std::optional<Model>& draft,
                                     const std::optional<Tokenizer>& tokenizer,
                                     const BatchSettings& settings, std::uint64_t hash,
                                     const InputFile& input, OutputFile& output);

}  // namespace gpt2::cli
