#include "model/attention.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace gpt2 {
namespace {

// Queries per task. Later ones see more keys, so that the tasks of a long prompt differ in cost;
// there are enough of them to even that out.
constexpr std::size_t kQueryRows = 48;

}  // namespace

void Attention::forward(Team& team, Matrix x, ConstMatrix normed, const Batch& batch,
                        Workspace& ws) const noexcept {
  const std::size_t n_embd = normed.cols;
  const std::size_t head_dim = n_embd / n_head;
  const Matrix qkv = ws.qkv.top(normed.rows);
  const Matrix attended = ws.attended.top(normed.rows);

  c_attn.forward(team, qkv, normed, ws);

  const auto store = [&](const Batch::Slice& slice, std::size_t head) {
    const float* const row = qkv.row(slice.row) + head * head_dim;
    slice.cache->store(layer, head, slice.first, {row + n_embd, slice.rows, head_dim, qkv.stride},
                       {row + 2 * n_embd, slice.rows, head_dim, qkv.stride});
  };
  std::size_t longest = 0;
  for (const Batch::Slice& slice : batch.slices) longest = std::max(longest, slice.rows);
  const std::size_t parts = (longest + kQueryRows - 1) / kQueryRows;
  const std::size_t heads = batch.slices.size() * n_head;
  // Several parts read what one of them would have to store first.
  if (parts > 1) {
    team.for_each(heads, [&](std::size_t i) { store(batch.slices[i / n_head], i % n_head); });
  }

  const auto attention = kernels().attention;
  team.for_each(parts * heads, [&](std::size_t task) {
    const std::size_t head = task % n_head;
    const Batch::Slice& slice = batch.slices[task % heads / n_head];
    const std::size_t begin = task / heads * kQueryRows;
    if (begin >= slice.rows) return;
    if (parts == 1) store(slice, head);
    const std::size_t row = slice.row + begin;
    attention(HeadAttention{.y = attended.row(row) + head * head_dim,
                            .y_stride = attended.stride,
                            .q = qkv.row(row) + head * head_dim,
                            .q_stride = qkv.stride,
                            .keys = slice.cache->keys(layer, head),
                            .values = slice.cache->values(layer, head),
                            .rows = std::min(kQueryRows, slice.rows - begin),
                            .first = slice.first + begin,
                            .head_dim = head_dim,
                            .scale = scale},
              ws.scratch(team.rank()));
  });

  c_proj.forward(team, x, attended, ws, Linear::Output::accumulate);
}

}  // namespace gpt2
