#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/activations.h"
#include "cli/inspect/comparison.h"
#include "cli/lines/records.h"
#include "gpt2/inspect.h"
#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// A text and what inspect() found.
struct Report {
  const Model& model;
  const std::optional<Tokenizer>& tokenizer;  ///< nullopt: tokens are shown as ids alone
  std::string model_name;
  std::vector<TokenId> tokens;
  Inspection found;
  std::vector<std::string> changes = {};  ///< the options that changed the pass: "--skip-mlp 2"
  std::optional<Comparison> compared = {};
};

/// Returns the name of an entry of Inspection::norms: "h.0.ln_1", ..., "ln_f".
[[nodiscard]] std::string norm_name(std::size_t norm, std::size_t n_layer);

/// Returns the report as `gpt2 inspect --json` writes it, without the attention weights.
[[nodiscard]] Json report_json(const Report& report);

/// Adds the attention weights to such a report.
void add_attention(Json& report, const Activations& activations);

}  // namespace gpt2::cli
