#include "kernels/quantized_amx.h"
#include "kernels/table.h"
#include "kernels/vec_avx512.h"

namespace gpt2 {
namespace {

template <class Codes>
constexpr Walks<Kernels::QuantizedMatmulKernel> with_amx(
    Walks<Kernels::QuantizedMatmulKernel> walks) {
  walks.walk[0].kernel = amx_matmul<avx512::Vec, Codes, kOnePanel>;
  walks.walk[1].kernel = amx_matmul<avx512::Vec, Codes, kOnePanelFar>;
  walks.walk[2].kernel = amx_matmul<avx512::Vec, Codes, kFourPanels>;
  walks.walk[3].kernel = amx_matmul<avx512::Vec, Codes, kFourPanelsAhead>;
  return walks;
}

constexpr Kernels with_amx(Kernels table) {
  table.name = "avx512_amx";
  table.matmul_int8 = with_amx<Int8Codes>(table.matmul_int8);
  table.matmul_int4 = with_amx<Int4Codes>(table.matmul_int4);
  table.dot_limit = amx_dot_limit<avx512::Vec>;
  return table;
}

}  // namespace

constinit const Kernels kAvx512Kernels = kTable<avx512::Vec>;
constinit const Kernels kAvx512AmxKernels = with_amx(kTable<avx512::Vec>);
constinit const NormKernels kAvx512Norm = kNormTable<avx512::Vec>;

}  // namespace gpt2
