#include "kernels/table.h"
#include "kernels/vec_avx2.h"

namespace gpt2 {
namespace {
constexpr Kernels kTable = table<avx2::Vec>("avx2");
}  // namespace

const Kernels* const kAvx2Kernels = &kTable;

}  // namespace gpt2
