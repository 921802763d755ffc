#pragma once

#include <span>
#include <string_view>

#include "gpt2/observer.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// The names of a kind of values that can be observed.
struct ObservedName {
  Observed what;
  std::string_view name;  ///< the enumerator: "ln_1_output"

  /// The hook of TransformerLens that has these values if the model is loaded without folding
  /// (from_pretrained_no_processing), with N for the layer: "blocks.N.ln1.hook_normalized". The
  /// values have its shape once a row of n_embd is divided into n_head rows for queries, keys,
  /// values and head_outputs. Its scale is 1 / rstd, the third of our statistics.
  /// https://transformerlensorg.github.io/TransformerLens/
  std::string_view transformer_lens;

  bool is_in_block;  ///< whether each block has them, or the model once
};

/// Returns the names of all values, in the order of Observed. Any thread may call it. Cost: none.
///
/// Example:
///   for (const ObservedName& observed : observed_names()) {
///     std::cout << observed.name << " is " << observed.transformer_lens << '\n';
///   }
[[nodiscard]] std::span<const ObservedName> observed_names();

}  // namespace gpt2
