#pragma once

#include <string_view>

#include "base/bytes.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// Whether a file begins as a file of torch.save does.
[[nodiscard]] bool is_pytorch(Bytes file) noexcept;

/// Reads the state_dict of a file of torch.save (pytorch_model.bin, nanoGPT's ckpt.pt): a zip of a
/// pickle and the storages (PyTorch 1.6 and later), or five pickles and the storages in a row
/// (before). Messages begin with `where`, the path. REQUIRES: is_pytorch(file).
///
/// Executes nothing: the pickle is read as data, and only names of an allow-list are accepted (see
/// Pickle). Reads only what the tensors of the state_dict need, and not an optimiser's state.
/// Checks the CRC of the pickle in a zip, but not those of the storages, because that would take
/// longer than loading them (torch.load checks none). Copies take no more memory than the file has
/// bytes.
///
/// Throws Error: unsupported for TorchScript, for big-endian and compressed files and for names
/// that are not allowed; invalid_file for a file that contradicts itself or is cut short.
[[nodiscard]] TensorFile parse_pytorch(Bytes file, std::string_view where);

}  // namespace gpt2
