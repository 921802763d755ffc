#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/engine.h"
#include "gpt2/inspect.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// Describes where heads look, from their attention weights.
class HeadWatcher {
 public:
  HeadWatcher(std::span<const TokenId> tokens, std::size_t n_layer, std::size_t n_head);

  /// Takes the attention weights of one head for some queries. Each query must be taken once.
  void see(const Observation& weights);

  /// Returns the descriptions by [layer][head]. REQUIRES: every query of every head was taken.
  [[nodiscard]] std::vector<std::vector<HeadInspection>> take();

 private:
  struct Mean {
    double sum = 0.0;
    std::size_t count = 0;

    void add(double value) {
      sum += value;
      ++count;
    }
    [[nodiscard]] std::optional<float> value() const;
  };
  struct Scores {
    Mean previous_token, first_token, duplicate_token, induction;
  };

  std::vector<std::vector<std::size_t>> earlier_;  // for each token: the same token before it
  std::vector<std::vector<HeadInspection>> heads_;
  std::vector<std::vector<Scores>> scores_;
};

/// What is kept of one pass over a text: the vectors that later computations need, and the
/// descriptions that can be made while the pass runs.
class PassRecord {
 public:
  PassRecord(const Config& config, std::span<const TokenId> tokens, std::size_t top);

  /// Takes what an observer sees. Everything must be seen once.
  void see(const Observation& seen);

  /// Moves the descriptions into `found`. REQUIRES: the pass is over.
  void move_to(Inspection& found);

  /// The vectors of n_embd floats, one for each token: the input of a LayerNorm (NormIndex); what
  /// half `half` of a block adds; the outputs of all heads; and the output of ln_f.
  [[nodiscard]] ConstMatrix input(std::size_t norm) const { return rows(inputs_, norm); }
  [[nodiscard]] ConstMatrix added(std::size_t layer, std::size_t half) const {
    return rows(added_, 2 * layer + half);
  }
  [[nodiscard]] ConstMatrix head_outputs(std::size_t layer) const { return rows(heads_, layer); }
  [[nodiscard]] ConstMatrix output() const { return rows(output_, 0); }

 private:
  [[nodiscard]] ConstMatrix rows(const std::vector<float>& all, std::size_t i) const {
    return {all.data() + i * tokens_ * n_embd_, tokens_, n_embd_, n_embd_};
  }

  void store(std::vector<float>& all, std::size_t i, const Observation& seen);
  void see_statistics(std::size_t norm, const Observation& seen);
  void see_output(std::size_t norm, const Observation& seen);
  void see_activations(const Observation& seen);

  std::size_t tokens_, n_embd_, top_;
  double epsilon_;
  std::vector<float> inputs_, added_, heads_, output_;
  std::vector<std::vector<NormInspection>> norms_;
  std::vector<std::vector<UpdateInspection>> updates_;
  std::vector<std::vector<MlpInspection>> mlps_;
  HeadWatcher watcher_;
};

/// Fills in found.lens, found.scores and, for each token, the target of found.contributions and its
/// logit. These are the results that need the logits, which are computed for some tokens at a time.
/// Calls options.progress.
void inspect_predictions(Inspection& found, const Engine& engine, const PassRecord& pass,
                         std::span<const TokenId> tokens, const InspectOptions& options);

/// Takes the logits in found.contributions apart. REQUIRES: their targets and found.norms are set.
void inspect_contributions(Inspection& found, const Engine& engine, const PassRecord& pass,
                           std::span<const TokenId> tokens);

}  // namespace gpt2
