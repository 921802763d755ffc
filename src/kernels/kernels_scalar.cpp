#include "kernels/table.h"
#include "kernels/vec_scalar.h"

namespace gpt2 {
namespace {
constexpr Kernels kTable = table<scalar::Vec>("scalar");
}  // namespace

const Kernels* const kScalarKernels = &kTable;

}  // namespace gpt2
