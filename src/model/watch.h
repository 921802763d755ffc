#pragma once

#include <exception>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/layer_norm.h"
#include "gpt2/observer.h"
#include "model/batch.h"
#include "model/linear.h"
#include "model/workspace.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// Passes intermediate results to an observer during one call of forward(). Also has the memory for
/// results that are computed only for the observer.
class Watch {
 public:
  /// Calls observer.wants to learn which results to pass on. If it throws, passes the exception on.
  /// Throws Error(invalid_argument) if observer.see is empty. The observer must outlive this
  /// object.
  Watch(const Observer& observer, const Config& config);

  [[nodiscard]] bool wants(Observed what, std::size_t layer) const noexcept {
    return wanted_[index(what, layer)];
  }

  /// Passes the rows of a batch to the observer, slice by slice, if it wants them.
  void show(Observed what, std::size_t layer, const Batch& batch, ConstMatrix rows) noexcept;

  /// The same for the mean, variance and rstd of each of these rows, which `norm` will normalize.
  void show_statistics(Observed what, std::size_t layer, const Batch& batch, ConstMatrix rows,
                       const LayerNorm& norm) noexcept;

  /// The same for the queries, the keys and the values in `qkv`, the output of Attention::c_attn.
  void show_queries_keys_values(std::size_t layer, const Batch& batch, ConstMatrix qkv) noexcept;

  /// The same for the attention weights of each head. `qkv` is the output of Attention::c_attn. The
  /// caches must already have the keys of the batch.
  void show_attention(std::size_t layer, const Batch& batch, ConstMatrix qkv, float scale,
                      Workspace& ws) noexcept;

  /// If the observer has thrown an exception, throws it again.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  [[nodiscard]] static std::size_t index(Observed what, std::size_t layer) noexcept {
    return layer * kObservedCount + static_cast<std::size_t>(what);
  }

  void show_slice(Observed what, std::size_t layer, std::size_t head, const Batch::Slice& slice,
                  ConstMatrix rows) noexcept;
  [[nodiscard]] ConstMatrix attention_weights(const Batch::Slice& slice, std::size_t layer,
                                              std::size_t head, ConstMatrix queries, float scale,
                                              Workspace& ws) noexcept;

  const Observer& observer_;
  std::size_t n_head_, head_dim_;
  std::vector<bool> wanted_;
  AlignedBuffer<float> weights_;                      // (kMaxRows, n_positions), or statistics
  AlignedBuffer<float> keys_, values_, transposed_;  // (n_positions, head_dim) of one head
  std::exception_ptr error_;
};

/// x += linear(branch). If an observer wants linear(branch), passes it to the observer. x:
/// (branch.rows, n_embd). Uses ws.normed.
inline void add_branch(Team& team, Matrix x, const Linear& linear, ConstMatrix branch,
                       const Batch& batch, Workspace& ws, Observed what,
                       std::size_t layer) noexcept {
  if (!batch.watch || !batch.watch->wants(what, layer)) {
    linear.forward(team, x, branch, ws, Linear::Output::accumulate);
    return;
  }
  const Matrix added = ws.normed.top(x.rows);
  linear.forward(team, added, branch, ws);
  batch.watch->show(what, layer, batch, added);
  for (std::size_t i = 0; i < x.rows; ++i) kernels().add(x.row(i), added.row(i), x.cols);
}

}  // namespace gpt2
