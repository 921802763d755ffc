#include "model/attention.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"

namespace gpt2 {
namespace {

// Queries per task. Later queries see more keys, so that the tasks of a long prompt differ in cost.
// They are small enough that the threads finish at about the same time all the same.
constexpr std::size_t kQueryRows = 48;

// Attention of one query for each head, where there are fewer heads than threads: the threads share
// out chunks of keys. The arithmetic is that of the attention kernel (kernels.h): products of one
// row with panels of keys, softmax, and products with the values, chunk by chunk.
template <class HeadOf>
void attend_by_chunks(Team& team, std::size_t heads, std::size_t most_keys, const HeadOf& head_of,
                      Workspace& ws) {
  const Kernels& k = kernels();
  struct Head : HeadAttention {
    std::size_t seen;  // the number of keys that the query sees
    float* scores;     // (seen); later their exponentials
    float* total;      // the sum of the exponentials
    float* sums;       // chunk sums of the values
    Matmul mix;        // y = exponentials times values
  };
  const auto head_at = [&](std::size_t i) {
    const HeadAttention a = head_of(i);
    float* const scores = ws.head_scores(i);
    float* const total = scores + round_up(most_keys, kPanel);
    const Matmul mix{
        .y = a.y, .x = scores, .w = a.values, .m = 1, .k = a.first + 1, .n = a.head_dim};
    return Head{a, a.first + 1, scores, total, total + kLanes, mix};
  };
  const auto for_chunks = [&](const auto& f) {
    team.for_each(heads * ceil_div(most_keys, kChunk), [&](std::size_t task, int rank) {
      const Head head = head_at(task % heads);
      const std::size_t chunk = task / heads;
      if (chunk * kChunk < head.seen) f(head, chunk, rank);
    });
  };

  for_chunks([&](const Head& head, std::size_t chunk, int rank) {
    const std::size_t end = std::min(head.seen, (chunk + 1) * kChunk);
    for (std::size_t key = chunk * kChunk; key < end; key += kPanel) {
      const Matmul scores{.y = head.scores + key,
                          .x = head.q,
                          .w = head.keys + key * head.head_dim,
                          .m = 1,
                          .k = head.head_dim,
                          .n = kPanel};
      k.matmul_kn_f32(scores, 0, kPanel, ws.scratch(rank));
    }
  });
  team.for_each(heads, [&](std::size_t i, int) {
    const Head head = head_at(i);
    for (std::size_t key = 0; key < head.seen; ++key) head.scores[key] *= head.scale;
    const float largest = head.scores[k.argmax(head.scores, head.seen)];
    *head.total = k.exp_sum(head.scores, head.scores, largest, head.seen);
  });
  for_chunks([&](const Head& head, std::size_t chunk, int) {
    const std::size_t sums = round_up(head.head_dim, kLanes);
    k.matmul_chunks_kn_f32(head.mix, chunk * sums, (chunk + 1) * sums, head.sums);
  });
  team.for_each(heads, [&](std::size_t i, int) {
    const Head head = head_at(i);
    k.add_chunks(head.mix, 0, head.head_dim, head.sums);
    for (std::size_t d = 0; d < head.head_dim; ++d) head.y[d] /= *head.total;
  });
}

}  // namespace

Matrix Attention::forward(Team& team, Matrix x, ConstMatrix normed, const Batch& batch,
                          Workspace& ws, bool only_wanted) const noexcept {
  const std::size_t n_embd = normed.cols;
  const std::size_t head_dim = n_embd / n_head;
  const Matrix qkv = ws.qkv.top(normed.rows);

  c_attn.forward(team, qkv, normed, ws);

  const bool leaves_rows = only_wanted && batch.logits.size() < normed.rows;
  const std::vector<Batch::Slice>& queries = leaves_rows ? batch.wanted : batch.slices;
  if (leaves_rows) x = x.top(batch.logits.size());
  const Matrix attended = ws.attended.top(x.rows);
  std::size_t longest = 0;  // the most queries of a slice
  std::size_t keys = 0;     // the most keys that a query sees
  for (const Batch::Slice& slice : queries) {
    longest = std::max(longest, slice.rows);
    keys = std::max(keys, slice.first + slice.rows);
  }
  const std::size_t parts = ceil_div(longest, kQueryRows);
  const std::size_t heads = queries.size() * n_head;
  // The row of a slice's first query: its queries are the last rows of the slice.
  const auto first_query = [&](std::size_t i) {
    return batch.slices[i].row + batch.slices[i].rows - queries[i].rows;
  };
  const auto part = [&](std::size_t i, std::size_t begin) {
    const Batch::Slice& slice = queries[i / n_head];
    const std::size_t head = i % n_head;
    return HeadAttention{.y = attended.row(slice.row + begin) + head * head_dim,
                         .y_stride = attended.stride,
                         .q = qkv.row(first_query(i / n_head) + begin) + head * head_dim,
                         .q_stride = qkv.stride,
                         .keys = slice.cache->keys(layer, head),
                         .values = slice.cache->values(layer, head),
                         .rows = std::min(kQueryRows, slice.rows - begin),
                         .first = slice.first + begin,
                         .head_dim = head_dim,
                         .scale = scale};
  };
  const auto store = [&](std::size_t i) {
    const Batch::Slice& slice = batch.slices[i / n_head];
    const std::size_t head = i % n_head;
    const float* const row = qkv.row(slice.row) + head * head_dim;
    slice.cache->store(layer, head, slice.first, {row + n_embd, slice.rows, head_dim, qkv.stride},
                       {row + 2 * n_embd, slice.rows, head_dim, qkv.stride});
  };

  // If several tasks read the keys of one head, those are stored in a step before.
  const std::size_t threads = static_cast<std::size_t>(team.size());
  const bool by_chunks = longest == 1 && keys > kChunk && !leaves_rows && heads < threads;
  const bool store_first = parts > 1 || by_chunks || leaves_rows;
  if (store_first) team.for_each(heads, [&](std::size_t i, int) { store(i); });
  if (leaves_rows) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      std::memmove(x.row(queries[i].row), x.row(first_query(i)),
                   queries[i].rows * x.stride * sizeof(float));
    }
  }
  if (by_chunks) {
    attend_by_chunks(
        team, heads, keys, [&](std::size_t i) { return part(i, 0); }, ws);
  } else {
    // A task is a run of short parts: to claim a task is an atomic operation, for which a thread
    // waits until what it has stored, keys scattered over their panels, has reached the cache.
    const std::size_t run = parts == 1 ? ceil_div(heads, 4 * threads) : 1;
    team.for_ranges(parts * heads, run, [&](std::size_t first, std::size_t end, int rank) {
      for (std::size_t task = first; task < end; ++task) {
        const std::size_t i = task % heads;
        const std::size_t begin = task / heads * kQueryRows;
        if (begin >= queries[i / n_head].rows) continue;
        if (!store_first) store(i);
        kernels().attention(part(i, begin), ws.scratch(rank));
      }
    });
  }

  c_proj.forward(team, x, attended, ws, Linear::Output::accumulate);
  return x;
}

}  // namespace gpt2
