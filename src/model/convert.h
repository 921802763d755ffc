#pragma once

#include <functional>
#include <span>

#include "base/mapped_file.h"
#include "gpt2/weight_type.h"
#include "model/transformer.h"

namespace gpt2 {

/// Converts the matrices of a bound transformer to another type, in parallel. The results lie in
/// buffers that are appended to its storage. wpe stays as it is, and so do matrices that have the
/// type already or are quantized, and all matrices for WeightType::stored. Floats are rounded to
/// nearest even; model/quantize.h says how int8 and int4 are made. Completes the description's
/// bytes.
///
/// Drops the pages of matrices that lie in one of `files` as soon as they are converted, so that
/// the files and the results are not in memory together. Files that another model is likely to read
/// should not be listed, because it would have to read the pages again.
///
/// Calls `progress` as LoadOptions says. What it throws passes through.
void convert_all(Transformer& transformer, WeightType type, std::span<const MappedFile> files,
                 const std::function<void(double share)>& progress = {});

}  // namespace gpt2
