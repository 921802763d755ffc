#pragma once

#include "gpt2/weight_type.h"
#include "model/transformer.h"

namespace gpt2 {

/// Converts the matrices of a bound transformer to another type, in parallel. The results lie in
/// buffers that are appended to its storage. Matrices that stay as they are: those that have the
/// type already or are packed, wpe, and all of them for WeightType::stored. Rounds to nearest even;
/// model/quantize.h says how int8 and int4 are made. Completes the description's bytes.
void convert_all(Transformer& transformer, WeightType type);

}  // namespace gpt2
