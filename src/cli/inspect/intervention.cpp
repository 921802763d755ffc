#include "cli/inspect/intervention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "gpt2/observed_names.h"
#include "gpt2/session.h"

namespace gpt2::cli {
namespace {

// Returns the part of a text before the last `mark`, and the part after it, or nothing if there is
// no mark.
std::optional<std::pair<std::string, std::string>> split(const std::string& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::size_t index_in(const std::string& option, const std::string& text, std::size_t count) {
  return Options::parse_number<std::size_t>(option, text, {0, static_cast<double>(count - 1)});
}

// A value of --patch. The numbers are not parsed, because only the model and the text say how large
// they may be.
struct Patch {
  std::string text;
  Observed what;
  std::optional<std::string> layer, token;
};

// Parses "TEXT@block_output.3:5", "TEXT@embeddings:5" or, for all tokens, "TEXT@block_output.3".
Patch parse_patch(const std::string& value) {
  Patch patch = {};
  const auto parts = split(value, '@');
  if (!parts) throw UsageError("--patch", "expected TEXT@PLACE, found '" + value + "'");
  patch.text = parts->first;
  std::string name = parts->second;
  if (const auto at = split(name, ':')) std::tie(name, patch.token.emplace()) = *at;
  if (const auto in = split(name, '.')) std::tie(name, patch.layer.emplace()) = *in;
  const auto names = observed_names();
  const auto found = std::ranges::find(names, name, &ObservedName::name);
  const bool in_block = found != names.end() && found->is_in_block;
  if (found == names.end() || patch.layer.has_value() != in_block) {
    throw UsageError("--patch",
                     "expected a place such as block_output.0, mlp_output.2:5 or "
                     "embeddings, found '" +
                         parts->second + "'");
  }
  patch.what = found->what;
  return patch;
}

// Parses a value of --identity-norm into the statistics of the LayerNorm and the number of its
// block, if it is in one. Takes "ln_2.3" and "h.3.ln_2", the name of the LayerNorm's weights.
std::pair<Observed, std::optional<std::string>> parse_norm(const std::string& value) {
  auto parts = split(value, '.');
  if (parts && parts->first.starts_with("h.")) *parts = {parts->second, parts->first.substr(2)};
  if (parts && parts->first == "ln_1") return {Observed::ln_1_statistics, parts->second};
  if (parts && parts->first == "ln_2") return {Observed::ln_2_statistics, parts->second};
  if (value == "ln_f") return {Observed::ln_f_statistics, std::nullopt};
  throw UsageError("--identity-norm", "expected ln_1.N, ln_2.N or ln_f, found '" + value + "'");
}

// A place of a pass: what, in which layer, and at which token or at all of them.
struct Place {
  Observed what;
  std::size_t layer = 0;
  std::optional<std::size_t> token = {};
};

Place place_of(const Patch& patch, const Config& config, std::size_t tokens) {
  Place place = {.what = patch.what};
  if (patch.token) place.token = index_in("--patch", *patch.token, tokens);
  if (patch.layer) place.layer = index_in("--patch", *patch.layer, config.n_layer);
  if (!patch.layer && patch.what != Observed::embeddings) place.layer = config.n_layer;
  return place;
}

// The rows that a pass over some tokens computes at a place, by [head][token]. Only attention
// weights have more than one head.
using Rows = std::vector<std::vector<std::vector<float>>>;

std::shared_ptr<const Rows> rows_at(const Place& place, const Engine& engine,
                                    std::span<const TokenId> tokens) {
  const auto rows = std::make_shared<Rows>(engine.model().config().n_head);
  Session session(engine, {.max_tokens = tokens.size()});
  const Slice slice = {&session, tokens, {}};
  const auto see = [&](const Observation& seen) {
    for (std::size_t i = 0; i < seen.rows; ++i) {
      (*rows)[seen.head].emplace_back(seen.row(i).begin(), seen.row(i).end());
    }
  };
  const auto wants = [&](Observed what, std::size_t layer) {
    return what == place.what && layer == place.layer;
  };
  forward({&slice, 1}, {.see = see, .wants = wants});
  return rows;
}

}  // namespace

std::vector<std::string> InterventionSettings::shown() const {
  std::vector<std::string> list;
  for (const auto& [option, values] : {std::pair("--skip-layer ", &skip_layer),
                                       {"--skip-head ", &skip_head},
                                       {"--skip-mlp ", &skip_mlp},
                                       {"--identity-norm ", &identity_norm},
                                       {"--patch ", &patch}}) {
    for (const std::string& value : *values) list.push_back(option + value);
  }
  return list;
}

void add_intervention_options(Options& options, InterventionSettings& settings) {
  options.begin_group("Changes, compared with the model");
  const auto add = [&](const char* name, const char* form, std::vector<std::string>& values,
                       const char* help) {
    const bool is_patch = &values == &settings.patch;
    const bool is_norm = &values == &settings.identity_norm;
    const auto set = [&values, is_patch, is_norm](const std::string& value) {
      // They throw before the model is loaded and a text is waited for.
      if (is_patch) static_cast<void>(parse_patch(value));
      if (is_norm) static_cast<void>(parse_norm(value));
      values.push_back(value);
    };
    options.add(name, form, help, set).is_repeatable = true;
  };
  add("--skip-layer", "N", settings.skip_layer, "Block N adds nothing to the residual stream");
  add("--skip-mlp", "N", settings.skip_mlp, "The feed-forward layer of block N adds nothing");
  add("--skip-head", "N.H", settings.skip_head, "The output of head H of block N is 0");
  add("--identity-norm", "NORM", settings.identity_norm,
      "ln_1.N, ln_2.N or ln_f only multiplies by its weight and adds its bias");
  add("--patch", "TEXT@PLACE", settings.patch,
      "The values at PLACE are those of TEXT, which has as many tokens. A place is a name of the "
      "table in the manual: block_output.2, or block_output.2:5 at token 5 alone");
}

Interventions::Interventions(const InterventionSettings& settings, const Engine& engine,
                             std::size_t count,
                             const std::function<std::vector<TokenId>(const std::string&)>& read) {
  const Config& config = engine.model().config();
  for (const std::string& layer : settings.skip_layer) {
    const std::size_t index = index_in("--skip-layer", layer, config.n_layer);
    for (const Observed what :
         {Observed::head_outputs, Observed::attn_output, Observed::mlp_output}) {
      zero(what, index);
    }
  }
  for (const std::string& layer : settings.skip_mlp) {
    zero(Observed::mlp_output, index_in("--skip-mlp", layer, config.n_layer));
  }
  for (const std::string& place : settings.skip_head) skip_head(place, config);
  for (const std::string& place : settings.identity_norm) identity_norm(place, config);
  for (const std::string& value : settings.patch) patch(value, engine, count, read);
}

void Interventions::add_to(Observer& observer) const {
  if (changes_.empty()) return;
  observer.change = [this](const Intervention& values) {
    for (const Change& change : changes_) {
      if (change.what == values.what && change.layer == values.layer) change.apply(values);
    }
  };
  observer.changes = [this](Observed what, std::size_t layer) {
    return std::ranges::any_of(changes_, [&](const Change& change) {
      return change.what == what && change.layer == layer;
    });
  };
}

void Interventions::zero(Observed what, std::size_t layer) {
  changes_.push_back({what, layer, [](const Intervention& values) {
                        for (std::size_t i = 0; i < values.rows; ++i) {
                          std::ranges::fill(values.row(i), 0.0f);
                        }
                      }});
}

void Interventions::skip_head(const std::string& place, const Config& config) {
  const auto parts = split(place, '.');
  if (!parts) throw UsageError("--skip-head", "expected N.H, such as 0.3, found '" + place + "'");
  const std::size_t layer = index_in("--skip-head", parts->first, config.n_layer);
  const std::size_t head = index_in("--skip-head", parts->second, config.n_head);
  const std::size_t size = config.head_dim();
  changes_.push_back({Observed::head_outputs, layer, [head, size](const Intervention& values) {
                        for (std::size_t i = 0; i < values.rows; ++i) {
                          std::ranges::fill(values.row(i).subspan(head * size, size), 0.0f);
                        }
                      }});
}

void Interventions::identity_norm(const std::string& place, const Config& config) {
  const auto [what, index] = parse_norm(place);
  const std::size_t layer =
      index ? index_in("--identity-norm", *index, config.n_layer) : config.n_layer;
  changes_.push_back({what, layer, [](const Intervention& statistics) {
                        for (std::size_t i = 0; i < statistics.rows; ++i) {
                          statistics.row(i)[0] = 0.0f;  // mean
                          statistics.row(i)[2] = 1.0f;  // rstd
                        }
                      }});
}

void Interventions::patch(const std::string& value, const Engine& engine, std::size_t count,
                          const std::function<std::vector<TokenId>(const std::string&)>& read) {
  const Patch patch = parse_patch(value);
  const Place place = place_of(patch, engine.model().config(), count);
  const std::vector<TokenId> tokens = read(patch.text);
  if (tokens.size() != count) {
    throw UsageError("--patch", concat("expected a text with as many tokens as the other, ", count,
                                       ", found ", tokens.size()));
  }
  changes_.push_back(
      {place.what, place.layer,
       [rows = rows_at(place, engine, tokens), token = place.token](const Intervention& values) {
         for (std::size_t i = 0; i < values.rows; ++i) {
           const std::size_t at = values.first + i;
           if (token && *token != at) continue;
           std::ranges::copy((*rows)[values.head][at], values.row(i).begin());
         }
       }});
}

}  // namespace gpt2::cli
