#include "model/watch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/fail.h"
#include "gpt2/observer.h"
#include "kernels/kernels.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

constexpr std::array kNames = [] {
  using enum Observed;
  return std::array{
      ObservedName{embeddings, "embeddings", "blocks.0.hook_resid_pre", false},
      ObservedName{ln_1_statistics, "ln_1_statistics", "blocks.N.ln1.hook_scale", true},
      ObservedName{attention_weights, "attention_weights", "blocks.N.attn.hook_pattern", true},
      ObservedName{head_outputs, "head_outputs", "blocks.N.attn.hook_z", true},
      ObservedName{attn_output, "attn_output", "blocks.N.hook_attn_out", true},
      ObservedName{ln_2_statistics, "ln_2_statistics", "blocks.N.ln2.hook_scale", true},
      ObservedName{mlp_output, "mlp_output", "blocks.N.hook_mlp_out", true},
      ObservedName{block_output, "block_output", "blocks.N.hook_resid_post", true},
      ObservedName{ln_f_statistics, "ln_f_statistics", "ln_final.hook_scale", false},
      ObservedName{ln_f_output, "ln_f_output", "ln_final.hook_out", false},
      ObservedName{ln_1_output, "ln_1_output", "blocks.N.ln1.hook_out", true},
      ObservedName{queries, "queries", "blocks.N.attn.hook_q", true},
      ObservedName{keys, "keys", "blocks.N.attn.hook_k", true},
      ObservedName{values, "values", "blocks.N.attn.hook_v", true},
      ObservedName{ln_2_output, "ln_2_output", "blocks.N.ln2.hook_out", true},
      ObservedName{mlp_activations, "mlp_activations", "blocks.N.mlp.hook_post", true},
      ObservedName{block_middle, "block_middle", "blocks.N.hook_resid_mid", true},
      ObservedName{mlp_preactivations, "mlp_preactivations", "blocks.N.mlp.hook_pre", true}};
}();

// Every enumerator has its row, in order.
static_assert(kNames.size() == kObservedCount);
static_assert([] {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (static_cast<std::size_t>(kNames[i].what) != i) return false;
  }
  return true;
}());

constexpr std::size_t kStatistics = 3;

// Compares the bits of two arrays, so that a NaN that was not changed is equal to itself.
bool same_bits(const float* a, const float* b, std::size_t n) noexcept {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

// Compares two rows of statistics without the variance.
bool same_mean_and_rstd(const float* a, const float* b) noexcept {
  return same_bits(a, b, 1) && same_bits(a + 2, b + 2, 1);
}

// y = norm(x) for one row, with the given statistics instead of those of x.
void normalize_with(const float* statistics, float* y, const float* x, std::size_t n,
                    const LayerNorm& norm) noexcept {
  const float mean = statistics[0], rstd = statistics[2];
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = (x[i] - mean) * rstd;
    if (norm.weight.size() > 0) y[i] *= norm.weight.data()[i];
    if (norm.bias.size() > 0) y[i] += norm.bias.data()[i];
  }
}

}  // namespace

std::span<const ObservedName> observed_names() { return kNames; }

LayerNormStatistics statistics_of(std::span<const float> x, double epsilon) noexcept {
  const auto count = static_cast<double>(x.size());
  double mean = 0.0;
  for (const float value : x) mean += value;
  mean /= count;
  double variance = 0.0;
  for (const float value : x) variance += (value - mean) * (value - mean);
  variance /= count;
  return {static_cast<float>(mean), static_cast<float>(variance),
          static_cast<float>(1.0 / std::sqrt(variance + epsilon))};
}

void Pass::show(Observed what, Matrix rows) const noexcept {
  if (watch) watch->show(*this, what, rows);
}

Watch::Watch(const Observer& observer, const Config& config)
    : observer_(observer),
      n_head_(config.n_head),
      head_dim_(config.head_dim()),
      shown_((config.n_layer + 1) * kObservedCount),
      changed_(shown_.size()),
      weights_(kMaxRows * round_up(std::max(config.n_positions, kStatistics), kPanel)),
      computed_(observer.change ? weights_.size() : 0),
      keys_(config.n_positions * head_dim_),
      values_(config.n_positions * head_dim_),
      transposed_(config.n_positions * head_dim_) {
  using enum Observed;
  if (!observer.see && !observer.change) {
    reject("an Observer needs a function `see` or `change`");
  }
  const auto ask = [&](Observed what, std::size_t layer) {
    const std::size_t i = index(what, layer);
    shown_[i] = observer.see && (!observer.wants || observer.wants(what, layer));
    changed_[i] = observer.change && (!observer.changes || observer.changes(what, layer));
  };
  for (std::size_t layer = 0; layer <= config.n_layer; ++layer) {
    for (const ObservedName& name : kNames) {
      const std::size_t only = name.what == embeddings ? 0 : config.n_layer;
      if (name.is_in_block ? layer < config.n_layer : layer == only) ask(name.what, layer);
    }
  }
}

