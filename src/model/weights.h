#pragma once

#include <memory>

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2 {

/// Binds tensors, by HuggingFace's names and shapes, to the parts of a transformer, which uses them
/// where they lie, and keeps the checkpoint for that, or, with options.dtype, makes matrices of
/// another type of them. Messages begin with the checkpoint's first file.
///
/// Accepted: names with and without "transformer."; beta and gamma for bias and weight; buffers of
/// old versions and heads of other model classes, which are passed over. Throws Error, listing
/// them, for tensors that are missing, left over, or of another shape or an unusable type.
[[nodiscard]] std::shared_ptr<Transformer> bind_weights(
    const Config& config, const std::shared_ptr<const Checkpoint>& checkpoint,
    const LoadOptions& options);

}  // namespace gpt2
