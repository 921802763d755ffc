#pragma once

#include <string_view>

#include "base/bytes.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// Whether a file begins as torch.save's do.
[[nodiscard]] bool is_pytorch(Bytes file) noexcept;

/// Reads the state_dict of a file of torch.save (pytorch_model.bin, nanoGPT's ckpt.pt): a zip of a
/// pickle and the storages (PyTorch 1.6 and later), or five pickles and the storages in a row
/// (before). `where` (the path) begins every message. REQUIRES is_pytorch(file).
///
/// Nothing is run: the pickle is read as data, within an allow-list (Pickle). Only what the tensors
/// of the state_dict need is looked at; an optimiser's state stays unread. Of the CRCs in a zip
/// only the pickle's is checked, for the storages' would take longer than loading them (torch.load
/// checks none). Copies together take no more memory than the file has bytes.
///
/// Throws Error: unsupported for TorchScript, big-endian and compressed files and what the
/// allow-list leaves out; invalid_file for what contradicts itself or is cut short.
[[nodiscard]] TensorFile parse_pytorch(Bytes file, std::string_view where);

}  // namespace gpt2
