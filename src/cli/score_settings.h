#pragma once

#include <string>

#include "cli/args.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 score`.
struct ScoreSettings {
  std::string model = GPT2_BUNDLED_MODEL;
  std::string file = "-";
  WeightType dtype = WeightType::stored;
  KVType kv_type = KVType::automatic;
  int threads = 0;
  bool tokens = false;
  bool per_line = false;
  bool jsonl = false;
  bool choices = false;
  bool as_json = false;
  bool with_logprobs = false;
  ScoreOptions score;
};

/// Reads the arguments of `gpt2 score`. Throws what parse() throws.
[[nodiscard]] ScoreSettings read_score_settings(Arguments arguments);

}  // namespace gpt2::cli
