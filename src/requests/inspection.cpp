#include "requests/inspection.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/fail.h"
#include "base/text.h"
#include "requests/members.h"
#include "requests/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;
using ChangeKind = PassChange::Kind;

constexpr ChangeKind kChangeKinds[] = {ChangeKind::skip_layer, ChangeKind::skip_head,
                                       ChangeKind::skip_mlp, ChangeKind::identity_norm};

// Returns the number of a block or a head, from 0 to count - 1, in a place.
std::size_t read_index(const std::string& text, std::size_t count, const std::string& name) {
  std::size_t index = 0;
  if (read_number(text, index) && index < count) return index;
  reject(name, ": expected a whole number from 0 to ", count - 1, ", found ", quote(text));
}

// Splits a text at its last dot, or returns it and "".
std::pair<std::string, std::string> split(const std::string& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == text.npos) return {text, ""};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

void read_head(PassChange& change, const Config& config, const std::string& name) {
  const auto [layer, head] = split(change.place);
  std::size_t number = 0;
  if (!read_number(layer, number) || !read_number(head, number)) {
    reject(name, ": expected N.H, which is head H of block N, such as 2.1, found ",
           quote(change.place));
  }
  change.layer = read_index(layer, config.n_layer, "the block of " + name);
  change.head = read_index(head, config.n_head, "the head of " + name);
}

void read_norm(PassChange& change, const Config& config, const std::string& name) {
  change.layer = config.n_layer;
  if (change.place == "ln_f") return;
  auto [norm, layer] = split(change.place);
  if (norm.starts_with("h.")) norm = std::exchange(layer, norm.substr(2));
  if ((norm != "ln_1" && norm != "ln_2") || layer.empty()) {
    reject(name, ": expected ln_1.N, ln_2.N or ln_f, found ", quote(change.place));
  }
  change.is_ln_1 = norm == "ln_1";
  change.layer = read_index(layer, config.n_layer, "the block of " + name);
}

// Reads the member with the changes of a kind. A place that is a whole number may be one of JSON.
void read_changes(InspectionRequest& request, Members& members, ChangeKind kind,
                  const Config& config) {
  const std::string name = PassChange::kNames[static_cast<std::size_t>(kind)];
  const json* const places = members.find(name);
  if (places == nullptr) return;
  if (!places->is_array()) members.refuse(name, "a list of places");
  for (const json& place : *places) {
    if (!place.is_string() && !place.is_number_unsigned()) {
      members.refuse(name, "a list of places");
    }
    const std::string text = place.is_string() ? place.get<std::string>() : place.dump();
    request.changes.push_back(read_change(kind, text, config, name));
  }
}

bool is_at(const PassChange& change, Observed what, std::size_t layer, std::size_t n_layer) {
  if (layer != change.layer) return false;
  switch (change.kind) {
    case ChangeKind::skip_layer:
      return what == Observed::head_outputs || what == Observed::attn_output ||
             what == Observed::mlp_output;
    case ChangeKind::skip_head: return what == Observed::head_outputs;
    case ChangeKind::skip_mlp: return what == Observed::mlp_output;
    case ChangeKind::identity_norm: break;
  }
  return what == (layer == n_layer ? Observed::ln_f_statistics
                  : change.is_ln_1 ? Observed::ln_1_statistics
                                   : Observed::ln_2_statistics);
}

void apply(const PassChange& change, const Intervention& values, std::size_t head_dim) {
  for (std::size_t i = 0; i < values.rows; ++i) {
    const std::span<float> row = values.row(i);
    if (change.kind == ChangeKind::identity_norm) {
      row[0] = 0.0f;  // mean
      row[2] = 1.0f;  // rstd
    } else if (change.kind == ChangeKind::skip_head) {
      std::ranges::fill(row.subspan(change.head * head_dim, head_dim), 0.0f);
    } else {
      std::ranges::fill(row, 0.0f);
    }
  }
}

