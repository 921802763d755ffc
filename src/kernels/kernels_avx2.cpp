#include "kernels/table.h"
#include "kernels/vec_avx2.h"

const gpt2::Kernels* const gpt2::kAvx2Kernels = &gpt2::kTable<gpt2::avx2::Vec>;
