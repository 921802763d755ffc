#pragma once

#include <memory>

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2 {

/// Makes a transformer from the tensors of a checkpoint, which are identified by HuggingFace's
/// names and must have the shapes that follow from the config. The matrices are used in place, so
/// the transformer keeps the checkpoint alive. If options.dtype asks for another type, converts the
/// matrices.
///
/// The prefix "transformer." of names is optional, and beta and gamma are accepted for bias and
/// weight. Ignores buffers that old versions stored, and heads of other model classes. Throws
/// Error(invalid_file) if tensors are missing, left over, of another shape, or of a type that
/// cannot be used. The message lists them after the name of the checkpoint's first file. Throws
/// Error(invalid_argument) if the checkpoint is quantized and options.dtype asks for another type.
[[nodiscard]] std::shared_ptr<Transformer> bind_weights(
    const Config& config, const std::shared_ptr<const Checkpoint>& checkpoint,
    const LoadOptions& options);

}  // namespace gpt2
