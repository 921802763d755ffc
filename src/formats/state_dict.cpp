#include "formats/state_dict.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"

namespace gpt2 {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

// In read_size() and read_sizes(), `where` names the tensor or storage.

std::size_t read_size(const Value& value, const char* what, std::string_view where) {
  const bool is_integer = value.kind == Kind::integer;
  if (is_integer && std::in_range<std::size_t>(value.integer)) {
    return static_cast<std::size_t>(value.integer);
  }
  fail(where, "the ", what, " is ", is_integer ? std::to_string(value.integer) : describe(value),
       "; expected a whole number up to ", SIZE_MAX);
}

std::vector<std::size_t> read_sizes(const Value& tuple, const char* what, std::string_view where) {
  if (tuple.kind != Kind::tuple || tuple.items.size() > kMaxRank) {
    fail(where, "the ", what, " is not a tuple of at most ", kMaxRank, " numbers");
  }
  std::vector<std::size_t> sizes;
  for (const Value* item : tuple.items) sizes.push_back(read_size(*item, what, where));
  return sizes;
}

bool lies_in_storage(const StoredTensor& tensor) {
  if (std::ranges::count(tensor.shape.sizes(), 0u) > 0) return true;
  // The elements that remain after subtracting the extents of the dimensions so far.
  std::size_t room = tensor.storage.elements;
  for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
    const std::size_t steps = tensor.shape[i] - 1;
    const std::size_t stride = tensor.strides[i];
    if (stride != 0 && steps > room / stride) return false;
    room -= steps * stride;
  }
  return tensor.offset < room;
}

// `value` has the arguments of _rebuild_tensor_v2: storage, offset, size, stride and more.
StoredTensor read_tensor(std::string_view name, const Value& value, std::string_view file) {
  const std::string where = concat(file, ": tensor ", quote(name));
  if (name.size() > kMaxTensorName) {
    fail(where, "a name of ", name.size(), " bytes; expected at most ", kMaxTensorName);
  }
  const Value& storage = *value.items[0];
  if (storage.kind != Kind::storage) {
    fail(where, "its storage is ", describe(storage), "; expected a storage");
  }
  StoredTensor tensor{.name = std::string(name),
                      .storage = read_storage(storage, file),
                      .offset = read_size(*value.items[1], "offset", where),
                      .shape = Shape(read_sizes(*value.items[2], "size", where)),
                      .strides = read_sizes(*value.items[3], "stride", where)};
  const std::string shape = tensor.shape.to_string();
  if (tensor.strides.size() != tensor.shape.rank()) {
    fail(where, tensor.strides.size(), " strides for shape ", shape);
  }
  if (!lies_in_storage(tensor)) {
    fail(where, "shape ", shape, " at offset ", tensor.offset, " reaches outside its storage of ",
         tensor.storage.elements, " elements");
  }
  return tensor;
}

// Returns the entries of a dict whose keys are strings. Throws if a key appears twice, because
// Python would silently keep only the last value.
using Entries = std::vector<std::pair<std::string_view, const Value*>>;
Entries entries_of(const Value& dict, std::string_view where) {
  Entries entries;
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& key = *dict.items[i];
    if (key.kind != Kind::text) continue;
    if (!keys.insert(key.text).second) {
      fail(where, "key ", quote(key.text), " appears twice in one dict");
    }
    entries.emplace_back(key.text, dict.items[i + 1]);
  }
  return entries;
}

const Value* find_dict(const Value& root, std::string_view key) {
  const Value* const value = root.find(key);
  return value != nullptr && value->kind == Kind::dict ? value : nullptr;
}

ModelArgs read_model_args(const Value& args, std::string_view where) {
  ModelArgs result;
  for (const auto& [name, value] : entries_of(args, where)) {
    const bool is_number = value->kind == Kind::integer || value->kind == Kind::boolean;
    if (is_number) result.emplace(name, value->integer);
  }
  return result;
}

