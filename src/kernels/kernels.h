#pragma once

#include <cstddef>
#include <cstdint>

// What the machine does fast: a table of functions, one table per instruction set, chosen once.
//
// One answer: every function gives the same bits in every table. The rules that make it so:
//   - f32 arithmetic; every multiply-accumulate is one fused multiply-add;
//   - sixteen logical lanes: a reduction is 16 partial results by index mod 16, then one tree,
//     ((i) + (i + 8)), then 4, 2, 1;
//   - a matrix product accumulates k ascending in chunks of kChunk: each chunk starts at zero, and
//     chunk sums are added in order. One fma chain per chunk for weights that lie as [k, n]; 16
//     lane chains per chunk for weights that lie as [n, k], chunk sums added lane by lane, then the
//     tree. A result depends on k alone, never on the rows beside it, the tile or the thread.
//
// All functions are noexcept, allocate nothing and keep no state. Pointers need no alignment beyond
// their type's (weights: none at all). Elements outside the stated ranges are neither read nor
// written. Axes: m rows, k input features (at least one), n output features.

namespace gpt2 {

inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kChunk = 256;  ///< k is summed in chunks of this many
inline constexpr std::size_t kPanel = 32;   ///< columns of a packed panel, and keys of a key panel
/// Consecutive k that share one quantisation scale. 64 for int8 halves the scaling of sums that 32
/// would need, and costs the bundled model 0.06 % more of perplexity.
inline constexpr std::size_t kInt8Block = 64;
inline constexpr std::size_t kInt4Block = 32;
inline constexpr std::size_t kRowGroup = 12;    ///< quantised rows that lie side by side
inline constexpr std::size_t kMaxRows = 512;    ///< the most rows one matmul call takes
inline constexpr std::size_t kFewRows = 64;     ///< up to so many, weights are streamed
inline constexpr std::size_t kMaxQueries = 12;  ///< the most queries of one tile of attention
/// Bytes of a thread's scratch that matmuls need, 64-byte aligned.
inline constexpr std::size_t kMatmulScratchBytes = std::size_t{1} << 20;

[[gnu::always_inline]] constexpr inline std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}
[[gnu::always_inline]] constexpr inline std::size_t round_up(std::size_t a, std::size_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

/// Floats of the chunk sums of one row: those of a chunk are round_up(n, kLanes), one chunk's after
/// another's.
constexpr std::size_t chunk_sums_floats(std::size_t k, std::size_t n) {
  return ceil_div(k, kChunk) * round_up(n, kLanes);
}

using ActivationKernel = void (*)(float* y, std::size_t n) noexcept;

/// A matrix product and what is done to its result before it is stored:
///
///   y = activation(x w + bias)        or, with accumulate,      y = y + activation(x w + bias)
///
///   y (m, n), rows y_stride apart      x (m, k), rows x_stride apart      bias (n) or nullptr
struct Matmul {
  float* y;
  std::size_t y_stride = 0;
  const float* x;
  std::size_t x_stride = 0;
  const void* w;
  std::size_t m, k, n;
  const float* bias = nullptr;
  ActivationKernel activation = nullptr;  ///< nullptr: none
  bool accumulate = false;
};

/// Rows of activations quantised in symmetric blocks along k (the last one filled with zeros),
/// value in [-127, 127]: x = scale * value. `block` is kInt8Block or kInt4Block, as the weights'.
/// A tile reads its rows side by side, so groups of kRowGroup rows lie block by block; what would
/// follow the last row in its group may be read, and does not matter.
struct QuantizedRows {
  std::int8_t* value;    ///< (groups, blocks, kRowGroup, block)
  float* scale;          ///< (groups, blocks, kRowGroup)
  std::int32_t* offset;  ///< (groups, blocks, kRowGroup): -128 times the sum of a block's values
  std::size_t blocks;    ///< ceil(k / block)
};

/// Quantised weights lie in panels of kPanel output columns, blocks ascending within a panel (the
/// last panel and the last block are filled with zero weights and zero scales). A block is
///   f16 scale[kPanel], then
///   int8: u8 code[kInt8Block / 4][kPanel][4], for 4 consecutive k: weight = scale * (code - 128)
///   int4: u8 code[kInt4Block / 8][kPanel][4]: the low nibble of byte i of group g is the code of
///         k = 8 g + i, the high one of k = 8 g + 4 + i; weight = scale * kInt4Codebook[nibble].
inline constexpr std::size_t kInt8BlockBytes = kPanel * 2 + kInt8Block * kPanel;
inline constexpr std::size_t kInt4BlockBytes = kPanel * 2 + kInt4Block * kPanel / 2;

/// Causal attention of one head for `rows` consecutive queries. Query r sees the keys
/// 0 ... first + r:   y[r] = softmax(q[r] k^T * scale) v
///
/// Scores follow the [k, n] rule over head_dim, softmax is max-subtracted with a 16-lane sum over
/// all keys, and the values are mixed by the [k, n] rule over the keys.
struct HeadAttention {
  float* y;  ///< (rows, head_dim)
  std::size_t y_stride;
  const float* q;  ///< (rows, head_dim)
  std::size_t q_stride;
  const float* keys;    ///< panels [ceil(keys / kPanel)][head_dim][kPanel]
  const float* values;  ///< (keys, head_dim)
  std::size_t rows, first, head_dim;
  float scale;
};

/// Bytes of a thread's scratch that attention over up to `keys` keys needs: a tile's scores.
constexpr std::size_t attention_scratch_bytes(std::size_t keys) {
  return kMaxQueries * sizeof(float) * round_up(keys, kPanel);
}

inline constexpr std::size_t kReadWays = 4;  ///< of reading memory: as 1, 2, 4 and 8 streams

struct Kernels {
  const char* name;  ///< "scalar", "avx2", "avx512", "avx512_amx", "neon", "neon_dotprod"

  /// Rows of n, one after the other, each on its own:
  ///   y[i] = (x[i] - mean(x)) / sqrt(var(x) + epsilon) * weight[i] + bias[i]
  /// var is divided by n, in a second pass over the deviations. y may be x. weight and bias may be
  /// nullptr. n >= 1.
  void (*layer_norm)(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t rows, std::size_t n, float epsilon) noexcept;

  /// In place, element by element (torch's formulas, HuggingFace's ACT2FN; gelu_fast is gelu_new).
  ActivationKernel gelu_new, gelu, gelu_10, quick_gelu, relu, relu2, relu6, silu, mish, tanh,
      sigmoid, laplace;

  /// y[i] += x[i]
  void (*add)(float* y, const float* x, std::size_t n) noexcept;

  /// y[i] = x[i], exact. x needs no alignment.
  void (*widen_f32)(float* y, const void* x, std::size_t n) noexcept;
  void (*widen_f16)(float* y, const void* x, std::size_t n) noexcept;
  void (*widen_bf16)(float* y, const void* x, std::size_t n) noexcept;

  /// Columns [n_begin, n_end) of a product whose weights lie as [k, n] (HuggingFace's Conv1D).
  /// n_begin is a multiple of kPanel; so is n_end, or it is n. m <= kMaxRows. scratch:
  /// kMatmulScratchBytes. y must not overlap x.
  using MatmulKernel = void (*)(const Matmul& product, std::size_t n_begin, std::size_t n_end,
                                float* scratch) noexcept;
  MatmulKernel matmul_kn_f32, matmul_kn_f16, matmul_kn_bf16;

  /// One row (m = 1) of such a product in two steps that threads share out: chunk sums [begin, end)
  /// of chunk_sums_floats(k, n), both multiples of kLanes; then, of columns [n_begin, n_end) as
  /// above, what the chunks add up to.
  using ChunksKernel = void (*)(const Matmul& product, std::size_t begin, std::size_t end,
                                float* sums) noexcept;
  ChunksKernel matmul_chunks_kn_f32, matmul_chunks_kn_f16, matmul_chunks_kn_bf16;
  ChunksKernel add_chunks;

  /// The same for weights that lie as [n, k] (torch.nn.Linear; wte as lm_head).
  MatmulKernel matmul_nk_f32, matmul_nk_f16, matmul_nk_bf16;

  /// One row (k) into one row of QuantizedRows: that which the pointers of `y` point at. For int8
  /// weights, and for int4.
  using QuantizeKernel = void (*)(const QuantizedRows& y, const float* x, std::size_t k) noexcept;
  QuantizeKernel quantize_row_int8, quantize_row_int4;

  /// The same product from quantised rows and packed panels (`product.x` is not read). Within a
  /// block the sum is an exact integer; block results are added in order, one fma each:
  ///   y = fma(float(sum), scale_x * scale_w, y)
  using QuantizedMatmulKernel = void (*)(const Matmul& product, const QuantizedRows& x,
                                         std::size_t n_begin, std::size_t n_end,
                                         float* scratch) noexcept;
  QuantizedMatmulKernel matmul_int8, matmul_int4;

  /// scratch: attention_scratch_bytes(first + rows).
  void (*attention)(const HeadAttention& attention, float* scratch) noexcept;

  /// The largest of x[0 ... n), and the first index that holds it; NaN counts as minus infinity.
  /// n >= 1.
  std::size_t (*argmax)(const float* x, std::size_t n) noexcept;

  /// y[i] = exp(x[i] - max); returns the 16-lane sum of y. y may be x.
  float (*exp_sum)(float* y, const float* x, float max, std::size_t n) noexcept;

  /// Gumbel noise: y[i] = -log(-log(u[i])), u[i] = (bits[i] / 2^9 + 0.5) * 2^-23, in (0, 1).
  void (*gumbel)(float* y, const std::uint32_t* bits, std::size_t n) noexcept;

  /// The machine's limits, for measuring: the sum of x, read as fast as memory gives it, in several
  /// ways, of which the fastest is the limit (n a multiple of 32 * kLanes); `count` times kLanes
  /// fused multiply-adds; as many 4-byte dot products. count: a multiple of kLimitStep. What the
  /// last two return means nothing.
  float (*read_limit[kReadWays])(const float* x, std::size_t n) noexcept;
  float (*fma_limit)(std::size_t count) noexcept;
  float (*dot_limit)(std::size_t count) noexcept;
};

inline constexpr std::size_t kLimitStep = 384;

/// The 16 values of an int4 code, ascending, in [-127, 127].
extern const std::int8_t kInt4Codebook[16];

/// Those of the architecture that is compiled for exist; scalar always.
extern const Kernels* const kScalarKernels;
extern const Kernels* const kAvx2Kernels;
extern const Kernels* const kAvx512Kernels;
extern const Kernels* const kAvx512AmxKernels;
extern const Kernels* const kNeonKernels;
extern const Kernels* const kNeonDotprodKernels;

/// The table in use (see runtime.h). Never throws, so that it can be used anywhere: where GPT2_ISA
/// names an unavailable instruction set it is the best table, which gives the same bits.
const Kernels& kernels() noexcept;

/// Throws Error(unsupported) where GPT2_ISA names an unavailable instruction set. Whatever the
/// public interface makes that leads to kernels calls it first, so that the user is told.
void require_isa();

}  // namespace gpt2
