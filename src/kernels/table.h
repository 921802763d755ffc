#pragma once

#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/layer_norm.h"
#include "kernels/limits.h"
#include "kernels/matmul_kn.h"
#include "kernels/matmul_kn_chunks.h"
#include "kernels/matmul_nk.h"
#include "kernels/quantized.h"

namespace gpt2 {

/// Every kernel, compiled for the instruction set of Vec.
template <class Vec>
constexpr Kernels table(const char* name) {
  return {
      .name = name,
      .layer_norm = layer_norm<Vec>,
      .gelu_new = activate<Vec, GeluNew>,
      .gelu_fast = activate<Vec, GeluNew>,
      .gelu = activate<Vec, Gelu>,
      .gelu_10 = activate<Vec, Gelu10>,
      .quick_gelu = activate<Vec, QuickGelu>,
      .relu = activate<Vec, Relu>,
      .relu2 = activate<Vec, Relu2>,
      .relu6 = activate<Vec, Relu6>,
      .silu = activate<Vec, Silu>,
      .mish = activate<Vec, Mish>,
      .tanh = activate<Vec, Tanh>,
      .sigmoid = activate<Vec, Sigmoid>,
      .laplace = activate<Vec, Laplace>,
      .add = add<Vec>,
      .widen_f32 = widen<Vec, F32>,
      .widen_f16 = widen<Vec, F16>,
      .widen_bf16 = widen<Vec, BF16>,
      .matmul_kn_f32 = matmul_kn<Vec, F32>,
      .matmul_kn_f16 = matmul_kn<Vec, F16>,
      .matmul_kn_bf16 = matmul_kn<Vec, BF16>,
      .matmul_chunks_kn_f32 = matmul_chunks_kn<Vec, F32>,
      .matmul_chunks_kn_f16 = matmul_chunks_kn<Vec, F16>,
      .matmul_chunks_kn_bf16 = matmul_chunks_kn<Vec, BF16>,
      .add_chunks = add_chunks<Vec>,
      .matmul_nk_f32 = matmul_nk<Vec, F32>,
      .matmul_nk_f16 = matmul_nk<Vec, F16>,
      .matmul_nk_bf16 = matmul_nk<Vec, BF16>,
      .quantize_row_int8 = quantize_row<Vec, kInt8Block>,
      .quantize_row_int4 = quantize_row<Vec, kInt4Block>,
      .matmul_int8 = quantized_matmul<Vec, Int8Codes>,
      .matmul_int4 = quantized_matmul<Vec, Int4Codes>,
      .attention = attention<Vec>,
      .argmax = argmax<Vec>,
      .exp_sum = exp_sum<Vec>,
      .gumbel = gumbel<Vec>,
      .log = log_all<Vec>,
      .read_limit = read_limit<Vec>,
      .fma_limit = fma_limit<Vec>,
      .dot_limit = dot_limit<Vec>,
  };
}

}  // namespace gpt2
