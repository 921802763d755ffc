#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"
#include "requests/answer/numbers.h"
#include "requests/read/text_requests.h"

// The report of an inspection, as JSON or as a page for a browser.

namespace gpt2 {

/// The model of a report. Without a tokenizer, tokens are shown as ids alone.
struct InspectedModel {
  std::string name;
  const Model& model;
  const std::optional<Tokenizer>& tokenizer;
};

/// Returns all numbers of Inspection.
[[nodiscard]] Json inspection_json(const InspectionRequest& request, const InspectionResult& result,
                                   const InspectedModel& of);

/// Returns the first bytes of every page, which end with its title.
[[nodiscard]] std::string_view inspection_page_begin();

/// Returns the report as a page: the files of inspect/page/ in one, with the JSON in it. In place
/// of the attention weights, the JSON has arrays in base64 (little-endian):
///   inputs      (2 * n_layer + 1, tokens, n_embd) the inputs of the LayerNorms: the upper three
///               bytes of each f32, least significant first
///   parameters  (2 * n_layer + 1, 2, n_embd) f32: the weight and the bias of each LayerNorm
///   attention   (n_layer, n_head, tokens * (tokens + 1) / 2) u16: 65535 times the weights, row by
///               row, without those of later tokens
/// REQUIRES: request.with_attention.
[[nodiscard]] std::string inspection_page(const InspectionRequest& request,
                                          const InspectionResult& result, const InspectedModel& of);

}  // namespace gpt2
