#include "kernels/quantized_amx.h"
#include "kernels/table.h"
#include "kernels/vec_avx512.h"

namespace gpt2 {
namespace {

constexpr Kernels with_amx(Kernels table) {
  table.name = "avx512_amx";
  table.matmul_int8 = amx_matmul<avx512::Vec, Int8Codes>;
  table.matmul_int4 = amx_matmul<avx512::Vec, Int4Codes>;
  table.dot_limit = amx_dot_limit<avx512::Vec>;
  return table;
}

// Zen 5 reads f32 weights fastest if only its own prefetchers fetch them, and it reads 16-bit
// weights faster in whole rows than in several chunks at once. Tokens/s when decoding with GPT-2
// 124M and one thread, with these walks and with those of kAvx512Kernels: f32 72.7 and 60.0, bf16
// 132 and 118, f16 136 and 114, int8 292 and 261.
constexpr Kernels with_zen_walks(Kernels table) {
  using Vec = avx512::Vec;
  constexpr ChunkWalk kRows8{.rows = 8, .is_prefetched = false, .has_chunk_streams = false};
  constexpr ChunkWalk kRows16{.rows = 16, .is_prefetched = true, .has_chunk_streams = false};
  constexpr DotWalk kPlainDots{.streams = 4, .step_bytes = 512, .is_prefetched = false};
  constexpr DotWalk kFetchedDots{.streams = 4, .step_bytes = 512, .is_prefetched = true};
  table.matmul_chunks_kn_f32 = matmul_chunks_kn<Vec, kRows8, F32>;
  table.matmul_chunks_kn_f16 = matmul_chunks_kn<Vec, kRows16, F16>;
  table.matmul_chunks_kn_bf16 = matmul_chunks_kn<Vec, kRows16, BF16>;
  table.matmul_nk_f32 = matmul_nk<Vec, kPlainDots, F32>;
  table.matmul_nk_f16 = matmul_nk<Vec, kFetchedDots, F16>;
  table.matmul_nk_bf16 = matmul_nk<Vec, kFetchedDots, BF16>;
  table.matmul_int8 = quantized_matmul<Vec, Int8Codes, false>;
  return table;
}

}  // namespace

constinit const Kernels kAvx512Kernels = kTable<avx512::Vec>;
constinit const Kernels kAvx512ZenKernels = with_zen_walks(kTable<avx512::Vec>);
constinit const Kernels kAvx512AmxKernels = with_amx(kTable<avx512::Vec>);
constinit const NormKernels kAvx512Norm = kNormTable<avx512::Vec>;

}  // namespace gpt2
