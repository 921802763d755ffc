#include "model/linear.h"

#include <algorithm>
#include <span>

namespace gpt2 {
namespace {

const Walks<Kernels::ChunksKernel>& chunk_walks(FloatType type) {
  const Kernels& k = kernels();
  return *by_type(type, &k.matmul_chunks_kn_f32, &k.matmul_chunks_kn_f16, &k.matmul_chunks_kn_bf16);
}

const Walks<Kernels::MatmulKernel>& float_walks(FloatType type, Weight::Layout layout) {
  const Kernels& k = kernels();
  if (layout == Weight::Layout::nk) {
    return *by_type(type, &k.matmul_nk_f32, &k.matmul_nk_f16, &k.matmul_nk_bf16);
  }
  return *by_type(type, &k.matmul_kn_f32, &k.matmul_kn_f16, &k.matmul_kn_bf16);
}

const Walks<Kernels::QuantizedMatmulKernel>& quantized_walks(WeightType type) {
  return type == WeightType::int8 ? kernels().matmul_int8 : kernels().matmul_int4;
}

// Returns whether chunks can be shared out for this number of rows.
bool has_chunks(const Weight& weight, std::size_t rows) {
  return weight.float_type() && weight.layout == Weight::Layout::kn && rows <= kChunkRows;
}

// Calls product(walk) with the walk that `ws` chooses for this number of rows.
template <class F>
void with_walk(const Weight& weight, std::size_t rows, Workspace& ws, const F& product) {
  const auto choose = [&](const auto& walks) {
    const bool are_several = walks.min_rows <= rows && rows <= walks.max_rows;
    const std::size_t several = are_several ? walks.of_several_rows : 1;
    const std::size_t count = rows == 1 ? walks.count : several;
    ws.walks.run(weight, rows, std::span(walks.name).first(count), product);
  };
  const auto floats = weight.float_type();
  if (!floats) return choose(quantized_walks(weight.type));
  if (has_chunks(weight, rows)) return choose(chunk_walks(*floats));
  choose(float_walks(*floats, weight.layout));
}

// Quantizes the rows of x for a product with a quantized weight. Does nothing for other weights.
QuantizedRows quantize(Team& team, const Weight& weight, ConstMatrix x, Workspace& ws) {
  if (!weight.is_quantized()) return {};
  const std::size_t block = weight.block();
  const std::size_t blocks = ceil_div(weight.k, block);
  const auto quantize_row =
      weight.type == WeightType::int8 ? kernels().quantize_row_int8 : kernels().quantize_row_int4;
  const auto row_at = [&](std::size_t group, std::size_t row) -> QuantizedRows {
    const std::size_t at = group * blocks * kRowGroup + row;
    return {ws.values.data() + at * block, ws.scales.data() + at, ws.offsets.data() + at, blocks};
  };
  // The rows of a group share cache lines, so one thread writes all of them.
  team.for_ranges(x.rows, kRowGroup, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      quantize_row(row_at(i / kRowGroup, i % kRowGroup), x.row(i), weight.k);
    }
  });
  return row_at(0, 0);
}

void multiply(const Matmul& product, const Weight& weight, const QuantizedRows& quantized,
              std::size_t walk, std::size_t begin, std::size_t end, float* scratch) {
  const auto floats = weight.float_type();
  if (!floats) {
    const auto kernel = quantized_walks(weight.type).kernel[walk];
    return kernel(product, quantized, begin, end, scratch);
  }
  float_walks(*floats, weight.layout).kernel[walk](product, begin, end, scratch);
}

// Returns the number of columns in a task. Products of few rows stream the weights, so each thread
// gets one long run of columns. Products of many rows compute on panels, so there are more and
// shorter runs: if one thread is held up, the others can take more of them.
std::size_t columns_per_task(std::size_t n, std::size_t rows, int threads) {
  const std::size_t tasks = static_cast<std::size_t>(threads) * (rows <= kFewRows ? 1 : 4);
  const std::size_t share = ceil_div(n, tasks);
  if (rows <= kFewRows) return round_up(share, kPanel);
  return std::min(round_up(share, 2 * kPanel), 4 * kPanel);  // a multiple of every kernel's tile
}

