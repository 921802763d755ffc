#include <algorithm>

#include "base/fail.h"
#include "base/system/threads.h"
#include "gpt2/embed.h"
#include "model/block.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

// Computes the logits of at most kMaxRows states. Does not allocate: the batch has room for the
// addresses of so many rows.
void unembed_rows(Engine::Impl& engine, ConstMatrix states, float* logits,
                  const UnembedOptions& options) {
  const Transformer& transformer = *engine.model.transformer();
  Workspace& ws = engine.workspace;
  Team& team = engine.crew->team;
  if (states.rows > kFewRows) ws.expect_many_rows();
  const Matrix x = ws.x.top(states.rows);
  for (std::size_t i = 0; i < states.rows; ++i) {
    std::copy_n(states.row(i), states.cols, x.row(i));
    engine.batch.logits.push_back(logits + i * transformer.lm_head.n);
  }
  const Matrix normed = options.ln_f ? normalize(team, x, transformer.ln_f, ws) : x;
  project_rows(team, engine.batch.logits.data(), transformer.lm_head, normed, ws);
  engine.batch.clear();
}

}  // namespace

void unembed(const Engine& engine, std::span<const float> states, std::span<float> logits,
             const UnembedOptions& options) {
  Engine::Impl& own = engine.impl();
  const std::size_t n_embd = own.model.config().n_embd;
  const std::size_t vocab_size = own.model.config().vocab_size;
  const std::size_t count = states.size() / n_embd;
  if (states.size() % n_embd != 0) {
    reject("hidden states take a multiple of ", n_embd, " floats, got ", states.size());
  }
  if (logits.size() != count * vocab_size) {
    reject("the logits of ", count, " hidden states take ", count * vocab_size,
           " floats, got room for ", logits.size());
  }
  const auto lock = own.crew->lock();
  const DefaultFloatState state;
  own.crew->team.restart_after_fork();
  own.batch.clear();  // after fork(), it may have a batch of one of the parent's threads
  for (std::size_t begin = 0; begin < count; begin += kMaxRows) {
    const std::size_t rows = std::min(count - begin, kMaxRows);
    own.crew->team.resize(own.fewer_threads ? useful_threads(own.model, rows, own.threads)
                                            : own.threads);
    unembed_rows(own, {states.data() + begin * n_embd, rows, n_embd, n_embd},
                 logits.data() + begin * vocab_size, options);
  }
}

}  // namespace gpt2