void Watch::show_slice(Observed what, std::size_t layer, std::size_t head,
                       const Batch::Slice& slice, Matrix rows) noexcept {
  if (error_) return;
  const Intervention values = {.what = what,
                               .layer = layer,
                               .head = head,
                               .slice = slice.index,
                               .first = slice.first,
                               .rows = rows.rows,
                               .cols = rows.cols,
                               .stride = rows.stride,
                               .data = rows.data};
  try {
    if (changed_[index(what, layer)]) observer_.change(values);
    if (shown_[index(what, layer)]) observer_.see(values);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Watch::show(const Pass& pass, Observed what, Matrix rows) noexcept {
  if (!wants(what, pass.layer)) return;
  for (const Batch::Slice& slice : pass.batch.slices) {
    show_slice(what, pass.layer, 0, slice,
               {rows.row(slice.row), slice.rows, rows.cols, rows.stride});
  }
}

void Watch::show_norm(const Norm& norm, const Rows& x, Matrix y) noexcept {
  const Pass& pass = x.pass;
  if (wants(norm.statistics, pass.layer)) {
    const Matrix statistics = {weights_.data(), x.rows, kStatistics, kStatistics};
    for (std::size_t i = 0; i < x.rows; ++i) {
      const LayerNormStatistics of_row = statistics_of({x.row(i), x.cols}, norm.eps());
      const float numbers[kStatistics] = {of_row.mean, of_row.variance, of_row.rstd};
      std::ranges::copy(numbers, statistics.row(i));
    }
    const bool may_change = changed_[index(norm.statistics, pass.layer)];
    if (may_change) keep(statistics);
    show(pass, norm.statistics, statistics);
    for (std::size_t i = 0; may_change && i < x.rows; ++i) {
      const float* const row = statistics.row(i);
      if (!same_mean_and_rstd(row, computed_.data() + i * kStatistics)) {
        normalize_with(row, y.row(i), x.row(i), x.cols, norm);
      }
    }
  }
  show(pass, norm.output, y);
}

void Watch::show_queries_keys_values(const Pass& pass, Matrix qkv) noexcept {
  const std::size_t n_embd = n_head_ * head_dim_;
  std::size_t begin = 0;
  for (const Observed what : {Observed::queries, Observed::keys, Observed::values}) {
    show(pass, what, {qkv.data + begin, qkv.rows, n_embd, qkv.stride});
    begin += n_embd;
  }
}

void Watch::show_attention(const Pass& pass, ConstMatrix qkv, float scale,
                           Matrix attended) noexcept {
  constexpr Observed kWeights = Observed::attention_weights;
  const std::size_t layer = pass.layer;
  if (!wants(kWeights, layer)) return;
  const bool may_change = changed_[index(kWeights, layer)];
  for (const Batch::Slice& slice : pass.batch.slices) {
    for (std::size_t head = 0; head < n_head_; ++head) {
      const std::size_t begin = head * head_dim_;
      const ConstMatrix queries = {qkv.row(slice.row) + begin, slice.rows, head_dim_, qkv.stride};
      const Matrix weights = attention_weights(slice, layer, head, queries, scale, pass.ws);
      if (may_change) keep(weights);
      show_slice(kWeights, layer, head, slice, weights);
      if (!may_change) continue;
      mix_values({attended.row(slice.row) + begin, slice.rows, head_dim_, attended.stride}, weights,
                 slice.first);
    }
  }
}

void Watch::keep(ConstMatrix rows) const noexcept {
  std::copy_n(rows.data, rows.rows * rows.stride, computed_.data());
}

// Rows whose weights have not changed keep the output of the attention kernel, which differs in the
// last bits: the kernel divides by the sum of the exponentials last.
void Watch::mix_values(Matrix outputs, ConstMatrix weights, std::size_t first) const noexcept {
  for (std::size_t i = 0; i < weights.rows; ++i) {
    const float* const row = weights.row(i);
    const std::size_t count = first + i + 1;  // the keys that this query sees
    if (same_bits(row, computed_.data() + i * weights.stride, count)) continue;
    for (std::size_t d = 0; d < head_dim_; ++d) {
      double sum = 0.0;
      for (std::size_t key = 0; key < count; ++key) {
        sum += static_cast<double>(row[key]) * values_.data()[key * head_dim_ + d];
      }
      outputs.row(i)[d] = static_cast<float>(sum);
    }
  }
}

// The arithmetic is the same as in the attention kernel (kernels.h). The kernel itself never has
// the weights, because it divides by the sum of the exponentials only after it has added up the
// values.
Matrix Watch::attention_weights(const Batch::Slice& slice, std::size_t layer, std::size_t head,
                                ConstMatrix queries, float scale, Workspace& ws) noexcept {
  const Kernels& k = kernels();
  const std::size_t seen = slice.first + slice.rows;
  const Matrix keys = {keys_.data(), seen, head_dim_, head_dim_};
  slice.cache->read(layer, head, keys, {values_.data(), seen, head_dim_, head_dim_});
  for (std::size_t key = 0; key < seen; ++key) {
    for (std::size_t i = 0; i < head_dim_; ++i) {
      transposed_.data()[i * seen + key] = keys.row(key)[i];
    }
  }
  const Matrix weights = {weights_.data(), slice.rows, seen, round_up(seen, kPanel)};
  const Matmul scores = {.y = weights.data,
                         .y_stride = weights.stride,
                         .x = queries.data,
                         .x_stride = queries.stride,
                         .w = transposed_.data(),
                         .m = slice.rows,
                         .k = head_dim_,
                         .n = seen};
  (*k.matmul_kn_f32)(scores, 0, seen, ws.scratch(0));
  for (std::size_t i = 0; i < slice.rows; ++i) {
    float* const row = weights.row(i);
    const std::size_t count = slice.first + i + 1;  // the keys that this query sees
    for (std::size_t key = 0; key < count; ++key) row[key] *= scale;
    const float total = k.exp_sum(row, row, row[k.argmax(row, count)], count);
    for (std::size_t key = 0; key < count; ++key) row[key] /= total;
    std::fill(row + count, row + seen, 0.0f);
  }
  return weights;
}

void forward(std::span<const Slice> slices, const Observer& observer) {
  if (slices.empty()) return;
  const Engine engine = session_of(slices.front()).engine;
  Watch watch(observer, engine.model().config());
  engine.impl().forward(slices, engine.model(), std::nullopt, &watch);
  watch.rethrow();
}

}  // namespace gpt2
