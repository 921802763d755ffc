#include "kernels/table.h"
#include "kernels/vec_scalar.h"

namespace gpt2 {

// Here arithmetic takes longer than reading the weights in any order, so there is one walk of each
// kind. Compiling all of them takes four times as long.
template <class Stored>
inline constexpr Walks<Kernels::ChunksKernel> kChunkWalks<scalar::Vec, Stored> = {
    .count = 1,
    .walk = {{"4 rows of 2 vectors",
              matmul_chunks_kn<scalar::Vec, ChunkWalk{4, 2, Prefetch::none, false}, Stored>}}};

template <class Stored>
inline constexpr Walks<Kernels::MatmulKernel> kDotWalks<scalar::Vec, Stored> = {
    .count = 1,
    .walk = {{"2 streams of 256 bytes", matmul_nk<scalar::Vec, DotWalk{2, 256, 0}, Stored>}}};

template <class Codes>
inline constexpr Walks<Kernels::QuantizedMatmulKernel> kQuantizedWalks<scalar::Vec, Codes> = {
    .count = 1, .walk = {{"1 panel, prefetched", quantized_matmul<scalar::Vec, Codes, kOnePanel>}}};

constinit const Kernels kScalarKernels = kTable<scalar::Vec>;
constinit const NormKernels kScalarNorm = kNormTable<scalar::Vec>;

}  // namespace gpt2
