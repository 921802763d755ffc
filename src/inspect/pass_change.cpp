#include "gpt2/pass_change.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2 {
namespace {

using ChangeKind = PassChange::Kind;

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

void add_changes(Observer& observer, std::vector<PassChange> changes, const Config& config) {
  if (changes.empty()) return;
  observer.changes = [changes, n_layer = config.n_layer](Observed what, std::size_t layer) {
    return std::ranges::any_of(
        changes, [&](const PassChange& change) { return is_at(change, what, layer, n_layer); });
  };
  observer.change = [changes = std::move(changes), n_layer = config.n_layer,
                     head_dim = config.head_dim()](const Intervention& values) {
    for (const PassChange& change : changes) {
      if (is_at(change, values.what, values.layer, n_layer)) apply(change, values, head_dim);
    }
  };
}

}  // namespace gpt2
