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
/// matrices. The matrices of the blocks may also lie as [out, in], like those of torch.nn.Linear,
/// which nanoGPT uses; then the biases may be missing. Merges the adapter in these files, if there
/// is one, before any conversion (see merge_adapter).
///
/// Takes off the prefix that all names of the model share ("transformer.", "module.transformer."
/// and so on), and the names that compilers and trainers put in between. Accepts beta and gamma for
/// bias and weight. With tie_word_embeddings, lm_head.weight may stand for wte.weight; if the file
/// has both and they differ, the result is not tied, as in transformers 5. Rounds F64 to f32.
/// Ignores buffers that old versions stored, and heads of other tasks.
///
/// Throws Error(invalid_file) if tensors are missing, left over, of another shape, of a type that
/// cannot be used, or of two models. The message lists them after the name of the checkpoint's
/// first file. Throws Error(invalid_argument) if the checkpoint is quantized and options.dtype asks
/// for another type.
[[nodiscard]] std::shared_ptr<Transformer> bind_weights(
    Config config, const std::shared_ptr<const Checkpoint>& checkpoint, const LoadOptions& options,
    const ModelFiles* adapter = nullptr);

}  // namespace gpt2
