#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/types.h"

// The tensors of a model by their names, for programs that look into a model.

namespace [[gnu::visibility("default")]] gpt2 {

/// A tensor of a model: a matrix, a bias or the parameters of a LayerNorm. It refers to the memory
/// of the model, which is not copied.
struct NamedWeight {
  /// HuggingFace's name without the prefix "transformer.": "wte.weight", "h.0.ln_1.bias" and so on.
  std::string name;

  /// The shape that the tensor has in files, row-major. HuggingFace's linear layers (Conv1D) have a
  /// row for each input feature: h.0.attn.c_attn.weight is (n_embd, 3 * n_embd). In a checkpoint
  /// of nanoGPT, they have a row for each output feature. The shape of an int8 or int4 matrix is
  /// that of its blocks, whose layout belongs to the library.
  std::vector<std::size_t> shape;

  /// The type of the elements, never `stored`. The parameters of LayerNorm and the biases are f32.
  WeightType type;

  /// The elements, at any alignment. They live as long as the model or one of its copies.
  std::span<const std::byte> bytes;
};

/// Returns all tensors of the model, in the order wte, wpe, the blocks from the first to the last,
/// ln_f. The head, lm_head.weight, is listed only if it is not tied to wte. A bias that the
/// checkpoint does not have is not listed.
///
/// Any thread may call it. Cost: allocates the list. Throws std::bad_alloc.
///
/// Example:
///   for (const NamedWeight& weight : weights_of(model)) {
///     std::cout << weight.name << ": " << weight.bytes.size() << " bytes\n";
///   }
[[nodiscard]] std::vector<NamedWeight> weights_of(const Model& model);

}  // namespace gpt2
