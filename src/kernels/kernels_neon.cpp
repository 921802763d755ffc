#include "kernels/table.h"
#include "kernels/vec_neon.h"

const gpt2::Kernels* const gpt2::kNeonKernels = &gpt2::kTable<gpt2::neon::Vec>;
