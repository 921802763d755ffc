#include "kernels/table.h"
#include "kernels/vec_wasm.h"

namespace {

// A module has to be small, and here the walks hardly differ: what takes the time is fma().
template <class Kernel>
constexpr gpt2::Walks<Kernel> one_of(const gpt2::Walks<Kernel>& walks, std::size_t i) {
  return {.count = 1, .walk = {walks.walk[i]}};
}

constexpr gpt2::Kernels small_table() {
  gpt2::Kernels table = gpt2::kTable<gpt2::wasm::Vec>;
  for (auto* const walks : {&table.matmul_kn_f32, &table.matmul_kn_f16, &table.matmul_kn_bf16}) {
    *walks = one_of(*walks, 1);
  }
  for (auto* const walks :
       {&table.matmul_chunks_kn_f32, &table.matmul_chunks_kn_f16, &table.matmul_chunks_kn_bf16}) {
    *walks = one_of(*walks, 5);
  }
  for (auto* const walks : {&table.matmul_nk_f32, &table.matmul_nk_f16, &table.matmul_nk_bf16}) {
    *walks = one_of(*walks, 1);
  }
  for (auto* const walks : {&table.matmul_int8, &table.matmul_int4}) *walks = one_of(*walks, 0);
  for (auto& limit : table.read_limit) limit = nullptr;  // there is no gpt2 bench
  table.fma_limit = nullptr;
  table.dot_limit = nullptr;
  return table;
}

}  // namespace

constinit const gpt2::Kernels gpt2::kWasmKernels = small_table();
constinit const gpt2::NormKernels gpt2::kWasmNorm = gpt2::kNormTable<gpt2::wasm::Vec>;
