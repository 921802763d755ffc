#include "support/torch_file.h"

#include "support/bytes.h"
#include "support/zip_writer.h"

namespace gpt2::test {

std::string py_text(std::string_view text) {
  return "X" + little_endian(static_cast<std::uint32_t>(text.size())) + std::string(text);
}

std::string py_int(std::int32_t value) {
  return "J" + little_endian(static_cast<std::uint32_t>(value));
}

std::string py_global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string py_tuple(const std::vector<std::string>& items) {
  std::string pickle = "(";
  for (const std::string& item : items) pickle += item;
  return pickle + "t";
}

std::string py_ints(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  for (const std::int32_t value : values) items.push_back(py_int(value));
  return py_tuple(items);
}

std::string py_storage(std::string_view type, std::string_view key, std::int32_t elements,
                       bool legacy) {
  std::vector<std::string> items = {py_text("storage"), py_global("torch", type), py_text(key),
                                    py_text("cpu"), py_int(elements)};
  if (legacy) items.emplace_back("N");
  return py_tuple(items) + "Q";
}

std::string py_tensor(const std::string& storage, std::int32_t offset,
                      const std::vector<std::int32_t>& size,
                      const std::vector<std::int32_t>& stride) {
  return py_global("torch._utils", "_rebuild_tensor_v2") +
         py_tuple({storage, py_int(offset), py_ints(size), py_ints(stride), "\x89", py_dict({})}) +
         "R";
}

std::string py_dict(const std::vector<Item>& items) {
  std::string pickle = py_global("collections", "OrderedDict") + ")R(";
  for (const auto& [name, value] : items) pickle += py_text(name) + value;
  return pickle + "u";
}

std::string torch_zip(const std::string& pickle, const std::vector<StoredBytes>& storages) {
  std::vector<ZipMember> members = {{.name = "archive/data.pkl", .data = kProto2 + pickle + "."}};
  for (const auto& [key, bytes] : storages) {
    members.push_back({.name = "archive/data/" + key, .data = bytes});
  }
  members.push_back({.name = "archive/version", .data = "3\n"});
  return write_zip(members, {.data_descriptors = true});
}

std::string torch_legacy(const std::string& pickle, const std::vector<StoredBytes>& storages,
                         std::size_t element_size) {
  const std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  const std::string system = "}(" + py_text("protocol_version") + "M\xe9\x03" +
                             py_text("little_endian") + "\x88" + py_text("type_sizes") + "}u";
  std::string keys = "](";
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys += py_text(key);
    data += little_endian(static_cast<std::uint64_t>(bytes.size() / element_size)) + bytes;
  }
  std::string file;
  for (const std::string& part : {magic, std::string("M\xe9\x03"), system, pickle, keys + "e"}) {
    file += kProto2 + part + ".";
  }
  return file + data;
}

}  // namespace gpt2::test
