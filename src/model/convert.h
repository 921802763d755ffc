#pragma once

#include "gpt2/dtype.h"
#include "model/transformer.h"

namespace gpt2 {

/// Makes the matrices of a bound transformer, but for wpe, matrices of another type, in parallel;
/// they point into what is appended to its storage. Those that have the type already, and all of
/// them for WeightType::stored, stay where they are. Rounding is to nearest even; int8 and int4 as
/// kernels/pack.h says. Completes the description's bytes.
void convert_all(Transformer& transformer, WeightType type);

}  // namespace gpt2
