#pragma once

#include <cstddef>
#include <cstdint>

// The functions that decide how fast a model runs. They form two tables: NormKernels has the kernel
// of LayerNorm, and Kernels has all others. There are two such tables for each instruction set, and
// the program chooses an instruction set once.
//
// Every function gives the same bits in every table. These rules make that possible:
//   - Arithmetic is f32, and every multiply-accumulate is one fused multiply-add. LayerNorm is f64
//     without fused ones, which WebAssembly lacks, and rounds its results to f32 once.
//   - There are sixteen logical lanes, however wide the machine's registers are. A reduction over n
//     elements first forms 16 partial results: lane i takes the elements whose index mod 16 is i.
//     Then a fixed tree combines the lanes: lane i with lane i + 8, then with i + 4, i + 2, i + 1.
//   - A product with float weights sums over k in ascending order, in chunks of kChunk. The sum of
//     each chunk starts at zero, and the chunk sums are added in order. If the weights lie as
//     [k, n], each chunk sum of a result is one chain of fused multiply-adds. If the weights lie as
//     [n, k], it is 16 chains, one for each lane; chunk sums are added lane by lane, and the tree
//     comes last.
//   - A product with quantized weights sums the products of each block exactly, in integers, and
//     adds the blocks in ascending order of k.
//   - So the order of the additions depends on k alone, never on the rows, tiles or threads.
//
// All functions are noexcept, allocate nothing and keep no state. Pointers need the alignment of
// their type and no more; pointers to weights need none. A function neither reads nor writes
// elements outside the ranges stated here. The axes are m (rows), k (input features, at least one)
// and n (output features).

