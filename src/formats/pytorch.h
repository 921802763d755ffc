#pragma once

#include <string_view>

#include "base/bytes.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// Returns whether a file begins like one that torch.save wrote.
[[nodiscard]] bool is_pytorch(Bytes file) noexcept;

/// Reads the state_dict of a file that torch.save wrote (pytorch_model.bin, nanoGPT's ckpt.pt).
/// Such a file is a zip archive of a pickle and the storages (PyTorch 1.6 and later), or a sequence
/// of five pickles and the storages (earlier versions). Messages begin with `where`, the path.
/// REQUIRES: is_pytorch(file).
///
/// Executes nothing: the pickle is read as data, and what only code could make is left out (see
/// Pickle). Reads the storages of the state_dict only, and not, for example, the state of an
/// optimizer. Checks the CRC of the pickle in a zip archive, but not the CRCs of the storages,
/// because that would take longer than loading them (torch.load checks none). The copies take no
/// more memory than the file has bytes.
///
/// Throws Error(unsupported) for TorchScript, for big-endian and compressed files, and for a weight
/// that only code could make. Throws Error(invalid_file) if the file contradicts itself or is cut
/// short.
[[nodiscard]] TensorFile parse_pytorch(Bytes file, std::string_view where);

}  // namespace gpt2
