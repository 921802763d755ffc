#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>

#include "base/aligned_buffer.h"
#include "formats/model_files.h"
#include "model/transformer.h"

namespace gpt2 {

/// The matrices that an adapter has changed, in f32, by the addresses of their elements.
using MergedMatrices = std::map<const std::byte*, std::shared_ptr<AlignedBuffer<float>>>;

/// Merges a LoRA adapter of PEFT (https://github.com/huggingface/peft) into a transformer that has
/// its weights. A pair of matrices lora_A [r, in] and lora_B [out, r] adds
/// scaling * (lora_B lora_A) to the matrix of its module, transposed if this is [in, out]. The
/// scaling is lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora. With use_dora, each output
/// feature then gets the length in lora_magnitude_vector. lora_B.bias adds to the bias. Any other
/// tensor replaces the one of the same name. If wte or lm_head changes, the two are no longer tied:
/// in PEFT, the other one keeps the base's matrix.
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

}  // namespace gpt2
