#include "kernels/table.h"
#include "kernels/vec_scalar.h"

constinit const gpt2::Kernels gpt2::kScalarKernels = gpt2::kTable<gpt2::scalar::Vec>;
constinit const gpt2::NormKernels gpt2::kScalarNorm = gpt2::kNormTable<gpt2::scalar::Vec>;
