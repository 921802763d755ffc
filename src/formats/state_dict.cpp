#include "formats/state_dict.h"

#include <optional>
#include <set>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/quote.h"

namespace gpt2 {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

// In the following, `where` names the tensor or storage.

std::size_t read_size(const Pickle& pickle, Pickle::Ref ref, const char* what,
                      std::string_view where) {
  const Value& value = pickle[ref];
  if (value.kind == Kind::integer && value.integer >= 0) {
    return static_cast<std::size_t>(value.integer);
  }
  const std::string found = value.kind == Kind::integer ? std::to_string(value.integer)
                                                        : std::string(name_of(value.kind));
  fail(where, "the " + std::string(what) + " is " + found + "; expected a whole number");
}

std::vector<std::size_t> read_sizes(const Pickle& pickle, Pickle::Ref ref, const char* what,
                                    std::string_view where) {
  const Value& tuple = pickle[ref];
  if (tuple.kind != Kind::tuple || tuple.items.size() > kMaxRank) {
    fail(where, "the " + std::string(what) + " is no tuple of at most " + std::to_string(kMaxRank) +
                    " numbers");
  }
  std::vector<std::size_t> sizes;
  for (const Pickle::Ref item : tuple.items) sizes.push_back(read_size(pickle, item, what, where));
  return sizes;
}

// One more than the highest element of the storage that the tensor touches.
std::optional<std::size_t> end_in_storage(const StoredTensor& tensor) {
  std::optional<std::size_t> last = tensor.offset;
  for (std::size_t i = 0; i < tensor.strides.size() && last; ++i) {
    if (tensor.shape[i] == 0) return 0;
    const auto reach = checked_multiply(tensor.shape[i] - 1, tensor.strides[i]);
    last = reach ? checked_add(*last, *reach) : std::nullopt;
  }
  return last ? checked_add(*last, std::size_t{1}) : std::nullopt;
}

// value: the arguments of _rebuild_tensor_v2 (storage, offset, size, stride, ...).
StoredTensor read_tensor(const Pickle& pickle, std::string_view name, const Value& value,
                         std::string_view file) {
  const std::string where = std::string(file) + ": tensor " + quote(name);
  if (name.size() > kMaxTensorName) {
    fail(where, "a name of " + std::to_string(name.size()) + " bytes; expected at most " +
                    std::to_string(kMaxTensorName));
  }
  const Value& storage = pickle[value.items[0]];
  if (storage.kind != Kind::storage) {
    fail(where, "its storage is " + std::string(name_of(storage.kind)) + "; expected a storage");
  }
  StoredTensor tensor{.name = std::string(name),
                      .storage = storage_info(pickle, storage, file),
                      .offset = read_size(pickle, value.items[1], "offset", where),
                      .shape = Shape(read_sizes(pickle, value.items[2], "size", where)),
                      .strides = read_sizes(pickle, value.items[3], "stride", where)};
  if (tensor.strides.size() != tensor.shape.rank()) {
    fail(where,
         std::to_string(tensor.strides.size()) + " strides for shape " + tensor.shape.to_string());
  }
  const auto end = end_in_storage(tensor);
  if (!end || *end > tensor.storage.elements) {
    fail(where, "shape " + tensor.shape.to_string() + " at offset " +
                    std::to_string(tensor.offset) + " reaches outside its storage of " +
                    std::to_string(tensor.storage.elements) + " elements");
  }
  return tensor;
}

// The first keys of a dict, for a message.
std::string keys_of(const Pickle& pickle, const Value& dict) {
  constexpr std::size_t kShown = 5;
  std::string keys;
  for (std::size_t i = 0; i < dict.items.size() && i < 2 * kShown; i += 2) {
    const Value& key = pickle[dict.items[i]];
    keys += (i ? ", " : "") +
            (key.kind == Kind::text ? quote(key.text) : std::string(name_of(key.kind)));
  }
  return keys + (dict.items.size() > 2 * kShown ? ", ..." : "");
}

// Of two values under one key Python would take the last, and forget the first.
void check_keys(const Pickle& pickle, const Value& dict, std::string_view where) {
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& key = pickle[dict.items[i]];
    if (key.kind == Kind::text && !keys.insert(key.text).second) {
      fail(where, "key " + quote(key.text) + " appears twice in one dict");
    }
  }
}

