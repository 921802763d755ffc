#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "c_api/guard.h"
#include "gpt2/engine.h"
#include "gpt2/sampler.h"
#include "gpt2/scheduler.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"

// What the runs of the C interface compute: each kind reads a request, and writes a result.

namespace gpt2::c_api {

/// A scheduler, which its handle and its runs keep alive.
struct SharedScheduler {
  Engine engine;
  std::string model_name;
  Scheduler scheduler;
  bool is_stepping = false;  ///< whether a step of a run is on the stack
};

/// What a run shares with what it has given to the scheduler, which may outlive it.
struct RunState {
  gpt2_callbacks callbacks;
  std::atomic<bool> is_cancelled = false;
  std::atomic<bool> is_freed = false;  ///< then no callback is called any more
  double share = 0.0;                  ///< of the work that is done; see gpt2_on_progress

  /// Calls on_progress. Returns whether the run goes on.
  bool goes_on();
};
using RunStatePointer = std::shared_ptr<RunState>;

/// What a run computes.
struct Work {
  std::function<bool()> step = {};         ///< computes one step; returns whether there is more
  std::function<Json()> json = {};         ///< the result; REQUIRES: all steps are done
  std::function<std::size_t()> size = {};  ///< about how many bytes its text has
};

/// What a run is made of.
struct RunArguments {
  std::shared_ptr<SharedScheduler> scheduler;
  std::optional<Tokenizer> tokenizer;
  JsonArgument& request;
  RunStatePointer state;
};

/// Returns the work of a kind, which gpt2_run_new lists. Throws Error for an unknown kind, and for
/// a request that is wrong.
[[nodiscard]] Work make_work(const std::string& kind, const RunArguments& arguments);

/// Returns the work of a text in a session, which must outlive it.
[[nodiscard]] Work make_work_in(Session& session, const std::optional<Tokenizer>& tokenizer,
                                JsonArgument& request, const RunStatePointer& state);

/// Returns the caller's function as one of the library.
[[nodiscard]] LogitsProcessor processor_of(gpt2_on_scores on_scores, void* user);

}  // namespace gpt2::c_api
