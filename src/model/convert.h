#pragma once

#include <functional>
#include <span>

#include "base/mapped_file.h"
#include "gpt2/types.h"
#include "model/transformer.h"

namespace gpt2 {

/// Throws Error(invalid_argument) if there is no such type.
void check_weight_type(WeightType type);

/// Whether convert_all() changes a matrix of the transformer.
[[nodiscard]] bool needs_conversion(const Transformer& transformer, WeightType type);

/// Converts the matrices of a transformer that has its weights to another type, in parallel. The
/// results lie in one new buffer, which is added to transformer.storage, because only a large
/// buffer has large pages. Does not convert wpe, matrices that have the type already, and quantized
/// matrices. Converts nothing if the type is WeightType::stored. Floats are rounded to nearest,
/// ties to even; model/quantize.h describes how weights are quantized to int8 and int4. Adds the
/// bytes of all matrices to the description.
///
/// As soon as a matrix that lies in one of `files` is converted, drops its pages, so that the whole
/// files and all results are never in memory together. Do not list files that another model is
/// likely to read, because it would have to read the pages again.
///
/// Calls `progress` as described for LoadOptions::progress. If it throws, passes the exception on.
void convert_all(Transformer& transformer, WeightType type, std::span<const MappedFile> files,
                 const std::function<void(double share)>& progress = {});

}  // namespace gpt2
