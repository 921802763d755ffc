#include "kernels/table.h"
#include "kernels/vec_neon.h"

namespace gpt2 {
namespace {
constexpr Kernels kTable = table<neon_dotprod::Vec>("neon_dotprod");
}  // namespace

const Kernels* const kNeonDotprodKernels = &kTable;

}  // namespace gpt2
