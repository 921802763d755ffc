#include "support/torch_file.h"

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "support/bytes.h"

namespace gpt2::test {
namespace {

std::string u16(std::size_t value) { return little_endian(static_cast<std::uint16_t>(value)); }
std::string u32(std::uint64_t value) { return little_endian(static_cast<std::uint32_t>(value)); }
std::string u64(std::uint64_t value) { return little_endian(value); }

// Computes the CRC bit by bit from the polynomial.
std::uint32_t crc32_of(const std::string& data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::string central_header(const ZipMember& member, std::uint64_t header, bool zip64) {
  const std::uint64_t size = member.size.value_or(member.data.size());
  const std::uint64_t stored = member.stored_size.value_or(static_cast<std::uint32_t>(size));
  const std::string extra =
      zip64 ? u16(0x9999) + u16(1) + "?" + u16(1) + u16(24) + u64(size) + u64(stored) + u64(header)
            : "";
  return u32(0x02014b50) + u16(0) + u16(0) + u16(member.flags) + u16(member.method) + u32(0) +
         u32(member.crc32.value_or(crc32_of(member.data))) + u32(zip64 ? ~0u : stored) +
         u32(zip64 ? ~0u : size) + u16(member.name.size()) + u16(extra.size()) + u16(0) + u16(0) +
         u16(0) + u32(0) + u32(zip64 ? ~0u : header) + member.name + extra;
}

// Returns the transposed matrix of 4-byte elements.
std::string transposed(const std::string& bytes, std::size_t rows, std::size_t columns) {
  std::string result(bytes.size(), '\0');
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::memcpy(&result[4 * (j * rows + i)], &bytes[4 * (i * columns + j)], 4);
    }
  }
  return result;
}

std::string py_size(std::size_t size) { return py_int(static_cast<std::int32_t>(size)); }

std::string model_args(const Config& config, const NanoGpt& nano) {
  std::vector<Item> args = {{"n_layer", py_size(config.n_layer)},
                            {"n_head", py_size(config.n_head)},
                            {"n_embd", py_size(config.n_embd)},
                            {"block_size", py_size(config.n_positions)},
                            {"bias", nano.bias ? "\x88" : "\x89"},
                            {"vocab_size", py_size(std::max(nano.vocab_size, config.vocab_size))},
                            {"dropout", "G" + std::string(8, '\0')}};
  std::erase_if(args, [&](const Item& item) { return item.name == nano.without; });
  return py_dict(args);
}

}  // namespace

std::string write_zip(const std::vector<ZipMember>& members, const ZipOptions& options) {
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::uint64_t header = member.header.value_or(archive.size());
    directory += central_header(member, header, options.zip64);
    const std::size_t known = options.data_descriptors ? 0 : member.data.size();
    const std::string padding = u16(0x4246) + u16(3) + "ZZZ";  // PyTorch aligns its records with
                                                               // such a field
    archive += u32(0x04034b50) + u16(0) + u16(member.flags) + u16(member.method) + u32(0) + u32(0) +
               u32(known) + u32(known) + u16(member.name.size()) + u16(padding.size()) +
               member.name + padding + member.data;
    if (options.data_descriptors) {
      archive += u32(0x08074b50) + u32(crc32_of(member.data)) + u32(member.data.size()) +
                 u32(member.data.size());
    }
  }
  const std::size_t begin = archive.size();
  const std::uint64_t count = options.count.value_or(members.size());
  archive += directory;
  if (options.zip64) {
    const std::size_t end64 = archive.size();
    archive += u32(0x06064b50) + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(count) +
               u64(count) + u64(directory.size()) + u64(begin);
    archive += u32(0x07064b50) + u32(0) + u64(end64) + u32(1);
  }
  return archive + u32(0x06054b50) + u16(0) + u16(0) + u16(options.zip64 ? 0xffff : count) +
         u16(options.zip64 ? 0xffff : count) + u32(options.zip64 ? ~0u : directory.size()) +
         u32(options.zip64 ? ~0u : begin) + u16(options.comment.size()) + options.comment;
}

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

std::string nanogpt_file(const std::filesystem::path& huggingface, const NanoGpt& nano) {
  const Config config = Config::load(huggingface / "config.json");
  const Checkpoint hf = Checkpoint::open(find_model_files(huggingface));
  std::vector<Item> state;
  std::vector<StoredBytes> storages;
  std::string wte;
  for (const auto& [name, view] : hf.tensors) {
    const bool is_bias = name.ends_with(".bias");
    if (is_bias && !nano.bias) continue;
    std::string bytes(reinterpret_cast<const char*>(view.data), view.bytes);
    if (is_bias && nano.zero_bias) bytes.assign(bytes.size(), '\0');
    std::vector<std::int32_t> shape(view.shape.sizes().begin(), view.shape.sizes().end());
    if (name.find(".c_") != std::string::npos && shape.size() == 2) {
      bytes = transposed(bytes, view.shape[0], view.shape[1]);
      std::swap(shape[0], shape[1]);
    }
    if (name.ends_with("wte.weight")) {
      const std::size_t rows = std::max(nano.vocab_size, config.vocab_size);
      bytes.resize(rows * config.n_embd * 4);
      shape[0] = static_cast<std::int32_t>(rows);
    }
    const std::string key = std::to_string(storages.size());
    const std::vector<std::int32_t> strides =
        shape.size() == 2 ? std::vector<std::int32_t>{shape[1], 1} : std::vector<std::int32_t>{1};
    const std::string tensor =
        py_tensor(py_storage("FloatStorage", key, static_cast<std::int32_t>(bytes.size() / 4)), 0,
                  shape, strides);
    if (name.ends_with("wte.weight")) wte = tensor;
    state.push_back({nano.prefix + name, tensor});
    storages.push_back({key, bytes});
  }
  state.push_back({nano.prefix + "lm_head.weight", wte});  // tied, so it has the same storage
  // The storages of the optimizer are not in the file, so that a reader that accesses them fails.
  const std::string moment = py_tensor(py_storage("FloatStorage", "gone", 9), 0, {9}, {1});
  const std::string optimizer =
      py_dict({{"state", "}(" + py_int(0) + py_dict({{"exp_avg", moment}}) + "u"},
               {"param_groups", "]" + py_dict({{"lr", "K\1"}}) + "a"}});
  return torch_zip(py_dict({{"model", py_dict(state)},
                            {"optimizer", optimizer},
                            {"model_args", model_args(config, nano)},
                            {"iter_num", py_int(2000)},
                            {"best_val_loss", moment},
                            {"config", py_dict({{"dataset", py_text("x")}})}}),
                   storages);
}

}  // namespace gpt2::test
