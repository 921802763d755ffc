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

// How a single row reads weights in f32, and weights of 16 bits. Where fma() is an instruction,
// memory is the limit for f32, and it is read faster as several streams: one stream writes 0.85 to
// 0.9 times as many tokens a second (Zen 3). With 16 bits, where widening takes the time, several
// streams write 0.6 to 0.9 times as many. Where fma() computes in f64, one vector of columns in f32
// in place of four is 20 to 45 % slower on CPUs of Intel.
constexpr ChunkWalk k16BitChunks{1, 1, Prefetch::none, false};
#ifdef __wasm_relaxed_simd__
constexpr ChunkWalk kF32Chunks{8, 1, Prefetch::none, false};
constexpr DotWalk kF32Dots{.streams = 2, .step_bytes = 0, .ahead = 0};
constexpr DotWalk k16BitDots{.streams = 1, .step_bytes = 256, .ahead = 0};
#else
constexpr ChunkWalk kF32Chunks{1, 4, Prefetch::none, false};
constexpr DotWalk kF32Dots = kDotTiles<wasm::FastVec>;
constexpr DotWalk k16BitDots = kDotTiles<wasm::FastVec>;
#endif

template <class Stored, ChunkWalk kWalk>
constexpr Walks<Kernels::ChunksKernel> kChunksWalk = {
    .count = 1, .walk = {{"chunks", kChunks<wasm::FastVec, Stored, kWalk>}}};

template <class Stored, DotWalk kWalk>
constexpr Walks<Kernels::MatmulKernel> kDotsWalk = {
    .count = 1, .walk = {{"dots", matmul_nk<wasm::FastVec, kWalk, Stored>}}};

constexpr Kernels small_table() {
  Kernels table = kTable<wasm::FastVec>;
  for (auto* walks : {&table.matmul_kn_f32, &table.matmul_kn_f16, &table.matmul_kn_bf16}) {
    *walks = one_of(*walks, 1);
  }
  table.matmul_chunks_kn_f32 = kChunksWalk<F32, kF32Chunks>;
  table.matmul_chunks_kn_f16 = kChunksWalk<F16, k16BitChunks>;
  table.matmul_chunks_kn_bf16 = kChunksWalk<BF16, k16BitChunks>;
  table.matmul_nk_f32 = kDotsWalk<F32, kF32Dots>;
  table.matmul_nk_f16 = kDotsWalk<F16, k16BitDots>;
  table.matmul_nk_bf16 = kDotsWalk<BF16, k16BitDots>;
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
