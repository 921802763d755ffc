#pragma once

#include <memory>
#include <string>

#include "formats/tensor_table.h"
#include "gpt2/config.h"
#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2 {

/// Named tensors, wherever they come from.
struct TensorSource {
  const TensorTable& tensors;
  std::string where;                  ///< begins messages: the file
  bool linear_layout;                 ///< matrices lie as [out, in]
  std::shared_ptr<const void> owner;  ///< keeps the tensors' bytes; the transformer holds on to it
  ModelDescription description = {};  ///< as far as it is known; the rest is filled in
};

/// Binds tensors, by HuggingFace's names and shapes, to the parts of a transformer, which uses them
/// where they lie or, with options.dtype, makes matrices of another type of them.
///
/// Accepted: names with and without "transformer."; beta and gamma for bias and weight; buffers of
/// old versions and heads of other model classes, which are passed over. Throws Error, listing
/// them, for tensors that are missing, left over, or of another shape or an unusable type.
[[nodiscard]] std::shared_ptr<const Transformer> bind_weights(const Config& config,
                                                              const TensorSource& source,
                                                              const LoadOptions& options);

}  // namespace gpt2