// Multiplies at most kChunkRows rows with float weights that lie as [k, n]. The threads share out
// the chunks of k, so that each thread reads long runs of memory, and then add up the chunk sums.
// On Zen 5, this makes decoding with GPT-2 124M 1.22 times as fast as sharing out columns, in f32
// and in bf16, with one thread and with two. Batches of 2 and 4 texts in f32 are 1.16 times as fast
// with two threads; with one thread, 2 texts were 0.97 times as fast.
void multiply_by_chunks(Team& team, const Matmul& product, Kernels::ChunksKernel sum_chunks,
                        std::size_t columns, Workspace& ws) {
  const std::size_t sums = chunk_sums_floats(product.k, product.n);
  const std::size_t share = ceil_div(sums, static_cast<std::size_t>(team.size()));
  team.for_ranges(sums, round_up(share, kPanel), [&](std::size_t begin, std::size_t end, int) {
    sum_chunks(product, begin, end, ws.chunk_sums.data());
  });
  team.for_ranges(product.n, columns, [&](std::size_t begin, std::size_t end, int) {
    kernels().add_chunks(product, begin, end, ws.chunk_sums.data());
  });
}

}  // namespace

void Linear::forward(Team& team, Matrix y, ConstMatrix x, Workspace& ws, Output output,
                     ActivationKernel activation) const noexcept {
  const QuantizedRows quantized = quantize(team, weight, x, ws);
  const Matmul product{.y = y.data,
                       .y_stride = y.stride,
                       .x = x.data,
                       .x_stride = x.stride,
                       .w = weight.data,
                       .m = x.rows,
                       .k = weight.k,
                       .n = weight.n,
                       .bias = bias.size() > 0 ? bias.data() : nullptr,
                       .activation = activation,
                       .accumulate = output == Output::accumulate};
  const std::size_t columns = columns_per_task(weight.n, x.rows, team.size());
  with_walk(weight, x.rows, ws, [&](std::size_t walk) {
    // One thread computes several rows faster by columns, except with a walk that reads chunks.
    if (has_chunks(weight, x.rows) && (x.rows == 1 || team.size() > 1 || walk > 0)) {
      const auto sum_chunks = chunk_walks(*weight.float_type()).kernel[walk];
      return multiply_by_chunks(team, product, sum_chunks, columns, ws);
    }
    team.for_ranges(weight.n, columns, [&](std::size_t begin, std::size_t end, int rank) {
      multiply(product, weight, quantized, walk, begin, end, ws.scratch(rank));
    });
  });
}

void project_rows(Team& team, float* const* rows, const Weight& weight, ConstMatrix x,
                  Workspace& ws) noexcept {
  const QuantizedRows quantized = quantize(team, weight, x, ws);
  const auto project = [&](std::size_t walk, std::size_t begin, std::size_t end, int rank) {
    const Weight part = weight.columns(begin, end);
    float* const tile = ws.tile(rank);
    const Matmul product{.y = tile,
                         .y_stride = Workspace::kTileColumns,
                         .x = x.data,
                         .x_stride = x.stride,
                         .w = part.data,
                         .m = x.rows,
                         .k = part.k,
                         .n = part.n};
    multiply(product, part, quantized, walk, 0, part.n, ws.scratch(rank));
    for (std::size_t i = 0; i < x.rows; ++i) {
      std::copy_n(tile + i * Workspace::kTileColumns, end - begin, rows[i] + begin);
    }
  };
  // The tiles of a task are adjacent, because the hardware prefetches the memory after each tile.
  constexpr std::size_t kTile = Workspace::kTileColumns;
  const std::size_t share = ceil_div(weight.n, kTile * 8 * static_cast<std::size_t>(team.size()));
  with_walk(weight, x.rows, ws, [&](std::size_t walk) {
    team.for_ranges(weight.n, share * kTile, [&](std::size_t begin, std::size_t end, int rank) {
      for (std::size_t n = begin; n < end; n += kTile) {
        project(walk, n, std::min(end, n + kTile), rank);
      }
    });
  });
}

}  // namespace gpt2
