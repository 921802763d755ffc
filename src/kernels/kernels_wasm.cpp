// WebAssembly cannot prefetch. The builtin makes no instruction, but the loops around it would
// stay, and they took a fourth of the time of int8.
#define __builtin_prefetch(address, ...) static_cast<void>(address)

#include "kernels/table.h"
#include "kernels/vec_wasm.h"

// A module has to be small. Therefore each product has one of its walks, and rare activations call
// fma() as a function where it is not an instruction. Nothing else may: while WebKitGTK 2.50
// replaces the code of a loop by faster code, a call in this loop may lose its vectors.

namespace gpt2 {

#ifndef __wasm_relaxed_simd__
// Where fma() computes in f64, it is so long that a loop of one is as fast as an unrolled loop, and
// that one stream is as fast as two.
template <>
inline constexpr DotWalk kDotTiles<wasm::FastVec>{.streams = 1, .step_bytes = 0, .ahead = 0};
template <>
inline constexpr std::size_t kAttentionStreams<wasm::FastVec> = 1;
template <>
inline constexpr std::size_t kNormRows<wasm::Vec> = 1;
#endif

namespace {

template <class Kernel>
constexpr Walks<Kernel> one_of(const Walks<Kernel>& walks, std::size_t i) {
  return {.count = 1, .walk = {walks.walk[i]}};
}

// How many vectors of columns a walk in f32 reads at once. Where fma() is an instruction, one is
// faster than four (49 tokens a second instead of 37, Zen 4). Where fma() computes in f64, one is
// 20 to 45 % slower on CPUs of Intel.
#ifdef __wasm_relaxed_simd__
constexpr std::size_t kChunkVecs = 1;
#else
constexpr std::size_t kChunkVecs = 4;
#endif

template <class Vec, class Stored, std::size_t kVecs = 1>
constexpr Walks<Kernels::ChunksKernel> kOneRow = {
    .count = 1,
    .walk = {{"1 row", kChunks<Vec, Stored, ChunkWalk{1, kVecs, Prefetch::none, false}>}}};

#ifdef __wasm_relaxed_simd__
template <class Stored>
constexpr Walks<Kernels::MatmulKernel> kDots = one_of(kDotWalks<wasm::FastVec, Stored>, 1);
#else
template <class Stored>
constexpr Walks<Kernels::MatmulKernel> kDots = {
    .count = 1, .walk = {{"1 stream", matmul_nk<wasm::FastVec, kDotTiles<wasm::FastVec>, Stored>}}};
#endif

constexpr Kernels small_table() {
  Kernels table = kTable<wasm::FastVec>;
  for (auto* walks : {&table.matmul_kn_f32, &table.matmul_kn_f16, &table.matmul_kn_bf16}) {
    *walks = one_of(*walks, 1);
  }
  table.matmul_chunks_kn_f32 = kOneRow<wasm::FastVec, F32, kChunkVecs>;
  table.matmul_chunks_kn_f16 = kOneRow<wasm::FastVec, F16>;
  table.matmul_chunks_kn_bf16 = kOneRow<wasm::FastVec, BF16>;
  table.matmul_nk_f32 = kDots<F32>;
  table.matmul_nk_f16 = kDots<F16>;
  table.matmul_nk_bf16 = kDots<BF16>;
  table.matmul_int8 = one_of(table.matmul_int8, 0);
  table.matmul_int4 = one_of(table.matmul_int4, 0);
  constexpr const Kernels& small = kTable<wasm::Vec>;
  table.gelu_10 = small.gelu_10;
  table.mish = small.mish;
  table.sigmoid = small.sigmoid;
  table.laplace = small.laplace;
  table.sqrtsoftplus = small.sqrtsoftplus;
  for (auto& limit : table.read_limit) limit = nullptr;  // there is no gpt2 bench
  table.fma_limit = nullptr;
  table.dot_limit = nullptr;
  return table;
}

}  // namespace

constinit const Kernels kWasmKernels = small_table();
constinit const NormKernels kWasmNorm = kNormTable<wasm::Vec>;

}  // namespace gpt2
