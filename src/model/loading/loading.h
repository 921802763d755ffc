#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "base/aligned_buffer.h"
#include "base/mapped_file.h"
#include "formats/checkpoint.h"
#include "formats/model_files.h"
#include "gpt2/model.h"
#include "model/transformer.h"

// From the tensors of files to a transformer: weights.cpp binds them, adapter.cpp merges a LoRA
// adapter into them, and convert.cpp converts them to another type.

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

/// Returns element i of a tensor of F64.
[[nodiscard]] inline double f64_at(const TensorView& view, std::size_t i) {
  double value = 0;
  std::memcpy(&value, view.data + i * sizeof value, sizeof value);
  return value;
}

/// The matrices that an adapter has changed, in f32, by the addresses of their elements.
using MergedMatrices = std::map<const std::byte*, std::shared_ptr<AlignedBuffer<float>>>;

/// Merges a LoRA adapter of PEFT (https://github.com/huggingface/peft) into a transformer that has
/// its weights. A pair of matrices lora_A [r, in] and lora_B [out, r] adds
/// scaling * (lora_B lora_A) to the matrix of its module, transposed if this is [in, out]. The
/// scaling is lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora. With use_dora, each output
/// feature then gets the length in lora_magnitude_vector. lora_B.bias adds to the bias.
/// trainable_tokens_delta has rows that replace those of trainable_token_indices, in a tied model
/// also for lm_head. Any other tensor replaces the one of the same name. If wte or lm_head changes
/// otherwise, the two are no longer tied: in PEFT, the other one keeps the base's matrix. If both
/// have another number of rows than in the base, the vocabulary has this size.
///
/// Pairs of modules that the config leaves out (target_modules, exclude_modules,
/// layers_to_transform) do not count, as in PEFT. One of description.warnings names them.
///
/// Computes in double and rounds once, so the results are the same for all instruction sets and
/// numbers of threads. The weights point to the matrices in the result: see keep_used().
///
/// Throws Error: unsupported, if the adapter is of another method or changes more than weights, or
/// if the base is quantized; not_found without a file of tensors; invalid_file for an unusable
/// file, and for a tensor that has no place in the model, another shape, or a value that is not
/// finite. REQUIRES: files.adapter is not empty.
[[nodiscard]] MergedMatrices merge_adapter(Transformer& transformer, const ModelFiles& files);

/// Makes the transformer own those of the matrices that it still uses after convert_all(), and
/// counts them as converted.
void keep_used(Transformer& transformer, const MergedMatrices& matrices);

/// Throws Error(invalid_argument) if there is no such type.
void check_weight_type(WeightType type);

/// Whether convert_all() changes a matrix of the transformer.
[[nodiscard]] bool needs_conversion(const Transformer& transformer, WeightType type);

/// Converts the matrices of a transformer that has its weights to another type, in parallel. The
/// results lie in one new buffer, which is added to transformer.storage, because only a large
/// buffer has large pages. Does not convert wpe, matrices that have the type already, and quantized
/// matrices. Converts nothing if the type is WeightType::stored. Floats are rounded to nearest,
/// ties to even; model/weight.h describes how weights are quantized to int8 and int4. Adds the
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
