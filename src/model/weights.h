#pragma once

#include <memory>

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2 {

/// Binds tensors, by HuggingFace's names and shapes, to the parts of a transformer. It uses them
/// where they lie and keeps the checkpoint alive for that; with options.dtype it converts the
/// matrices.
///
/// Names may begin with "transformer." or not, and may say beta and gamma for bias and weight.
/// Buffers of old versions and heads of other model classes are ignored. Throws Error, which lists
/// them after the name of the checkpoint's first file, for tensors that are missing, left over, of
/// another shape or of a type that cannot be used.
[[nodiscard]] std::shared_ptr<Transformer> bind_weights(
    const Config& config, const std::shared_ptr<const Checkpoint>& checkpoint,
    const LoadOptions& options);

}  // namespace gpt2
