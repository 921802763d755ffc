#include "gpt2/inspect.h"

#include <set>
#include <utility>

#include "base/fail.h"
#include "base/system/threads.h"
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