// Returns the sizes of the model, or nullptr if the file has none: nanoGPT's dict "model_args", or
// the attributes of the GPTConfig that build-nanogpt stores under "config".
const Value* find_model_args(const Value& root) {
  if (const Value* const args = find_dict(root, "model_args")) return args;
  const Value* const config = root.find("config");
  if (config == nullptr || config->kind != Kind::opaque || config->items.empty()) return nullptr;
  const Value* const state = config->items[0];
  const auto has = [&](const char* key) { return state->find(key) != nullptr; };
  const bool is_config = state->kind == Kind::dict && std::ranges::all_of(kSizesOfModelArgs, has);
  return is_config ? state : nullptr;
}

[[noreturn]] void fail_without_tensors(const Entries& entries, std::string_view where) {
  constexpr std::size_t kShown = 5;
  std::string shown;
  for (std::size_t i = 0; i < std::min(entries.size(), kShown); ++i) {
    const auto& [key, value] = entries[i];
    shown += (i ? ", " : "") + quote(key);
    if (value->kind == Kind::opaque) shown += concat(" (", describe(*value), ")");
  }
  fail(where, "holds a dict without tensors; its keys: ", shown,
       entries.size() > kShown ? ", ..." : "");
}

// Throws for an object in the place of a weight, which only code could make.
void refuse_weight(std::string_view name, const Value& value, std::string_view where) {
  const bool is_weight = name.ends_with(".weight") || name.ends_with(".bias");
  if (!is_weight || value.kind != Kind::opaque) return;
  fail(ErrorCode::unsupported, where, "tensor ", quote(name), " is ", describe(value),
       ", which only its code could make, and no code in a pickle is executed: save the model's "
       "state_dict()");
}

}  // namespace

Storage read_storage(const Value& storage, std::string_view file) {
  const Value& word = *storage.items[0];
  const Value& type = *storage.items[1];
  const Value& key = *storage.items[2];
  if (type.kind == Kind::opaque) {
    fail(ErrorCode::unsupported, file, "the type of a storage is ", describe(type));
  }
  if (word.text != "storage" || type.kind != Kind::name || !type.name->storage ||
      key.kind != Kind::text) {
    fail(file, "a storage is not described as ('storage', type, key, location, size)");
  }
  const std::string where = concat(file, ": storage ", quote(key.text));
  // PyTorch before 0.4 wrote this for a storage that is part of another one.
  if (storage.items.size() > 5 && storage.items[5]->kind != Kind::none) {
    fail(where, "it is a view of another storage; save the file again with a newer PyTorch");
  }
  const std::size_t elements = read_size(*storage.items[4], "size", where);
  const auto bytes = checked_product(std::array{elements}, bits_of(*type.name->storage) / 8);
  if (!bytes) fail(where, "the size ", elements, " is too large");
  return {key.text, *type.name->storage, elements, *bytes};
}

StateDict read_state_dict(const Value& root, std::string_view where) {
  if (root.kind != Kind::dict) {
    fail(where, "holds ", describe(root),
         "; expected a state_dict, a dict of names and tensors: save the model's state_dict()");
  }
  StateDict state;
  const Value* dict = find_dict(root, "model");
  const Value* const args = dict ? find_model_args(root) : nullptr;
  if (args) state.model_args = read_model_args(*args, where);
  for (const char* key : {"state_dict", "model_state_dict", "module"}) {
    if (!dict) dict = find_dict(root, key);
  }
  if (dict) {
    for (const auto& [name, value] : entries_of(root, where)) {
      if (value != dict && value != args) state.ignored.emplace_back(name);
    }
  }
  const Entries entries = entries_of(dict ? *dict : root, where);
  for (const auto& [name, value] : entries) {
    if (value->kind != Kind::tensor) {
      refuse_weight(name, *value, where);
      state.ignored.emplace_back(name);
      continue;
    }
    if (state.tensors.size() == kMaxTensors) fail(where, "more than ", kMaxTensors, " tensors");
    state.tensors.push_back(read_tensor(name, *value, where));
  }
  if (state.tensors.empty()) fail_without_tensors(entries, where);
  return state;
}

}  // namespace gpt2
