#include "cli/inspect/intervention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "cli/terminal/console.h"
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

// `what` is for the message: "--skip-mlp" or, if a value has several numbers, "the head of
// --skip-head".
std::size_t index_in(const std::string& what, const std::string& text, std::size_t count) {
  return Options::parse_number<std::size_t>(what, text, {0, static_cast<double>(count - 1)});
}

// Parses a value of --skip-head, "2.1", into the numbers of the block and the head.
std::pair<std::string, std::string> parse_head(const std::string& value) {
  const auto parts = split(value, '.');
  std::size_t number = 0;
  if (parts && read_number(parts->first, number) && read_number(parts->second, number)) {
    return *parts;
  }
  throw UsageError("--skip-head",
                   "expected N.H, which is head H of block N, such as 2.1 (for several heads, give "
                   "the option several times), found '" +
                       value + "'");
}

// A value of --patch. The numbers are not parsed, because only the model and the text say how large
// they may be.
struct Patch {
  std::string text;
  Observed what;
  std::optional<std::string> layer, token;
  bool is_input = false;  // of the block `layer`: what the block before it, if any, has as output
  bool is_scale = false;  // only rstd, the last of a LayerNorm's statistics: 1 / rstd is the scale
};

// Splits TransformerLens's name of a hook in a block, "blocks.3.hook_attn_out", into the name as
// observed_names() has it, "blocks.N.hook_attn_out", and the number of the block.
std::pair<std::string, std::optional<std::string>> split_hook(const std::string& hook) {
  const std::string begin = "blocks.";
  const std::size_t end = hook.find('.', begin.size());
  if (!hook.starts_with(begin) || end == std::string::npos) return {hook, std::nullopt};
  return {begin + 'N' + hook.substr(end), hook.substr(begin.size(), end - begin.size())};
}

// Sets all members of the patch that the place decides: "block_output.3:5", "embeddings:5" or, for
// all tokens, "block_output.3". The name may also be TransformerLens's: "blocks.3.hook_resid_post".
void parse_place(Patch& patch, const std::string& place) {
  std::string name = place;
  if (const auto at = split(name, ':')) std::tie(name, patch.token.emplace()) = *at;
  const bool is_hook = name.find("hook_") != std::string::npos;
  if (is_hook) {
    std::tie(name, patch.layer) = split_hook(name);
  } else if (const auto in = split(name, '.')) {
    std::tie(name, patch.layer.emplace()) = *in;
  }
  patch.is_scale = name.ends_with(".hook_scale");
  patch.is_input = name == "blocks.N.hook_resid_pre";
  if (patch.is_input) name = "blocks.N.hook_resid_post";
  const auto names = observed_names();
  const auto found = std::ranges::find(
      names, name, is_hook ? &ObservedName::transformer_lens : &ObservedName::name);
  const bool in_block = found != names.end() && found->is_in_block;
  if (found == names.end() || patch.layer.has_value() != in_block) {
    throw UsageError("--patch",
                     "expected a place such as block_output.0, mlp_output.2:5, embeddings or "
                     "blocks.0.hook_resid_post, found '" +
                         place + "'" + (in_block ? ", which lacks the number of a block" : ""));
  }
  patch.what = found->what;
}

// Parses TEXT@PLACE.
Patch parse_patch(const std::string& value) {
  Patch patch = {};
  const auto parts = split(value, '@');
  if (!parts) {
    throw UsageError(
        "--patch",
        "expected TEXT@PLACE, such as 'The dog sat@block_output.2', found '" + value + "'");
  }
  patch.text = parts->first;
  parse_place(patch, parts->second);
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
  if (patch.token) place.token = index_in("the token of --patch", *patch.token, tokens);
  if (patch.layer) place.layer = index_in("the block of --patch", *patch.layer, config.n_layer);
  if (!patch.layer && patch.what != Observed::embeddings) place.layer = config.n_layer;
  if (!patch.is_input) return place;
  if (place.layer == 0) {
    place.what = Observed::embeddings;
  } else {
    --place.layer;
  }
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
    for (const std::string& value : *values) list.push_back(option + shell_word(value));
  }
  return list;
}

void add_intervention_options(Options& options, InterventionSettings& settings) {
  options.begin_group("Changes, compared with the model");
  // `check` throws before the model is loaded and a text is waited for.
  const auto add = [&](const char* name, const char* form, std::vector<std::string>& values,
                       const char* help, void (*check)(const std::string&)) {
    const auto set = [&values, check](const std::string& value) {
      check(value);
      values.push_back(value);
    };
    options.add(name, form, help, set).is_repeatable = true;
  };
  const auto of_model = [](const std::string&) {};  // only the model has what to check
  add("--skip-layer", "N", settings.skip_layer,
      "Block N, from 0, adds nothing to the residual stream", of_model);
  add("--skip-mlp", "N", settings.skip_mlp, "The feed-forward layer of block N adds nothing",
      of_model);
  add("--skip-head", "N.H", settings.skip_head,
      "The output of head H of block N is 0: 2.1 is head 1 of block 2",
      [](const std::string& value) { static_cast<void>(parse_head(value)); });
  add("--identity-norm", "NORM", settings.identity_norm,
      "ln_1.N, ln_2.N or ln_f only multiplies by its weight and adds its bias",
      [](const std::string& value) { static_cast<void>(parse_norm(value)); });
  add("--patch", "TEXT@PLACE", settings.patch,
      "The values at PLACE are those of TEXT, which has as many tokens. A place is a name of the "
      "table in the manual with its block, block_output.2 or blocks.2.hook_resid_post; "
      "block_output.2:5 is token 5 alone",
      [](const std::string& value) { static_cast<void>(parse_patch(value)); });
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
  const auto [of_layer, of_head] = parse_head(place);
  const std::size_t layer = index_in("the block of --skip-head", of_layer, config.n_layer);
  const std::size_t head = index_in("the head of --skip-head", of_head, config.n_head);
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
      index ? index_in("the block of --identity-norm", *index, config.n_layer) : config.n_layer;
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
  const std::size_t first = patch.is_scale ? 2 : 0;  // of the values of a row
  changes_.push_back({place.what, place.layer,
                      [rows = rows_at(place, engine, tokens), token = place.token,
                       first](const Intervention& values) {
                        for (std::size_t i = 0; i < values.rows; ++i) {
                          const std::size_t at = values.first + i;
                          if (token && *token != at) continue;
                          const std::span<const float> row = (*rows)[values.head][at];
                          std::ranges::copy(row.subspan(first),
                                            values.row(i).subspan(first).begin());
                        }
                      }});
}

}  // namespace gpt2::cli
