#include "formats/pytorch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "formats/pickle.h"
#include "formats/state_dict.h"
#include "formats/zip.h"

namespace gpt2 {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
// The first pickle of a file in the old format is the number 0x1950a86a20f9469cfc6c. Before it,
// protocols 2 and 3 have two bytes, and protocols 4 and 5 have eleven, of which nine are a frame.
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::int64_t kLegacyProtocol = 1001;

// Returns where the first pickle of a file in the old format ends, or 0 for another file.
std::size_t end_of_magic(std::string_view text) noexcept {
  const std::string_view begin = text.substr(0, 11 + kLegacyMagic.size());
  const std::size_t at = begin.starts_with('\x80') ? begin.find(kLegacyMagic) : begin.npos;
  return at == begin.npos ? 0 : at + kLegacyMagic.size();
}

// -- From a storage to a tensor

bool is_contiguous(const StoredTensor& tensor) {
  std::size_t expected = 1;
  for (std::size_t i = tensor.strides.size(); i-- > 0;) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// Returns a copy of the elements in row-major order.
AlignedBuffer<std::byte> gather(const StoredTensor& tensor, std::size_t bytes) {
  const std::size_t element = bits_of(tensor.storage.dtype) / 8;
  AlignedBuffer<std::byte> copy(bytes);
  std::vector<std::size_t> index(tensor.strides.size());
  std::size_t source = tensor.offset;
  for (std::size_t at = 0; at < bytes; at += element) {
    std::memcpy(copy.data() + at, &tensor.storage.content[source * element], element);
    for (std::size_t i = index.size(); i-- > 0;) {
      source += tensor.strides[i];
      if (++index[i] < tensor.shape[i]) break;
      source -= tensor.strides[i] * tensor.shape[i];
      index[i] = 0;
    }
  }
  return copy;
}

// Adds views of the tensors to `result`. Copies the tensors that are not in row-major order, and
// throws if the copies would take more than `room_for_copies` bytes.
void add_tensors(TensorFile& result, const std::vector<StoredTensor>& tensors,
                 std::size_t room_for_copies, std::string_view where) {
  for (const StoredTensor& tensor : tensors) {
    const auto& storage = tensor.storage;
    const auto refuse = [&](const auto&... parts) {
      fail(where, "tensor ", quote(tensor.name), parts...);
    };
    const std::size_t element = bits_of(storage.dtype) / 8;
    const auto bytes = checked_product(tensor.shape.sizes(), element);
    if (!bytes) refuse(" of shape ", tensor.shape.to_string(), " is too large");
    TensorView view{storage.dtype, tensor.shape, storage.content.data(), *bytes};
    if (*bytes != 0 && is_contiguous(tensor)) {
      view.data = storage.content.subspan(tensor.offset * element, *bytes).data();
    } else if (*bytes != 0) {
      if (*bytes > room_for_copies) {
        refuse(" of shape ", tensor.shape.to_string(),
               " repeats elements; expected no more bytes than the file has");
      }
      room_for_copies -= *bytes;
      view.data = result.copies.emplace_back(gather(tensor, *bytes)).data();
    }
    result.tensors.emplace(tensor.name, std::move(view));
  }
}

// -- The zip format

// Returns the directory of the archive that contains all files, with a slash at its end.
std::string top_of(const ZipReader& zip, std::string_view where) {
  for (const auto& [name, entry] : zip.files()) {
    const std::string top(name.substr(0, name.find('/') + 1));
    if (!top.empty() && name == top + "data.pkl") return top;
  }
  fail(where, "a zip archive without a data.pkl; expected one that torch.save wrote");
}

StateDict read_zip(Bytes file, std::string_view where) {
  const ZipReader zip(file, where);
  const std::string top = top_of(zip, where);
  if (zip.files().contains(top + "constants.pkl")) {
    fail(ErrorCode::unsupported, where,
         "a TorchScript program; save the model's state_dict() instead");
  }
  if (zip.files().contains(top + "byteorder")) {
    const std::string_view order = text_of(zip.content(top + "byteorder"));
    if (order != "little") {
      fail(ErrorCode::unsupported, where, "byte order ", quote(order), "; expected 'little'");
    }
  }
  const Pickle pickle(zip.verified_content(top + "data.pkl"), 0, where);
  StateDict state = read_state_dict(*pickle.root, where);
  for (StoredTensor& tensor : state.tensors) {
    Storage& storage = tensor.storage;
    storage.content = zip.content(concat(top, "data/", storage.key));
    if (storage.content.size() != storage.bytes) {
      fail(where, "tensor ", quote(tensor.name), ": its storage has ", storage.content.size(),
           " bytes; expected ", storage.bytes);
    }
  }
  return state;
}

// -- The format before PyTorch 1.6

using Storages = std::map<std::string_view, Storage>;

// Returns all storages that the pickle refers to. The state_dict need not use all of them.
Storages storages_of(const Pickle& object, std::string_view where) {
  Storages storages;
  for (const Pickle::Value& value : object.values) {
    if (value.kind != Pickle::Kind::storage) continue;
    const Storage storage = read_storage(value, where);
    const Storage& first = storages.emplace(storage.key, storage).first->second;
    if (first.bytes != storage.bytes) fail(where, "storage ", quote(storage.key), " has two sizes");
  }
  return storages;
}

// Finds the content of the storages in the file. After the list of keys, the file has the number of
// elements and then the elements of each storage.
void find_contents(StateDict& state, Storages storages, Bytes file, const Pickle& keys,
                   std::string_view where) {
  if (keys.root->kind != Pickle::Kind::list) fail(where, "no list of storages after the pickles");
  Bytes rest = file.subspan(keys.end);
  for (const Pickle::Value* name : keys.root->items) {
    const std::string_view key = name->text;
    const auto found = storages.find(key);
    if (found == storages.end()) fail(where, "nothing refers to storage ", quote(key));
    Storage& storage = found->second;
    if (rest.size() < 8 || rest.size() - 8 < storage.bytes) {
      const std::size_t have = rest.size() < 8 ? 0 : rest.size() - 8;
      fail(where, "the file ends inside storage ", quote(key), ", at byte ", file.size(),
           "; expected ", storage.bytes - have, " more bytes: download it again");
    }
    const auto elements = load_little_endian<std::uint64_t>(rest);
    if (elements != storage.elements) {
      fail(where, "storage ", quote(key), " has ", elements, " elements; expected ",
           storage.elements);
    }
    if (storage.content.data()) fail(where, "storage ", quote(key), " appears twice");
    storage.content = rest.subspan(8, storage.bytes);
    rest = rest.subspan(8 + storage.bytes);
  }
  for (StoredTensor& tensor : state.tensors) {
    tensor.storage.content = storages.at(tensor.storage.key).content;
    if (tensor.storage.content.data()) continue;
    fail(where, "tensor ", quote(tensor.name), ": its storage is missing");
  }
}

StateDict read_legacy(Bytes file, std::string_view where) {
  const Pickle protocol(file, end_of_magic(text_of(file)), where);
  if (protocol.root->kind != Pickle::Kind::integer || protocol.root->integer != kLegacyProtocol) {
    fail(ErrorCode::unsupported, where, "not torch.save's protocol ", kLegacyProtocol);
  }
  const Pickle system(file, protocol.end, where);
  const Pickle::Value* const is_little = system.root->find("little_endian");
  if (is_little == nullptr || is_little->kind != Pickle::Kind::boolean || !is_little->integer) {
    fail(ErrorCode::unsupported, where, "not written by a little-endian machine");
  }
  const Pickle object(file, system.end, where);
  const Pickle keys(file, object.end, where);
  StateDict state = read_state_dict(*object.root, where);
  find_contents(state, storages_of(object, where), file, keys, where);
  return state;
}

}  // namespace

bool is_pytorch(Bytes file) noexcept {
  const std::string_view text = text_of(file);
  return text.starts_with(kZipMagic) || end_of_magic(text) != 0;
}

TensorFile parse_pytorch(Bytes file, std::string_view where) {
  const bool is_zip = text_of(file).starts_with(kZipMagic);
  StateDict state = is_zip ? read_zip(file, where) : read_legacy(file, where);
  TensorFile result{.format = concat(state.model_args ? "nanoGPT, " : "",
                                     is_zip ? "PyTorch zip" : "PyTorch pickle (before 1.6)"),
                    .ignored = std::move(state.ignored),
                    .model_args = std::move(state.model_args)};
  add_tensors(result, state.tensors, file.size(), where);
  return result;
}

}  // namespace gpt2