namespace gpt2 {

/// The number of logical lanes. It is the number of floats in one register of AVX-512, in two of
/// AVX2, or in four of NEON.
inline constexpr std::size_t kLanes = 16;

/// Products sum over k in chunks of this size. The chunks of a product are independent, so threads
/// can share them out. 256 rows of a strip of 16 columns take 16 KiB and fit in an L1 cache.
/// Another size would change the bits of every result.
inline constexpr std::size_t kChunk = 256;

/// The number of columns in a panel of weights, and of keys in a panel of keys. 32 scales of 16
/// bits fill one cache line. In trials with panels of 32 columns, f32 products of 512 rows reached
/// 85-95 % of the peak rate of multiply-adds, and int8 products of one row reached 98 % of the
/// memory's bandwidth. Quantized weights have this layout in files as well.
inline constexpr std::size_t kPanel = 32;

/// The number of consecutive k that share one scale of int8 weights. With blocks of 64, half as
/// many sums must be scaled as with blocks of 32, and the perplexity of the bundled model is 0.06 %
/// higher.
inline constexpr std::size_t kInt8Block = 64;

/// The number of consecutive k that share one scale of int4 weights. A 16-bit scale for 32 weights
/// adds half a bit to each of them. kInt4Codebook is fitted to blocks of this size.
inline constexpr std::size_t kInt4Block = 32;

/// The number of quantized rows in a group (see QuantizedRows). A tile of AVX2 or AVX-512 has up to
/// 12 rows. The number must be at most 16, because an AMX tile register has 16 rows.
inline constexpr std::size_t kRowGroup = 12;

/// The max number of rows of one matrix product. It bounds the workspace and the scratch: the sums
/// of 512 rows and 128 columns take 256 KiB.
inline constexpr std::size_t kMaxRows = 512;

/// Products of up to this many rows give each thread one run of columns. If the weights are floats
/// that lie as [k, n], these products can read them in place, and products of more rows pack them
/// first. On Zen 5 with AVX-512 and f32, packing was 0.94 times as fast for 128 rows, and 1.01 for
/// 192. With AVX2 and with bf16, the limit was the same. Because other CPUs may have a lower one,
/// both ways are walks for more than half as many rows.
inline constexpr std::size_t kFewRows = 128;

/// Products of up to this many rows can share out chunks among the threads, not columns, if the
/// weights are floats that lie as [k, n].
inline constexpr std::size_t kChunkRows = 8;

/// The max number of queries in one tile of attention, which is kAttentionRows of AVX-512.
inline constexpr std::size_t kMaxQueries = 12;

/// A query that sees at most this many keys does not prefetch what follows them, because it would
/// fetch more than it reads. The engine prefetches these keys, which the hardware does not find:
/// they lie in short runs. Writing 2 texts with int8 gained 7 %, and 32 texts 6 % (Emerald Rapids).
inline constexpr std::size_t kFewKeys = kChunk / 2;

/// The bytes of scratch that a matrix product needs for each thread, aligned to 64 bytes. The
/// largest use, packed_columns(), takes 640 KiB, so that it fits an L2 cache of 1 MiB.
inline constexpr std::size_t kMatmulScratchBytes = std::size_t{1} << 20;

[[gnu::always_inline]] constexpr inline std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}
[[gnu::always_inline]] constexpr inline std::size_t round_up(std::size_t a, std::size_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

/// The number of chunk sums of one row that a chunk has. The sums of one chunk follow those of the
/// chunk before it.
[[gnu::always_inline]] constexpr inline std::size_t chunk_stride(std::size_t n) {
  return round_up(n, kPanel);
}

/// The number of chunk sums of one row.
constexpr std::size_t chunk_sums_floats(std::size_t k, std::size_t n) {
  return ceil_div(k, kChunk) * chunk_stride(n);
}

using ActivationKernel = void (*)(float* y, std::size_t n) noexcept;

/// A matrix product with its bias, its activation, and the way to store the result:
///
///   y = activation(x w + bias)          or, with `accumulate`,    y = y + activation(x w + bias)
///
///   y (m, n), rows y_stride apart       x (m, k), rows x_stride apart       bias (n) or nullptr
struct Matmul {
  float* y;
  std::size_t y_stride = 0;
  const float* x;
  std::size_t x_stride = 0;
  const void* w;
  std::size_t m, k, n;
  const float* bias = nullptr;
  ActivationKernel activation = nullptr;  ///< nullptr: no activation
  bool accumulate = false;
};

/// Rows of activations, quantized in symmetric blocks along k: x = scale * value, with the values
/// in [-127, 127]. Zeros fill up the last block. `block` is the size of the weights' blocks,
/// kInt8Block or kInt4Block.
///
/// A tile of a product reads several rows at once. Therefore kRowGroup rows form a group. A group
/// stores block 0 of all its rows, then block 1 of all its rows, and so on. If the last group has
/// fewer rows, kernels may read the memory of the missing rows, but the results do not depend on
/// it.
struct QuantizedRows {
  std::int8_t* value;    ///< (groups, blocks, kRowGroup, block)
  float* scale;          ///< (groups, blocks, kRowGroup)
  std::int32_t* offset;  ///< (groups, blocks, kRowGroup): -128 * the sum of a block's values
  std::size_t blocks;    ///< ceil(k / block)
};

/// Quantized weights lie in panels of kPanel output columns, and the blocks of a panel lie in
/// ascending order of k. Past the last column, the last panel has scales of zero. Past the last k,
/// the last block has the codes nearest to zero, which are multiplied with zeros of QuantizedRows.
/// A block begins with
///   f16 scale[kPanel]
/// and then contains the codes:
///   int8: u8 code[kInt8Block / 4][kPanel][4], where the 4 codes of a column are those of
///         4 consecutive k: weight = scale * (code - 128)
///   int4: u8 code[kInt4Block / 8][kPanel][4], where byte i of group g has the code of k = 8 g + i
///         in its low nibble and that of k = 8 g + 4 + i in its high nibble:
///         weight = scale * kInt4Codebook[nibble]
inline constexpr std::size_t kInt8BlockBytes = kPanel * 2 + kInt8Block * kPanel;
inline constexpr std::size_t kInt4BlockBytes = kPanel * 2 + kInt4Block * kPanel / 2;

/// Causal attention of one head for `rows` consecutive queries. Query r sees the keys
/// 0 ... first + r:   y[r] = softmax(q[r] k^T * scale) v
///
/// The keys and values lie in blocks of kChunk keys. The last block that the queries see may end
/// after the panels and the values that they see. The keys and values are f32 or f16, and are
/// widened to f32 before anything is computed with them.
///
/// The scores are summed over head_dim by the rule for weights that lie as [k, n]. The softmax
/// subtracts the max, and sums over all keys in 16 lanes. The weighted sum of the values follows
/// the rule for [k, n], with the keys as k. The result is divided by the sum of the softmax at the
/// end.
struct HeadAttention {
  float* y;  ///< (rows, head_dim)
  std::size_t y_stride;
  const float* q;  ///< (rows, head_dim)
  std::size_t q_stride;
  const void* const* blocks;  ///< block i has the keys and values from key i * kChunk on
  std::size_t keys;           ///< index of the head's keys in a block, which lie as panels
                              ///< [kChunk / kPanel][head_dim][kPanel]
  std::size_t values;         ///< index of the head's values in a block: (kChunk, head_dim)
  std::size_t rows, first, head_dim;
  float scale;
};

/// The bytes of scratch that attention over up to `keys` keys needs for each thread, which hold the
/// scores of one tile of queries.
constexpr std::size_t attention_scratch_bytes(std::size_t keys) {
  return kMaxQueries * sizeof(float) * round_up(keys, kPanel);
}

/// The max number of walks of a kernel.
inline constexpr std::size_t kMaxWalks = 6;

/// A kernel that reads its weights in one order, and prefetches them so far ahead.
template <class Kernel>
struct Walk {
  const char* name;  ///< for people: "8 rows, prefetched"
  Kernel kernel;
  /// Whether one thread computes several rows faster by columns than with this walk.
  bool needs_threads = false;
};

/// A kernel, compiled for several walks. All walks give the same bits. Which one is the fastest
/// depends on the prefetchers of the CPU and on the shape of the weights, so an engine finds it out
/// while it runs (model/workspace.h).
template <class Kernel>
struct Walks {
  std::size_t count;                ///< the number of walks, all of which suit a single row
  std::size_t of_several_rows = 1;  ///< how many of them, from the first on, suit several rows
  std::size_t min_rows = 2, max_rows = kMaxRows;  ///< what several rows are
  Walk<Kernel> walk[kMaxWalks];

  /// Returns how many walks, from the first on, suit a product of this many rows.
  [[nodiscard]] constexpr std::size_t suiting(std::size_t rows) const {
    if (rows == 1) return count;
    return min_rows <= rows && rows <= max_rows ? of_several_rows : 1;
  }

  /// Returns the kernel with the walk to use if nothing has been measured.
  constexpr Kernel operator*() const { return walk[0].kernel; }
};

/// What the blocks of one draw have in common: the counter of a block of Philox is {number of the
/// block, position, sequence}, and its key is the seed.
struct PhiloxStream {
  std::uint32_t position;
  std::uint64_t sequence, seed;
};

/// The number of functions in Kernels::read_limit. They read memory as 1, 2, 4 and 8 streams.
inline constexpr std::size_t kReadWays = 4;

/// The kernel of LayerNorm. Because it has a table of its own, the linker can leave all other
/// kernels out of a program that uses LayerNorm alone (--gc-sections; tests/project/link_test.sh).
struct NormKernels {
  const char* name;  ///< "scalar", "avx2", "avx512", "neon", "neon_dotprod"

  /// For each of `rows` rows of n elements, which lie one after another:
  ///   y[i] = (x[i] - mean(x)) / sqrt(var(x) + epsilon) * weight[i] + bias[i]
  /// var is the mean of the squared deviations (divided by n, not by n - 1). norm.h explains how
  /// both are computed. y may be x. weight and bias may be nullptr. n >= 1.
  void (*layer_norm)(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t rows, std::size_t n, float epsilon) noexcept;
};

/// All other kernels.
struct Kernels {
  const char* name;  ///< as in NormKernels, or "avx512_amx"

  /// Activation functions, in place and element by element. The names are those of HuggingFace's
  /// ACT2FN, and the formulas are torch's. gelu_new also serves as gelu_fast.
  ActivationKernel gelu_new, gelu, gelu_10, quick_gelu, relu, relu2, relu6, silu, mish, tanh,
      sigmoid, laplace, hardswish, leaky_relu, sqrtsoftplus;

  /// y[i] += x[i]
  void (*add)(float* y, const float* x, std::size_t n) noexcept;

  /// y[i] = x[i], exactly. x needs no alignment.
  void (*widen_f32)(float* y, const void* x, std::size_t n) noexcept;
  void (*widen_f16)(float* y, const void* x, std::size_t n) noexcept;
  void (*widen_bf16)(float* y, const void* x, std::size_t n) noexcept;

  /// y[i] = x[i], rounded to f16: to nearest, ties to even. Finite values beyond +-65504, the
  /// largest of f16, become +-65504. Infinity stays infinity, and NaN stays NaN. y needs no
  /// alignment.
  void (*narrow_f16)(void* y, const float* x, std::size_t n) noexcept;

  /// Columns [n_begin, n_end) of a product whose weights lie as [k, n] (HuggingFace's Conv1D).
  /// REQUIRES: n_begin is a multiple of kPanel; n_end is a multiple of kPanel, or is n;
  /// m <= kMaxRows; scratch has kMatmulScratchBytes; y does not overlap x.
  using MatmulKernel = void (*)(const Matmul& product, std::size_t n_begin, std::size_t n_end,
                                float* scratch) noexcept;
  Walks<MatmulKernel> matmul_kn_f32, matmul_kn_f16, matmul_kn_bf16;

  /// At most kChunkRows rows of such a product, in two steps. Threads can share out each of them.
  /// The first step, matmul_chunks_*, computes the chunk sums [begin, end) of
  /// chunk_sums_floats(k, n) for all rows; begin and end are multiples of kPanel. When all chunk
  /// sums have been computed, the second step, add_chunks, adds them up for the columns [begin,
  /// end), and stores the results. These columns must meet the requirements for n_begin and n_end
  /// above. `sums` has room for m * chunk_sums_floats(k, n) floats: the m sums of each panel of
  /// columns lie together, in an order that only these kernels know.
  using ChunksKernel = void (*)(const Matmul& product, std::size_t begin, std::size_t end,
                                float* sums) noexcept;
  Walks<ChunksKernel> matmul_chunks_kn_f32, matmul_chunks_kn_f16, matmul_chunks_kn_bf16;
  ChunksKernel add_chunks;

  /// The same as matmul_kn_* for weights that lie as [n, k] (torch.nn.Linear; wte as lm_head).
  Walks<MatmulKernel> matmul_nk_f32, matmul_nk_f16, matmul_nk_bf16;

  /// The two steps of quantizing one block of one panel of weights w (block, kPanel). The scales
  /// must be rounded to f16 in between.
  ///
  /// The first step finds the scale (kPanel) of each column. For int8 it is the largest magnitude /
  /// 127; NaN is ignored. For int4 it tries several scales and takes the one with the min squared
  /// error. It sums over k in ascending order, and rounds each product before it is added. This is
  /// the exception to the rule of fused multiply-adds.
  ///
  /// The second step stores the nearest codes of weight * (1 / scale), or of 0 if the scale is 0,
  /// in the order that the comment on kInt8BlockBytes describes. A NaN gets the lowest code.
  using FitKernel = void (*)(float* scale, const float* w) noexcept;
  FitKernel fit_int8, fit_int4;
  using EncodeKernel = void (*)(std::uint8_t* codes, const float* w, const float* scale) noexcept;
  EncodeKernel encode_int8, encode_int4;

  /// Quantizes one row x (k) for a product with int8 or with int4 weights. The pointers in `y`
  /// point to the first block of this row within its group.
  using QuantizeKernel = void (*)(const QuantizedRows& y, const float* x, std::size_t k) noexcept;
  QuantizeKernel quantize_row_int8, quantize_row_int4;

  /// The same product, computed from quantized rows and quantized weights. `product.x` is not read.
  /// The sum of a block is an exact integer. The blocks are added in order, with one fma each:
  ///   y = fma(float(sum), scale_x * scale_w, y)
  using QuantizedMatmulKernel = void (*)(const Matmul& product, const QuantizedRows& x,
                                         std::size_t n_begin, std::size_t n_end,
                                         float* scratch) noexcept;
  Walks<QuantizedMatmulKernel> matmul_int8, matmul_int4;

  /// Attention with keys and values of this type. REQUIRES: scratch has
  /// attention_scratch_bytes(first + rows).
  using AttentionKernel = void (*)(const HeadAttention& attention, float* scratch) noexcept;
  AttentionKernel attention_f32, attention_f16;

  /// Returns the first index of the max of x[0 ... n). NaN counts as minus infinity. n >= 1.
  std::size_t (*argmax)(const float* x, std::size_t n) noexcept;

  /// y[i] = exp(x[i] - max). Returns the sum of y, formed in 16 lanes. y may be x.
  float (*exp_sum)(float* y, const float* x, float max, std::size_t n) noexcept;

  /// y[i] = ln y[i]. REQUIRES: y[i] is positive and normal.
  ActivationKernel log;

  /// Random bits: words[4 * i + j] is word j of block number blocks[i] of Philox 4x32-10, a
  /// counter-based generator (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
  /// 1, 2, 3"). The words are a pure function of counter and key.
  void (*philox)(std::uint32_t* words, const std::uint32_t* blocks, std::size_t n,
                 const PhiloxStream& stream) noexcept;

  /// Gumbel noise: y[i] = -log(-log(u[i])) with u[i] = (floor(bits[i] / 2^9) + 0.5) * 2^-23, which
  /// is in (0, 1).
  void (*gumbel)(float* y, const std::uint32_t* bits, std::size_t n) noexcept;

  /// These measure the limits of the machine. The functions of read_limit sum x, which they read in
  /// different ways, as fast as memory delivers it; the fastest of them reaches the limit.
  /// fma_limit computes count * kLanes fused multiply-adds, and dot_limit computes as many dot
  /// products of 4 bytes; their return values have no meaning. REQUIRES: n is a multiple of 32 *
  /// kLanes, and count is a multiple of kLimitStep.
  float (*read_limit[kReadWays])(const float* x, std::size_t n) noexcept;
  float (*fma_limit)(std::size_t count) noexcept;
  float (*dot_limit)(std::size_t count) noexcept;
};

/// One iteration of amx_dot_limit() counts 2 * kRowGroup * kLanes = 384 steps. One iteration of
/// run_chains() counts 16, 24 or 96 steps, depending on the instruction set, which divide 384.
inline constexpr std::size_t kLimitStep = 384;

/// The values of the 16 int4 codes, in ascending order, within [-127, 127].
extern const std::int8_t kInt4Codebook[16];

/// The tables. Only those of the architecture that the library is compiled for are defined, and
/// the scalar ones always are.
extern const Kernels kScalarKernels, kWasmKernels, kAvx2Kernels, kAvx512Kernels, kNeonKernels,
    kNeonDotprodKernels;
extern const Kernels kAvx512AmxKernels;
extern const NormKernels kScalarNorm, kWasmNorm, kAvx2Norm, kAvx512Norm, kNeonNorm,
    kNeonDotprodNorm;

/// Return the tables of the instruction set in use (see runtime.h). They never throw, so that any
/// function can call them: if GPT2_ISA names an instruction set that is not available, they return
/// the best tables, which give the same bits.
const Kernels& kernels() noexcept;
const NormKernels& norm_kernels() noexcept;

/// Throws Error(unsupported) if GPT2_ISA names an instruction set that is not available. The public
/// functions that load a model or make an object that uses kernels call this first, so that the
/// user learns of the mistake.
void require_isa();

}  // namespace gpt2
