#pragma once

#include <memory>

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2 {

/// Binds a checkpoint's tensors, by HuggingFace's names and shapes, to the parts of a transformer,
/// which keeps the checkpoint's files mapped and uses matrices where they lie.
///
/// Accepted: names with and without "transformer."; beta and gamma for bias and weight; buffers of
/// old versions and heads of other model classes, which are passed over. Throws Error, listing them,
/// for tensors that are missing, left over, or of another shape or an unusable type.
[[nodiscard]] std::shared_ptr<const Transformer> bind_weights(const Config& config,
                                                              Checkpoint checkpoint,
                                                              const LoadOptions& options);

}  // namespace gpt2
