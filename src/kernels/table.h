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
    .matmul_kn_f32 = matmul_kn<Vec, F32>,
    .matmul_kn_f16 = matmul_kn<Vec, F16>,
    .matmul_kn_bf16 = matmul_kn<Vec, BF16>,
    .matmul_chunks_kn_f32 = matmul_chunks_kn<Vec, kPrefetchedWalk, F32>,
    .matmul_chunks_kn_f16 = matmul_chunks_kn<Vec, kPrefetchedWalk, F16>,
    .matmul_chunks_kn_bf16 = matmul_chunks_kn<Vec, kPrefetchedWalk, BF16>,
    .add_chunks = add_chunks<Vec>,
    .matmul_nk_f32 = matmul_nk<Vec, kPrefetchedDots<Vec>, F32>,
    .matmul_nk_f16 = matmul_nk<Vec, kPrefetchedDots<Vec>, F16>,
    .matmul_nk_bf16 = matmul_nk<Vec, kPrefetchedDots<Vec>, BF16>,
    .fit_int8 = fit_int8<Vec>,
    .fit_int4 = fit_int4<Vec>,
    .encode_int8 = encode_int8<Vec>,
    .encode_int4 = encode_int4<Vec>,
    .quantize_row_int8 = quantize_row<Vec, kInt8Block>,
    .quantize_row_int4 = quantize_row<Vec, kInt4Block>,
    .matmul_int8 = quantized_matmul<Vec, Int8Codes>,
    .matmul_int4 = quantized_matmul<Vec, Int4Codes>,
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
