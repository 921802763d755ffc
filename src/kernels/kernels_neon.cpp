#include "kernels/table.h"
#include "kernels/vec_neon.h"

namespace gpt2 {
namespace {
constexpr Kernels kTable = table<neon::Vec>("neon");
}  // namespace

const Kernels* const kNeonKernels = &kTable;

}  // namespace gpt2
