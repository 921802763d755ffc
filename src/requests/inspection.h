#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/inspect.h"
#include "requests/completion_request.h"
#include "requests/json_text.h"

// Requests to inspect a text: JSON in, a run, and a report as JSON or as a page for a browser.

namespace gpt2 {

/// A change of the pass, which shows what a part of the model is good for.
struct PassChange {
  enum class Kind {
    skip_layer,    ///< "2": block 2 adds nothing to the residual stream
    skip_head,     ///< "2.1": the output of head 1 of block 2 is 0
    skip_mlp,      ///< "2": the feed-forward layer of block 2 adds nothing
    identity_norm  ///< "ln_1.2", "h.2.ln_1" or "ln_f": only multiplies by weight and adds bias
  };
  static constexpr const char* kNames[] = {"skip_layer", "skip_head", "skip_mlp", "identity_norm"};

  Kind kind;
  std::string place;      ///< as the request has it
  std::size_t layer = 0;  ///< n_layer for ln_f
  std::size_t head = 0;   ///< of skip_head
  bool is_ln_1 = false;   ///< of identity_norm
};

/// Returns the change at a place of the model. Throws Error, whose message begins with `name`, for
/// a place that the model does not have.
[[nodiscard]] PassChange read_change(PassChange::Kind kind, const std::string& place,
                                     const Config& config, const std::string& name);

/// A text to inspect.
struct InspectionRequest {
  std::vector<TokenId> tokens = {};
  std::size_t top = 5;                   ///< the length of the lists
  bool with_attention = true;            ///< whether the report has the attention weights
  std::vector<PassChange> changes = {};  ///< by kind; compared with the pass without them
};

/// Reads {"prompt": text or token ids, "top": number, "attention": bool, "skip_layer": [2, ...],
/// "skip_head": ["2.1", ...], "skip_mlp": [2, ...], "identity_norm": ["ln_1.2", ...]}, of which
/// only "prompt" is required. Throws Error for any other object, and for a text that is empty or
/// longer than the context.
[[nodiscard]] InspectionRequest read_inspection_request(const nlohmann::json& body,
                                                        const RequestContext& context);

/// What the inspection found.
struct InspectionResult {
  Inspection found;
  std::vector<std::vector<float>> inputs;  ///< [NormIndex]: (tokens, n_embd), of each LayerNorm

  /// [layer * n_head + head]: the attention weights, row by row; row q has q + 1 of them. Empty
  /// unless the request asks for them.
  std::vector<std::vector<float>> attention;

  /// If the request has changes: what the model computes without them, and [NormIndex][token] how
  /// far the inputs of the LayerNorms are apart: |x - other| / |other|.
  std::optional<Inspection> unchanged;
  std::vector<std::vector<float>> distance;
};

/// Inspects the text, and once more without the changes if there are any. `progress` is called as
/// that of InspectOptions. Throws what inspect() throws.
[[nodiscard]] InspectionResult run_inspection(const Engine& engine,
                                              const InspectionRequest& request,
                                              const std::function<void(double)>& progress = {});

/// The model of a report. Without a tokenizer, tokens are shown as ids alone.
struct InspectedModel {
  std::string name;
  const Model& model;
  const std::optional<Tokenizer>& tokenizer;
};

/// Returns the mean of -logprob over all tokens but the first, in nats; NaN if there are no others.
[[nodiscard]] double loss_of(const Inspection& found);

/// Returns the name of an entry of Inspection::norms: "h.0.ln_1", ..., "ln_f".
[[nodiscard]] std::string norm_name(std::size_t norm, std::size_t n_layer);

/// Returns the report as JSON: all numbers of Inspection.
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
