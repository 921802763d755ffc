#pragma once

#include <exception>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/observer.h"
#include "model/block.h"

namespace gpt2 {

/// The statistics that an observer sees of the input of a LayerNorm (gpt2/observer.h).
struct LayerNormStatistics {
  float mean, variance, rstd;
};

/// Computes them in double. REQUIRES: x is not empty.
[[nodiscard]] LayerNormStatistics statistics_of(std::span<const float> x, double epsilon) noexcept;

/// Passes intermediate results to an observer, which may change them, during one call of forward().
/// Also has the memory for results that are computed only for the observer.
class Watch {
 public:
  /// Calls observer.wants and observer.changes to learn which results to pass on. If they throw,
  /// passes the exception on. Throws Error(invalid_argument) if the observer has neither `see` nor
  /// `change`. The observer must outlive this object.
  Watch(const Observer& observer, const Config& config);

  /// Returns whether the observer wants to see or to change this.
  [[nodiscard]] bool wants(Observed what, std::size_t layer) const noexcept {
    return shown_[index(what, layer)] || changed_[index(what, layer)];
  }

  [[nodiscard]] bool may_change() const noexcept { return observer_.change != nullptr; }

  /// Lets the observer change the rows of a batch and then see them, slice by slice, if it wants
  /// to.
  void show(const Pass& pass, Observed what, Matrix rows) noexcept;

  /// The same for the mean, variance and rstd of each row of x, and then for the rows of y, which
  /// is norm(x). Computes those rows of y again whose statistics the observer has changed.
  void show_norm(const Norm& norm, const Rows& x, Matrix y) noexcept;

  /// The same for the queries, the keys and the values in `qkv`, the output of Attention::c_attn.
  void show_queries_keys_values(const Pass& pass, Matrix qkv) noexcept;

  /// The same for the attention weights of each head. Computes those outputs of heads in `attended`
  /// again whose weights the observer has changed. `qkv` is the output of Attention::c_attn. The
  /// caches must already have the keys and values of the batch.
  void show_attention(const Pass& pass, ConstMatrix qkv, float scale, Matrix attended) noexcept;

  /// Throws the exception that the observer has thrown, if any.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  [[nodiscard]] static std::size_t index(Observed what, std::size_t layer) noexcept {
    return layer * kObservedCount + static_cast<std::size_t>(what);
  }

  void show_slice(Observed what, std::size_t layer, std::size_t head, const Batch::Slice& slice,
                  Matrix rows) noexcept;
  [[nodiscard]] Matrix attention_weights(const Batch::Slice& slice, std::size_t layer,
                                         std::size_t head, ConstMatrix queries, float scale,
                                         Workspace& ws) noexcept;

  /// Keeps a copy of rows in weights_ that the observer may change.
  void keep(ConstMatrix rows) const noexcept;

  /// Computes those rows of one head's outputs again whose weights differ from those that keep()
  /// has copied. `first` is the position of row 0. REQUIRES: values_ has the head's values.
  void mix_values(Matrix outputs, ConstMatrix weights, std::size_t first) const noexcept;

  const Observer& observer_;
  std::size_t n_head_, head_dim_;
  std::vector<bool> shown_, changed_;
  AlignedBuffer<float> weights_;                     // (kMaxRows, n_positions), or statistics
  AlignedBuffer<float> computed_;                    // the copy of keep()
  AlignedBuffer<float> keys_, values_, transposed_;  // (n_positions, head_dim) of one head
  std::exception_ptr error_;
};

}  // namespace gpt2
