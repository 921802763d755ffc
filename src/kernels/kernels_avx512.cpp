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

constexpr Kernels kAmxTable = with_amx(kTable<avx512::Vec>);

}  // namespace

const Kernels* const kAvx512Kernels = &kTable<avx512::Vec>;
const Kernels* const kAvx512AmxKernels = &kAmxTable;

}  // namespace gpt2