// An observer that keeps the inputs of the LayerNorms and, if the request asks for them, the
// attention weights. The input of ln_2 is that of ln_1 plus the output of attention, added as the
// pass adds it.
Observer keeper(InspectionResult& result, bool with_attention, const Config& config) {
  result.inputs.resize(2 * config.n_layer + 1);
  if (with_attention) result.attention.resize(config.n_layer * config.n_head);
  const auto see = [&result, n_head = config.n_head](const Observation& seen) {
    for (std::size_t i = 0; i < seen.rows; ++i) {
      std::span<const float> row = seen.row(i);
      if (seen.what == Observed::attention_weights) {
        row = row.first(seen.first + i + 1);
        std::vector<float>& weights = result.attention[seen.layer * n_head + seen.head];
        weights.insert(weights.end(), row.begin(), row.end());
      } else if (seen.what == Observed::attn_output) {
        const std::vector<float>& before = result.inputs[NormIndex::ln_1(seen.layer)];
        std::vector<float>& input = result.inputs[NormIndex::ln_2(seen.layer)];
        for (const float added : row) input.push_back(before[input.size()] + added);
      } else {
        const bool is_first = seen.what == Observed::embeddings;
        std::vector<float>& input = result.inputs[is_first ? 0 : NormIndex::ln_1(seen.layer + 1)];
        input.insert(input.end(), row.begin(), row.end());
      }
    }
  };
  const auto wants = [with_attention](Observed what, std::size_t) {
    return what == Observed::embeddings || what == Observed::attn_output ||
           what == Observed::block_output ||
           (with_attention && what == Observed::attention_weights);
  };
  return {.see = see, .wants = wants};
}

void add_changes(Observer& observer, const std::vector<PassChange>& changes, const Config& config) {
  if (changes.empty()) return;
  observer.change = [&](const Intervention& values) {
    for (const PassChange& change : changes) {
      if (is_at(change, values.what, values.layer, config.n_layer)) {
        apply(change, values, config.head_dim());
      }
    }
  };
  observer.changes = [&](Observed what, std::size_t layer) {
    return std::ranges::any_of(changes, [&](const PassChange& change) {
      return is_at(change, what, layer, config.n_layer);
    });
  };
}

// |x - other| / |other| for each token.
std::vector<float> distances(std::span<const float> x, std::span<const float> other,
                             std::size_t n_embd) {
  std::vector<float> distance;
  for (std::size_t begin = 0; begin < x.size(); begin += n_embd) {
    double apart = 0.0, size = 0.0;
    for (std::size_t i = begin; i < begin + n_embd; ++i) {
      const double theirs = other[i], difference = x[i] - theirs;
      apart += difference * difference;
      size += theirs * theirs;
    }
    distance.push_back(static_cast<float>(std::sqrt(apart / size)));
  }
  return distance;
}

}  // namespace

PassChange read_change(ChangeKind kind, const std::string& place, const Config& config,
                       const std::string& name) {
  PassChange change = {.kind = kind, .place = place};
  if (kind == ChangeKind::skip_head) {
    read_head(change, config, name);
  } else if (kind == ChangeKind::identity_norm) {
    read_norm(change, config, name);
  } else {
    change.layer = read_index(place, config.n_layer, name);
  }
  return change;
}

InspectionRequest read_inspection_request(const json& body, const RequestContext& context) {
  InspectionRequest request;
  Members members(body);
  members.ignore({"model"});
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
  request.tokens = reader.read_json(members.need("prompt"), "prompt");
  request.top = members.count("top", 1, 100).value_or(request.top);
  request.with_attention = members.flag("attention").value_or(true);
  for (const ChangeKind kind : kChangeKinds) read_changes(request, members, kind, context.config);
  members.refuse_others();
  check_length(request.tokens.size(), "prompt", context.config);
  return request;
}

InspectionResult run_inspection(const Engine& engine, const InspectionRequest& request,
                                const std::function<void(double)>& progress) {
  const Config& config = engine.model().config();
  const auto inspect_once = [&](InspectionResult& result, bool is_changed, double done) {
    const double share = request.changes.empty() ? 1.0 : 0.5;
    InspectOptions options = {.top = request.top};
    options.observer = keeper(result, is_changed && request.with_attention, config);
    if (is_changed) add_changes(options.observer, request.changes, config);
    if (progress) options.progress = [&](double part) { progress(done + share * part); };
    result.found = inspect(engine, request.tokens, options);
  };
  InspectionResult result;
  inspect_once(result, true, 0.0);
  if (request.changes.empty()) return result;
  InspectionResult other;
  inspect_once(other, false, 0.5);
  for (std::size_t norm = 0; norm < result.inputs.size(); ++norm) {
    result.distance.push_back(distances(result.inputs[norm], other.inputs[norm], config.n_embd));
  }
  result.unchanged = std::move(other.found);
  return result;
}

}  // namespace gpt2
