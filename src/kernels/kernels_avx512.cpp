#include "kernels/table.h"
#include "kernels/vec_avx512.h"

namespace gpt2 {
namespace {
constexpr Kernels kTable = table<avx512::Vec>("avx512");
}  // namespace

const Kernels* const kAvx512Kernels = &kTable;

}  // namespace gpt2
