#include "kernels/table.h"
#include "kernels/vec_neon.h"

constinit const gpt2::Kernels gpt2::kNeonKernels = gpt2::kTable<gpt2::neon::Vec>;
constinit const gpt2::NormKernels gpt2::kNeonNorm = gpt2::kNormTable<gpt2::neon::Vec>;
