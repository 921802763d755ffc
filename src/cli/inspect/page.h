#pragma once

#include <string>
#include <string_view>

#include "cli/inspect/activations.h"
#include "cli/inspect/report.h"

namespace gpt2::cli {

/// Returns the first bytes of every page, which end with its title.
[[nodiscard]] std::string_view page_begin();

/// Returns the page of `gpt2 inspect -o`: the files of page/ in one, with the report as JSON.
/// Besides the members of report_json(), the JSON has arrays in base64 (little-endian):
///   inputs      (2 * n_layer + 1, tokens, n_embd) the inputs of the LayerNorms: the upper three
///               bytes of each f32, least significant first
///   parameters  (2 * n_layer + 1, 2, n_embd) f32: the weight and the bias of each LayerNorm
///   attention   (n_layer, n_head, tokens * (tokens + 1) / 2) u16: 65535 times the weights, row by
///               row, without those of later tokens
/// REQUIRES: the activations have the inputs.
[[nodiscard]] std::string page_of(const Report& report, const Activations& activations);

}  // namespace gpt2::cli
