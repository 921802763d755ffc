// WebAssembly cannot prefetch. The builtin makes no instruction, but the loops around it would
// stay, and they took a fourth of the time of int8.
#define __builtin_prefetch(address, ...) static_cast<void>(address)

#include "kernels/table.h"
#include "kernels/vec_wasm.h"

// A module has to be small. Therefore each product has one of its walks, and what is not a product
// calls fma() as a function where it is not an instruction. Products must not: while WebKitGTK 2.50
// replaces the code of a loop by faster code, a call in this loop may lose its vectors.

namespace gpt2 {
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

constexpr Kernels small_table() {
  constexpr const Kernels& fast = kTable<wasm::FastVec>;
  Kernels table = kTable<wasm::Vec>;
  table.matmul_kn_f32 = one_of(fast.matmul_kn_f32, 1);
  table.matmul_kn_f16 = one_of(fast.matmul_kn_f16, 1);
  table.matmul_kn_bf16 = one_of(fast.matmul_kn_bf16, 1);
  table.matmul_chunks_kn_f32 = kOneRow<wasm::FastVec, F32, kChunkVecs>;
  table.matmul_chunks_kn_f16 = kOneRow<wasm::FastVec, F16>;
  table.matmul_chunks_kn_bf16 = kOneRow<wasm::FastVec, BF16>;
  table.matmul_nk_f32 = one_of(fast.matmul_nk_f32, 1);
  table.matmul_nk_f16 = one_of(fast.matmul_nk_f16, 1);
  table.matmul_nk_bf16 = one_of(fast.matmul_nk_bf16, 1);
  table.matmul_int8 = one_of(fast.matmul_int8, 0);
  table.matmul_int4 = one_of(fast.matmul_int4, 0);
  for (auto& limit : table.read_limit) limit = nullptr;  // there is no gpt2 bench
  table.fma_limit = nullptr;
  table.dot_limit = nullptr;
  return table;
}

}  // namespace

constinit const Kernels kWasmKernels = small_table();
constinit const NormKernels kWasmNorm = kNormTable<wasm::Vec>;

}  // namespace gpt2
