#include "model/block.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "model/watch.h"

namespace gpt2 {
namespace {

// The number of queries in a task. Later queries see more keys, so the tasks of a long prompt
// differ in cost. The tasks are so small that the threads still finish at about the same time.
constexpr std::size_t kQueryRows = 48;

// The heads of one layer in one pass, numbered slice by slice: head i is head i % n_head of slice
// i / n_head. If pass.only_wanted is true, only the rows whose logits were requested are queries.
class Heads {
 public:
  Heads(const Attention& attention, const Pass& pass, Matrix qkv)
      : attention_(attention),
        batch_(pass.batch),
        leaves_rows_(pass.only_wanted && batch_.logits.size() < qkv.rows),
        queries_(leaves_rows_ ? batch_.wanted : batch_.slices),
        qkv_(qkv),
        attended_(pass.ws.attended.top(leaves_rows_ ? batch_.logits.size() : qkv.rows)) {
    for (const Batch::Slice& slice : queries_) {
      max_queries_ = std::max(max_queries_, slice.rows);
      max_keys_ = std::max(max_keys_, slice.first + slice.rows);
    }
  }

  [[nodiscard]] std::size_t count() const { return queries_.size() * attention_.n_head; }
  [[nodiscard]] std::size_t max_queries() const { return max_queries_; }  // of any slice
  [[nodiscard]] std::size_t max_keys() const { return max_keys_; }        // that any query sees
  [[nodiscard]] bool leaves_rows() const { return leaves_rows_; }
  [[nodiscard]] Matrix attended() const { return attended_; }  // (queries, n_embd)

  // Stores the keys and values of head i, for all rows of its slice, in the slice's cache.
  void store(std::size_t i) const {
    const Batch::Slice& slice = batch_.slices[i / attention_.n_head];
    const std::size_t head = i % attention_.n_head;
    const float* const keys = qkv_.row(slice.row) + attended_.cols + head * head_dim();
    const float* const values = keys + attended_.cols;
    slice.cache->store(attention_.layer, head, slice.first,
                       {keys, slice.rows, head_dim(), qkv_.stride},
                       {values, slice.rows, head_dim(), qkv_.stride});
  }

  // Returns the attention of up to kQueryRows queries of head i, from query `begin` of its slice
  // on. It has no rows if the slice has at most `begin` queries.
  [[nodiscard]] HeadAttention queries(std::size_t i, std::size_t begin) const {
    const Batch::Slice& slice = queries_[i / attention_.n_head];
    const std::size_t head = i % attention_.n_head;
    const std::size_t q = first_query(i / attention_.n_head) + begin;
    return {.y = attended_.row(slice.row + begin) + head * head_dim(),
            .y_stride = attended_.stride,
            .q = qkv_.row(q) + head * head_dim(),
            .q_stride = qkv_.stride,
            .blocks = slice.cache->blocks(),
            .keys = slice.cache->keys(attention_.layer, head),
            .values = slice.cache->values(attention_.layer, head),
            .rows = std::min(kQueryRows, slice.rows - std::min(slice.rows, begin)),
            .first = slice.first + begin,
            .head_dim = head_dim(),
            .scale = attention_.scale};
  }

  // Prefetches the keys and values of head i into the L2 cache if its only query sees few of them.
  [[gnu::always_inline]] void prefetch(std::size_t i) const {
    const HeadAttention head = queries(i, 0);
    if (head.rows != 1 || head.first >= kFewKeys) return;
    const std::size_t bytes = bytes_of(type(i));
    const auto* const block = static_cast<const std::byte*>(head.blocks[0]);
    const auto fetch = [&](std::size_t begin, std::size_t keys) {
      for (std::size_t at = 0; at < keys * head.head_dim * bytes; at += 64) {
        __builtin_prefetch(block + begin * bytes + at, 0, 2);
      }
    };
    fetch(head.keys, round_up(head.first + 1, kPanel));
    fetch(head.values, head.first + 1);
  }

  // Returns the type of the keys and values of head i.
  [[nodiscard]] KVType type(std::size_t i) const {
    return queries_[i / attention_.n_head].cache->type();
  }

 private:
  // Returns the row of the first query of a slice. The queries are the last rows of the slice.
  [[nodiscard]] std::size_t first_query(std::size_t slice) const {
    return leaves_rows_ ? batch_.first_wanted(slice) : batch_.slices[slice].row;
  }
  [[nodiscard]] std::size_t head_dim() const { return attended_.cols / attention_.n_head; }

  const Attention& attention_;
  const Batch& batch_;
  const bool leaves_rows_;
  const std::vector<Batch::Slice>& queries_;
  const Matrix qkv_, attended_;
  std::size_t max_queries_ = 0, max_keys_ = 0;
};

// The kernels that read keys and values of one type.
struct AttentionKernels {
  Kernels::AttentionKernel attention;
  Kernels::MatmulKernel scores;
  Kernels::ChunksKernel mix;
};

AttentionKernels kernels_for(KVType type) {
  const Kernels& k = kernels();
  if (type == KVType::f16) return {k.attention_f16, *k.matmul_kn_f16, *k.matmul_chunks_kn_f16};
  return {k.attention_f32, *k.matmul_kn_f32, *k.matmul_chunks_kn_f32};
}

// One query of one head, whose keys the threads share out in chunks.
struct SharedQuery : HeadAttention {
  KVType type;       // the type of the keys and values
  std::size_t seen;  // the number of keys that the query sees
  float* scores;     // (seen); later their exponentials
  float* total;      // the sum of the exponentials
  float* sums;       // chunk sums of the values

