#include "gpt2/inspect.h"

#include <limits>
#include <set>
#include <utility>

#include "base/fail.h"
#include "base/system/threads.h"
#include "base/text.h"
#include "generate/writing/tokens.h"
#include "gpt2/session.h"
#include "inspect/pass_record.h"

namespace gpt2 {
namespace {

void check(const Config& config, std::span<const TokenId> tokens, const InspectOptions& options) {
  if (tokens.empty() || tokens.size() > config.n_positions) {
    reject("a text to inspect has from 1 to ", config.n_positions, " tokens, got ", tokens.size());
  }
  if (!options.targets.empty() && options.targets.size() != tokens.size()) {
    reject("expected a target for each of the ", tokens.size(), " tokens, got ",
           options.targets.size());
  }
  check_tokens(options.targets, config.vocab_size, "the targets");
}

// Runs the pass. The caller's observer sees what it wants, and `record` sees everything.
void run_pass(const Engine& engine, std::span<const TokenId> tokens, const Observer& callers,
              PassRecord& record) {
  Session session(engine, {.max_tokens = tokens.size()});
  Observer observer = callers;
  std::set<std::pair<Observed, std::size_t>> wanted;
  observer.wants = [&](Observed what, std::size_t layer) {
    if (callers.see && (!callers.wants || callers.wants(what, layer))) wanted.emplace(what, layer);
    return true;
  };
  observer.see = [&](const Observation& seen) {
    record.see(seen);
    if (wanted.contains({seen.what, seen.layer})) callers.see(seen);
  };
  const Slice slice = {&session, tokens, {}};
  forward({&slice, 1}, observer);
}

}  // namespace

double loss_of(const Inspection& found) {
  if (found.scores.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (std::size_t t = 1; t < found.scores.size(); ++t) sum -= found.scores[t].logprob;
  return sum / static_cast<double>(found.scores.size() - 1);
}

std::string norm_name(std::size_t norm, std::size_t n_layer) {
  if (norm == NormIndex::ln_f(n_layer)) return "ln_f";
  return concat("h.", norm / 2, norm % 2 == 0 ? ".ln_1" : ".ln_2");
}

Inspection inspect(const Engine& engine, std::span<const TokenId> tokens,
                   const InspectOptions& options) {
  const Config& config = engine.model().config();
  check(config, tokens, options);
  PassRecord pass(config, tokens, options.top);
  run_pass(engine, tokens, options.observer, pass);

  const DefaultFloatState state;
  Inspection found;
  found.contributions.resize(tokens.size());
  pass.move_to(found);
  inspect_predictions(found, engine, pass, tokens, options);
  inspect_contributions(found, engine, pass, tokens);
  return found;
}

}  // namespace gpt2
