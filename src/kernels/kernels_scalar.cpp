#include "kernels/table.h"
#include "kernels/vec_scalar.h"

const gpt2::Kernels* const gpt2::kScalarKernels = &gpt2::kTable<gpt2::scalar::Vec>;