const Value* find_dict(const Pickle& pickle, const Value& root, std::string_view key) {
  const Value* const value = pickle.find(root, key);
  return value != nullptr && value->kind == Kind::dict ? value : nullptr;
}

ModelArgs read_model_args(const Pickle& pickle, const Value& args, std::string_view where) {
  check_keys(pickle, args, where);
  ModelArgs result;
  for (std::size_t i = 0; i + 1 < args.items.size(); i += 2) {
    const Value& key = pickle[args.items[i]];
    const Value& value = pickle[args.items[i + 1]];
    const bool is_number = value.kind == Kind::integer || value.kind == Kind::boolean;
    if (key.kind == Kind::text && is_number) result.emplace(key.text, value.integer);
  }
  return result;
}

}  // namespace

StorageInfo storage_info(const Pickle& pickle, const Value& storage, std::string_view file) {
  const Value& word = pickle[storage.items[0]];
  const Value& type = pickle[storage.items[1]];
  const Value& key = pickle[storage.items[2]];
  if (word.text != "storage" || type.kind != Kind::name || !type.name->storage ||
      key.kind != Kind::text) {
    fail(file, "a storage is not described as ('storage', type, key, location, size)");
  }
  const std::string where = std::string(file) + ": storage " + quote(key.text);
  // Written by PyTorch before 0.4 for storages that are parts of others.
  if (storage.items.size() > 5 && pickle[storage.items[5]].kind != Kind::none) {
    fail(where, "a view of another one; save the file again with a newer PyTorch");
  }
  const std::size_t elements = read_size(pickle, storage.items[4], "size", where);
  const auto bytes = checked_multiply(elements, bits_of(*type.name->storage) / 8);
  if (!bytes) fail(where, "the size " + std::to_string(elements) + " is too large");
  return {key.text, *type.name->storage, elements, *bytes};
}

StateDict read_state_dict(const Pickle& pickle, std::string_view where) {
  const Value& root = pickle.root();
  if (root.kind != Kind::dict) {
    fail(where, "holds " + std::string(name_of(root.kind)) +
                    "; expected a state_dict, a dict of names and tensors");
  }
  StateDict state;
  const Value* dict = &root;
  const Value* args = nullptr;
  if (const Value* const model = find_dict(pickle, root, "model")) {
    dict = model;
    args = find_dict(pickle, root, "model_args");
    if (args != nullptr) state.model_args = read_model_args(pickle, *args, where);
  } else if (const Value* const wrapped = find_dict(pickle, root, "state_dict")) {
    dict = wrapped;
  }

  constexpr std::string_view kCompiled = "_orig_mod.";
  const auto read = [&](const Value& from, bool is_state) {
    check_keys(pickle, from, where);
    for (std::size_t i = 0; i + 1 < from.items.size(); i += 2) {
      const Value& key = pickle[from.items[i]];
      const Value& value = pickle[from.items[i + 1]];
      if (key.kind != Kind::text || &value == dict || &value == args) continue;
      std::string_view name = key.text;
      if (!is_state || value.kind != Kind::tensor) {
        state.ignored.emplace_back(name);
        continue;
      }
      if (name.starts_with(kCompiled)) name.remove_prefix(kCompiled.size());
      state.tensors.push_back(read_tensor(pickle, name, value, where));
    }
  };
  if (dict != &root) read(root, false);
  read(*dict, true);
  if (state.tensors.empty()) {
    fail(where, "holds a dict without tensors; its keys: " + keys_of(pickle, *dict));
  }
  return state;
}

}  // namespace gpt2
