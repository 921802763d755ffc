#include "kernels/table.h"
#include "kernels/vec_avx2.h"

constinit const gpt2::Kernels gpt2::kAvx2Kernels = gpt2::kTable<gpt2::avx2::Vec>;
constinit const gpt2::NormKernels gpt2::kAvx2Norm = gpt2::kNormTable<gpt2::avx2::Vec>;
