#include "gpt2/observed_names.h"

#include <array>

namespace gpt2 {
namespace {

using enum Observed;

constexpr std::array kNames = {
    ObservedName{embeddings, "embeddings", "blocks.0.hook_resid_pre", false},
    ObservedName{ln_1_statistics, "ln_1_statistics", "blocks.N.ln1.hook_scale", true},
    ObservedName{attention_weights, "attention_weights", "blocks.N.attn.hook_pattern", true},
    ObservedName{head_outputs, "head_outputs", "blocks.N.attn.hook_z", true},
    ObservedName{attn_output, "attn_output", "blocks.N.hook_attn_out", true},
    ObservedName{ln_2_statistics, "ln_2_statistics", "blocks.N.ln2.hook_scale", true},
    ObservedName{mlp_output, "mlp_output", "blocks.N.hook_mlp_out", true},
    ObservedName{block_output, "block_output", "blocks.N.hook_resid_post", true},
    ObservedName{ln_f_statistics, "ln_f_statistics", "ln_final.hook_scale", false},
    ObservedName{ln_f_output, "ln_f_output", "ln_final.hook_normalized", false},
    ObservedName{ln_1_output, "ln_1_output", "blocks.N.ln1.hook_normalized", true},
    ObservedName{queries, "queries", "blocks.N.attn.hook_q", true},
    ObservedName{keys, "keys", "blocks.N.attn.hook_k", true},
    ObservedName{values, "values", "blocks.N.attn.hook_v", true},
    ObservedName{ln_2_output, "ln_2_output", "blocks.N.ln2.hook_normalized", true},
    ObservedName{mlp_activations, "mlp_activations", "blocks.N.mlp.hook_post", true}};

// Every enumerator has its row, in order.
static_assert(kNames.size() == kObservedCount);
static_assert([] {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (static_cast<std::size_t>(kNames[i].what) != i) return false;
  }
  return true;
}());

}  // namespace

std::span<const ObservedName> observed_names() { return kNames; }

}  // namespace gpt2
