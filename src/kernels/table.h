#pragma once

#include "kernels/activations.h"
#include "kernels/attention_tile.h"
#include "kernels/elementwise.h"
#include "kernels/limits.h"
#include "kernels/matmul_kn.h"
#include "kernels/matmul_kn_chunks.h"
#include "kernels/matmul_nk.h"
#include "kernels/noise.h"
#include "kernels/norm.h"
#include "kernels/quantize_weights.h"
#include "kernels/quantized.h"

namespace gpt2 {

/// The kernels, compiled for the instruction set of Vec.
template <class Vec>
inline constexpr NormKernels kNormTable = {.name = Vec::kName, .layer_norm = layer_norm<Vec>};

// The walks. A comment names the CPUs on which a walk was the fastest, by up to a third.

// Zen 5, and Zen 5 with two threads while its memory was slow.
template <class Vec, class Stored>
inline constexpr Walks<Kernels::MatmulKernel> kColumnWalks = {
    .count = 2,
    .of_several_rows = 2,
    .min_rows = kFewRows / 2 + 1,
    .max_rows = kFewRows,
    .walk = {{"in place", matmul_kn<Vec, Stored, kFewRows>},
             {"packed", matmul_kn<Vec, Stored, 0>}}};

template <class Vec, class Stored, ChunkWalk kWalk>
inline constexpr Kernels::ChunksKernel kChunks = matmul_chunks_kn<Vec, kWalk, Stored>;

// Zen 4; Zen 5 with 16 bits, and two rows of f32; Zen 5 with f32; Zen 4 with two threads; Sapphire
// Rapids; Zen 4 with short rows or with 16 bits.
template <class Vec, class Stored>
inline constexpr Walks<Kernels::ChunksKernel> kChunkWalks = {
    .count = 6,
    .of_several_rows = 2,
    .max_rows = 2,
    .walk = {
        {"8 rows, prefetched", kChunks<Vec, Stored, ChunkWalk{8, 4, Prefetch::next_rows, false}>,
         /*needs_threads=*/true},
        {"1 row, prefetched", kChunks<Vec, Stored, ChunkWalk{1, 4, Prefetch::far, false}>},
        {"8 rows of 6 vectors", kChunks<Vec, Stored, ChunkWalk{8, 6, Prefetch::none, false}>},
        {"4 rows, prefetched", kChunks<Vec, Stored, ChunkWalk{4, 4, Prefetch::next_rows, false}>},
        {"16 rows, prefetched", kChunks<Vec, Stored, ChunkWalk{16, 2, Prefetch::next_rows, true}>},
        {"1 row", kChunks<Vec, Stored, ChunkWalk{1, 4, Prefetch::none, false}>}}};

// Zen 4, and Zen 5 with f32; Zen 5 with 16 bits; Sapphire Rapids. For several rows: Emerald Rapids;
// Zen 4.
template <class Vec, class Stored>
inline constexpr Walks<Kernels::MatmulKernel> kDotWalks = {
    .count = 3,
    .of_several_rows = 2,
    .max_rows = kDotFewRows,
    .walk = {{"4 streams of 512 bytes", matmul_nk<Vec, DotWalk{4, 512, 0}, Stored>},
             {"1 stream, or panels", matmul_nk<Vec, DotWalk{1, 256, kFarAhead, true}, Stored>},
             {"streams of 256 bytes, prefetched",
              matmul_nk<Vec, DotWalk{2 * Vec::kDotColumns, 256, 1024}, Stored>}}};

inline constexpr QuantizedWalk kOnePanelFar{.vecs = 2, .ahead = kFarAhead, .fetches_panels = false};
inline constexpr QuantizedWalk kFourPanels{.vecs = 8, .ahead = 0, .fetches_panels = false};
inline constexpr QuantizedWalk kFourPanelsAhead{.vecs = 8, .ahead = 1536, .fetches_panels = false};

// Zen 4 with int4; Zen 5 with int4, and several rows; Zen 4 and Zen 5 with int8; Sapphire Rapids.
template <class Vec, class Codes>
inline constexpr Walks<Kernels::QuantizedMatmulKernel> kQuantizedWalks = {
    .count = 4,
    .of_several_rows = 2,
    .walk = {{"1 panel, prefetched", quantized_matmul<Vec, Codes, kOnePanel>},
             {"1 panel, prefetched far ahead", quantized_matmul<Vec, Codes, kOnePanelFar>},
             {"4 panels", quantized_matmul<Vec, Codes, kFourPanels>},
             {"4 panels, prefetched", quantized_matmul<Vec, Codes, kFourPanelsAhead>}}};

template <class Vec>
inline constexpr Kernels kTable = {
    .name = Vec::kName,
    .gelu_new = activate<Vec, gelu_new>,
    .gelu = activate<Vec, gelu>,
    .gelu_10 = activate<Vec, gelu_10>,
    .quick_gelu = activate<Vec, quick_gelu>,
    .relu = activate<Vec, relu>,
    .relu2 = activate<Vec, relu2>,
    .relu6 = activate<Vec, relu6>,
    .silu = activate<Vec, silu>,
    .mish = activate<Vec, mish>,
    .tanh = activate<Vec, tanh>,
    .sigmoid = activate<Vec, sigmoid>,
    .laplace = activate<Vec, laplace>,
    .hardswish = activate<Vec, hardswish>,
    .leaky_relu = activate<Vec, leaky_relu>,
    .sqrtsoftplus = activate<Vec, sqrtsoftplus>,
    .add = add<Vec>,
    .widen_f32 = widen<Vec, F32>,
    .widen_f16 = widen<Vec, F16>,
    .widen_bf16 = widen<Vec, BF16>,
    .narrow_f16 = narrow_f16<Vec>,
    .matmul_kn_f32 = kColumnWalks<Vec, F32>,
    .matmul_kn_f16 = kColumnWalks<Vec, F16>,
    .matmul_kn_bf16 = kColumnWalks<Vec, BF16>,
    .matmul_chunks_kn_f32 = kChunkWalks<Vec, F32>,
    .matmul_chunks_kn_f16 = kChunkWalks<Vec, F16>,
    .matmul_chunks_kn_bf16 = kChunkWalks<Vec, BF16>,
    .add_chunks = add_chunks<Vec>,
    .matmul_nk_f32 = kDotWalks<Vec, F32>,
    .matmul_nk_f16 = kDotWalks<Vec, F16>,
    .matmul_nk_bf16 = kDotWalks<Vec, BF16>,
    .fit_int8 = fit_int8<Vec>,
    .fit_int4 = fit_int4<Vec>,
    .encode_int8 = encode_int8<Vec>,
    .encode_int4 = encode_int4<Vec>,
    .quantize_row_int8 = quantize_row<Vec, kInt8Block>,
    .quantize_row_int4 = quantize_row<Vec, kInt4Block>,
    .matmul_int8 = kQuantizedWalks<Vec, Int8Codes>,
    .matmul_int4 = kQuantizedWalks<Vec, Int4Codes>,
    .attention_f32 = attention<Vec, F32>,
    .attention_f16 = attention<Vec, F16>,
    .argmax = argmax<Vec>,
    .exp_sum = exp_sum<Vec>,
    .log = activate<Vec, log>,
    .philox = philox<Vec>,
    .gumbel = gumbel<Vec>,
    .read_limit = {read_limit<Vec, 1>, read_limit<Vec, 2>, read_limit<Vec, 4>, read_limit<Vec, 8>},
    .fma_limit = fma_limit<Vec>,
    .dot_limit = dot_limit<Vec>,
};

}  // namespace gpt2
