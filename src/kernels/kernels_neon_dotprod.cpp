#include "kernels/table.h"
#include "kernels/vec_neon.h"

constinit const gpt2::Kernels gpt2::kNeonDotprodKernels = gpt2::kTable<gpt2::neon_dotprod::Vec>;
constinit const gpt2::NormKernels gpt2::kNeonDotprodNorm =
    gpt2::kNormTable<gpt2::neon_dotprod::Vec>;
