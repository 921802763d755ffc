#pragma once

#include <cstdint>
#include <string>

#include "cli/batch/shard.h"
#include "cli/generate/writing.h"
#include "cli/model.h"
#include "gpt2/generation_config.h"
#include "requests/options.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 batch`.
struct BatchSettings {
  std::string input;    ///< "-": standard input
  std::string output;   ///< as given; each share is written to its own file
  bool lines = false;   ///< whether each line is a prompt as plain text
  bool openai = false;  ///< whether OUT has answers in OpenAI's format
  bool merge = false;
  Shard shard;
  ModelSettings model;
  Writing defaults;  ///< what a line does not set

  /// A hash of the arguments that affect the output.
  std::uint64_t hash = 0;
};

/// Reads the arguments of `gpt2 batch`, and the environment variables of process launchers that
/// determine the share. Throws what Options::parse(), find_model() and choose_shard() throw.
[[nodiscard]] BatchSettings read_batch_settings(const Arguments& arguments);

}  // namespace gpt2::cli