  // Returns the address of number i in the block that contains this chunk of keys.
  [[nodiscard]] const void* number(std::size_t chunk, std::size_t i) const {
    return static_cast<const std::byte*>(blocks[chunk]) + i * bytes_of(type);
  }

  // Returns the product of the exponentials of `count` keys, from key `begin` on, with their
  // values. The values of one chunk lie one after another. `count` may go beyond the chunk only for
  // add_chunks(), which does not read the values.
  [[nodiscard]] Matmul mix(std::size_t begin, std::size_t count) const {
    return {.y = y,
            .x = scores + begin,
            .w = number(begin / kChunk, values),
            .m = 1,
            .k = count,
            .n = head_dim};
  }
};

SharedQuery shared_query(const Heads& heads, const Workspace& ws, std::size_t i) {
  const HeadAttention a = heads.queries(i, 0);
  float* const scores = ws.head_scores(i);
  float* const total = scores + round_up(heads.max_keys(), kPanel);
  return {a, heads.type(i), a.first + 1, scores, total, total + kLanes};
}

// Computes the attention of one query for each head if there are fewer heads than threads. The
// threads share out chunks of keys. The arithmetic is the same as in the attention kernel
// (kernels.h): products of one row with panels of keys, softmax, and products with the values,
// chunk by chunk.
void attend_by_chunks(Team& team, const Heads& heads, Workspace& ws) {
  const Kernels& k = kernels();
  const auto for_chunks = [&](const auto& f) {
    const std::size_t tasks = heads.count() * ceil_div(heads.max_keys(), kChunk);
    team.for_each(tasks, [&](std::size_t task, int rank) {
      const SharedQuery head = shared_query(heads, ws, task % heads.count());
      const std::size_t chunk = task / heads.count();
      if (chunk * kChunk < head.seen) f(head, chunk, rank);
    });
  };

  for_chunks([&](const SharedQuery& head, std::size_t chunk, int rank) {
    const std::size_t begin = chunk * kChunk;
    const std::size_t end = std::min(head.seen, begin + kChunk);
    for (std::size_t key = begin; key < end; key += kPanel) {
      const Matmul scores{.y = head.scores + key,
                          .x = head.q,
                          .w = head.number(chunk, head.keys + (key - begin) * head.head_dim),
                          .m = 1,
                          .k = head.head_dim,
                          .n = kPanel};
      kernels_for(head.type).scores(scores, 0, kPanel, ws.scratch(rank));
    }
  });
  team.for_each(heads.count(), [&](std::size_t i, int) {
    const SharedQuery head = shared_query(heads, ws, i);
    for (std::size_t key = 0; key < head.seen; ++key) head.scores[key] *= head.scale;
    const float largest = head.scores[k.argmax(head.scores, head.seen)];
    *head.total = k.exp_sum(head.scores, head.scores, largest, head.seen);
  });
  for_chunks([&](const SharedQuery& head, std::size_t chunk, int) {
    const std::size_t begin = chunk * kChunk;
    const std::size_t sums = chunk_stride(head.head_dim);
    kernels_for(head.type).mix(head.mix(begin, std::min(head.seen - begin, kChunk)), 0, sums,
                               head.sums + chunk * sums);
  });
  team.for_each(heads.count(), [&](std::size_t i, int) {
    const SharedQuery head = shared_query(heads, ws, i);
    k.add_chunks(head.mix(0, head.seen), 0, head.head_dim, head.sums);
    for (std::size_t d = 0; d < head.head_dim; ++d) head.y[d] /= *head.total;
  });
}

// Stores the keys and values of all heads, and then computes the attention of their queries.
void attend(Team& team, const Heads& heads, Workspace& ws) {
  const std::size_t threads = static_cast<std::size_t>(team.size());
  const std::size_t parts = ceil_div(heads.max_queries(), kQueryRows);
  const bool by_chunks = heads.max_queries() == 1 && heads.max_keys() > kChunk &&
                         !heads.leaves_rows() && heads.count() < threads;
  // If several tasks read the keys of one head, a separate step must store these keys first.
  const bool store_first = parts > 1 || by_chunks || heads.leaves_rows();
  if (store_first) team.for_each(heads.count(), [&](std::size_t i, int) { heads.store(i); });
  if (by_chunks) {
    attend_by_chunks(team, heads, ws);
    return;
  }
  // If each head has only one part, a task is a run of several heads, because claiming a task is
  // slow here. It is an atomic operation, which waits until the thread's earlier stores have
  // reached the cache, and these stores are scattered over the panels of keys.
  const std::size_t run = parts == 1 ? ceil_div(heads.count(), 4 * threads) : 1;
  team.for_ranges(parts * heads.count(), run, [&](std::size_t begin, std::size_t end, int rank) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t i = task % heads.count();
      if (parts == 1 && task + 1 < end) heads.prefetch(i + 1);
      const HeadAttention queries = heads.queries(i, task / heads.count() * kQueryRows);
      if (queries.rows == 0) continue;
      if (!store_first) heads.store(i);
      kernels_for(heads.type(i)).attention(queries, ws.scratch(rank));
    }
  });
}

}  // namespace

Branch Attention::operator()(const Rows& x) const noexcept {
  Pass& pass = x.pass;
  const Matrix qkv = pass.ws.qkv.top(x.rows);
  c_attn.forward(pass, qkv, x);
  if (pass.watch) pass.watch->show_queries_keys_values(pass, qkv);

  const Heads heads(*this, pass, qkv);
  attend(pass.team, heads, pass.ws);
  if (pass.watch) pass.watch->show_attention(pass, qkv, scale, heads.attended());
  pass.show(Observed::head_outputs, heads.attended());
  return {c_proj, heads.attended(), Observed::attn_output};
}

}  // namespace gpt2
