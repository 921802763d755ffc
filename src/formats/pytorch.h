#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_table.h"

namespace gpt2 {

/// What a file of torch.save holds: pytorch_model.bin, nanoGPT's ckpt.pt.
struct PyTorchFile {
  TensorTable tensors;  ///< point into the file, or into `copies`
  /// Tensors whose elements do not follow one another in the file, put in order.
  std::vector<std::vector<std::byte>> copies;
  std::string format;                   ///< for people
  std::vector<std::string> ignored;     ///< the keys of what is no tensor of the model
  std::optional<ModelArgs> model_args;  ///< nanoGPT's
};

/// Whether a file begins as torch.save's do.
[[nodiscard]] bool is_pytorch(std::span<const std::byte> file) noexcept;

/// Reads the state_dict of a file of torch.save: a zip of a pickle and the storages (PyTorch 1.6
/// and later), or five pickles and the storages in a row (before). `where` (the path) begins every
/// message.
///
/// Nothing is run: the pickle is read as data, within an allow-list (Pickle). Only what the tensors
/// of the state_dict need is looked at; an optimiser's state stays unread. Of the CRCs in a zip
/// only the pickle's is checked, for the storages' would take longer than loading them (torch.load
/// checks none). Copies together take no more memory than the file has bytes.
///
/// Throws Error: unsupported for TorchScript, tar, big-endian and compressed files and what the
/// allow-list leaves out; invalid_file for what contradicts itself or is cut short.
[[nodiscard]] PyTorchFile parse_pytorch(std::span<const std::byte> file, std::string_view where);

}  // namespace gpt2
