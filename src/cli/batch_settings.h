#pragma once

#include <cstdint>
#include <string>

#include "cli/generate_settings.h"
#include "cli/shard.h"

namespace gpt2::cli {

/// What the arguments of `gpt2 batch` say.
struct BatchSettings {
  std::string input;   ///< "-": standard input
  std::string output;  ///< as it was given; a share is written to a file of its own
  bool lines = false;  ///< whether each line is a prompt as plain text
  bool merge = false;
  Shard shard;

  /// The model, and the defaults of all lines.
  GenerateSettings defaults;

  /// A hash of the arguments that decide what is written.
  std::uint64_t hash = 0;
};

/// Reads the arguments of `gpt2 batch`, and what a launcher of processes says about the share.
/// Throws what parse(), find_model() and choose_shard() throw.
[[nodiscard]] BatchSettings read_batch_settings(Arguments arguments);

}  // namespace gpt2::cli
