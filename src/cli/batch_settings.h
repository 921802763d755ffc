#pragma once

#include <cstdint>
#include <string>

#include "cli/generate_settings.h"
#include "cli/shard.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 batch`.
struct BatchSettings {
  std::string input;   ///< "-": standard input
  std::string output;  ///< as given; each share is written to its own file
  bool lines = false;  ///< whether each line is a prompt as plain text
  bool merge = false;
  Shard shard;

  /// The model, and the defaults of all lines.
  GenerateSettings defaults;

  /// A hash of the arguments that affect the output.
  std::uint64_t hash = 0;
};

/// Reads the arguments of `gpt2 batch`, and the environment variables of process launchers that
/// determine the share. Throws what parse(), find_model() and choose_shard() throw.
[[nodiscard]] BatchSettings read_batch_settings(Arguments arguments);

}  // namespace gpt2::cli
