#include "kernels/table.h"
#include "kernels/vec_neon.h"

const gpt2::Kernels* const gpt2::kNeonDotprodKernels = &gpt2::kTable<gpt2::neon_dotprod::Vec>;
