#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "gpt2/config.h"
#include "gpt2/engine.h"
#include "gpt2/observer.h"

// Changes of a pass, which `gpt2 inspect` compares with the pass without them.

namespace gpt2::cli {

/// The values of --skip-layer, --skip-head, --skip-mlp, --identity-norm and --patch.
struct InterventionSettings {
  std::vector<std::string> skip_layer, skip_head, skip_mlp, identity_norm, patch;

  /// Returns the options as a shell takes them, such as "--skip-mlp 2".
  [[nodiscard]] std::vector<std::string> shown() const;
};

void add_intervention_options(Options& options, InterventionSettings& settings);

/// What the settings change in a pass.
class Interventions {
 public:
  /// `read` turns the text of a --patch into tokens, as many as `count`. Runs a pass over each of
  /// these texts. Throws UsageError, which names the option, for a place that the model does not
  /// have.
  Interventions(const InterventionSettings& settings, const Engine& engine, std::size_t count,
                const std::function<std::vector<TokenId>(const std::string&)>& read);

  /// Sets `change` and `changes` of an observer, which must not outlive this object.
  void add_to(Observer& observer) const;

 private:
  struct Change {
    Observed what;
    std::size_t layer;
    std::function<void(const Intervention&)> apply;
  };

  void zero(Observed what, std::size_t layer);
  void skip_head(const std::string& place, const Config& config);
  void identity_norm(const std::string& place, const Config& config);
  void patch(const std::string& value, const Engine& engine, std::size_t count,
             const std::function<std::vector<TokenId>(const std::string&)>& read);

  std::vector<Change> changes_;
};

}  // namespace gpt2::cli
