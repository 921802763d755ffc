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

// The walks, in the order of `name`, with the CPUs on which each was the fastest in trials.

// Zen 5; Zen 5 with two threads while its memory was slow. The second was 0.83 times as fast as the
// first for 72 rows and 0.94 times for 128 in the first case, and 1.1 times in the second.
template <class Vec, class Stored>
inline constexpr Walks<Kernels::MatmulKernel> kColumnWalks = {
    .count = 2,
    .of_several_rows = 2,
    .min_rows = kFewRows / 2 + 1,
    .max_rows = kFewRows,
    .name = {"in place", "packed"},
    .kernel = {matmul_kn<Vec, Stored, kFewRows>, matmul_kn<Vec, Stored, 0>}};

// Zen 4; Zen 5 with 16 bits; Zen 5 with f32; Zen 4 with two threads; Sapphire Rapids; Zen 4 with
// short rows or with 16 bits. On Zen 4, the first one read weights 1.2 times as fast as the third
// did with 4 vectors. On Zen 5, the second read bf16 1.2 times as fast as the fifth, and the third
// read f32 1.2 times as fast as the fifth; its 6 vectors were 1.04 times as fast as 4. The last one
// read 768 columns 1.1 to 1.4 times as fast as the first (Zen 4). With two rows, the second one
// read f32 and bf16 1.1 times as fast as the first, which reads as for more rows (Zen 5).
template <class Vec, class Stored>
inline constexpr Walks<Kernels::ChunksKernel> kChunkWalks = {
    .count = 6,
    .of_several_rows = 2,
    .max_rows = 2,
    .name = {"8 rows, prefetched", "1 row, prefetched", "8 rows of 6 vectors",
             "4 rows, prefetched", "16 rows, prefetched", "1 row"},
    .kernel = {matmul_chunks_kn<Vec, ChunkWalk{8, 4, Prefetch::next_rows, false}, Stored>,
               matmul_chunks_kn<Vec, ChunkWalk{1, 4, Prefetch::far, false}, Stored>,
               matmul_chunks_kn<Vec, ChunkWalk{8, 6, Prefetch::none, false}, Stored>,
               matmul_chunks_kn<Vec, ChunkWalk{4, 4, Prefetch::next_rows, false}, Stored>,
               matmul_chunks_kn<Vec, ChunkWalk{16, 2, Prefetch::next_rows, true}, Stored>,
               matmul_chunks_kn<Vec, ChunkWalk{1, 4, Prefetch::none, false}, Stored>}};

// Zen 4, and Zen 5 with f32; Zen 5 with 16 bits; Sapphire Rapids. On Zen 4, the first one was 1.2
// times as fast as the last. On Zen 5 with 16 bits, the second one was 1.2 times as fast as the
// first.
template <class Vec, class Stored>
inline constexpr Walks<Kernels::MatmulKernel> kDotWalks = {
    .count = 3,
    .name = {"4 streams of 512 bytes", "1 stream, prefetched", "streams of 256 bytes, prefetched"},
    .kernel = {matmul_nk<Vec, DotWalk{4, 512, 0}, Stored>,
               matmul_nk<Vec, DotWalk{1, 256, kFarAhead}, Stored>,
               matmul_nk<Vec, DotWalk{2 * Vec::kDotColumns, 256, 1024}, Stored>}};

inline constexpr QuantizedWalk kOnePanelFar{.vecs = 2, .ahead = kFarAhead, .fetches_panels = false};
inline constexpr QuantizedWalk kFourPanels{.vecs = 8, .ahead = 0, .fetches_panels = false};
inline constexpr QuantizedWalk kFourPanelsAhead{.vecs = 8, .ahead = 1536, .fetches_panels = false};

// Zen 4 with int4; Zen 5 with int4; Zen 4 and Zen 5 with int8; Sapphire Rapids. On Zen 4, the first
// one was 1.3 times as fast as the third with int4, and 0.9 times with int8; the last was 0.6 times
// as fast. On Zen 5 with int4, the second was 1.2 times as fast as the last with one thread and 1.1
// times with two. With AVX2 instead, it was 1.3 times as fast as any other for int8. Several rows
// read one panel at a time. With the second walk, batches of 2 to 16 texts with int8 and int4 were
// 1.03 to 1.22 times as fast as with the first (Zen 5), and prompts of 16 tokens 1.02 to 1.1 times.
template <class Vec, class Codes>
inline constexpr Walks<Kernels::QuantizedMatmulKernel> kQuantizedWalks = {
    .count = 4,
    .of_several_rows = 2,
    .name = {"1 panel, prefetched", "1 panel, prefetched far ahead", "4 panels",
             "4 panels, prefetched"},
    .kernel = {quantized_matmul<Vec, Codes, kOnePanel>, quantized_matmul<Vec, Codes, kOnePanelFar>,
               quantized_matmul<Vec, Codes, kFourPanels>,
               quantized_matmul<Vec, Codes, kFourPanelsAhead>}};

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
    .philox = philox<Vec>,
    .gumbel = gumbel<Vec>,
    .read_limit = {read_limit<Vec, 1>, read_limit<Vec, 2>, read_limit<Vec, 4>, read_limit<Vec, 8>},
    .fma_limit = fma_limit<Vec>,
    .dot_limit = dot_limit<Vec>,
};

}  // namespace gpt2
