#pragma once

#include "support/test.h"

namespace gpt2::test {

/// One file of an archive to be written, and the false values to write for it.
struct ZipMember {
  std::string name;
  std::string data;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> crc32 = {};        ///< instead of the true CRC-32
  std::optional<std::uint32_t> stored_size = {};  ///< the compressed size in the central directory
  std::optional<std::uint64_t> size = {};         ///< the size in the central directory
  std::optional<std::uint64_t> header = {};       ///< the stated offset of the local header
};

struct ZipOptions {
  bool zip64 = false;  ///< 64-bit sizes and offsets; the 32-bit fields are all ones
  bool data_descriptors = false;
  std::string comment = {};
  std::optional<std::uint64_t> count = {};  ///< the stated number of files
};

/// Returns the archive, byte by byte as PKWARE's APPNOTE.TXT defines it. Nothing is compressed.
std::string write_zip(const std::vector<ZipMember>& members, const ZipOptions& options = {});

// Pickles, opcode by opcode. Strings that each push one value can be combined by joining them.
inline const std::string kProto2 = "\x80\x02";
std::string py_text(std::string_view text);                             ///< BINUNICODE
std::string py_int(std::int32_t value);                                 ///< BININT
std::string py_global(std::string_view module, std::string_view name);  ///< GLOBAL
std::string py_tuple(const std::vector<std::string>& items);            ///< MARK items TUPLE
std::string py_ints(const std::vector<std::int32_t>& values);           ///< a tuple of ints
/// ('storage', torch.<type>, key, 'cpu', elements), with a None at the end if legacy; then
/// BINPERSID
std::string py_storage(std::string_view type, std::string_view key, std::int32_t elements,
                       bool legacy = false);
/// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, False, OrderedDict())
std::string py_tensor(const std::string& storage, std::int32_t offset,
                      const std::vector<std::int32_t>& size,
                      const std::vector<std::int32_t>& stride);
/// A name and the pickle of its value, for an OrderedDict.
struct Item {
  std::string name;
  std::string value;
};
std::string py_dict(const std::vector<Item>& items);

/// The key of a storage and its bytes.
struct StoredBytes {
  std::string key;
  std::string bytes;
};

/// Returns the file that torch.save of PyTorch 1.6 and later writes. The pickle is put between
/// PROTO and STOP.
std::string torch_zip(const std::string& pickle, const std::vector<StoredBytes>& storages);

/// Returns the file that torch.save wrote before 1.6. Every storage has elements of `element_size`
/// bytes.
std::string torch_legacy(const std::string& pickle, const std::vector<StoredBytes>& storages,
                         std::size_t element_size = 4);

/// Options for writing a ckpt.pt.
struct NanoGpt {
  std::string prefix = "_orig_mod.";
  std::size_t vocab_size = 0;  ///< if larger than the source's, padding with rows of zeros
  bool bias = true;
  bool zero_bias = false;
  std::string without = {};  ///< a key of model_args to leave out
};

/// Returns the bytes of a ckpt.pt as nanoGPT's train.py saves it, with the weights of a HuggingFace
/// directory. These must be F32 and tied, and have the names of GPT2LMHeadModel.
std::string nanogpt_file(const std::filesystem::path& huggingface, const NanoGpt& nano = {});

}  // namespace gpt2::test
