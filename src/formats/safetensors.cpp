#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/utf8.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.max_depth = 127,  // the limit of the reference's JSON reader
                             .max_values = kMaxTensors * (kMaxRank + 8)};
constexpr std::size_t kPrefix = 8;                 // bytes of the header's length
constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes; the limit of the reference reader

std::string_view header_of(Bytes file, std::string_view where) {
  const std::string_view text = text_of(file);
  if (file.size() < kPrefix) {
    fail(where, "has only ", file.size(), " bytes; expected weights: download it again");
  }
  const std::size_t length = safetensors_header_size(file, where) - kPrefix;
  if (length > file.size() - kPrefix) {
    fail(where, "the header has ", length, " bytes, but the file ends after ",
         file.size() - kPrefix, " of them; download it again");
  }
  const std::string_view header = text.substr(kPrefix, length);
  if (const std::size_t valid = valid_utf8_prefix(header); valid != header.size()) {
    fail(where, "the header is not UTF-8 at byte ", kPrefix + valid);
  }
  return header;
}

// The description of a tensor in the header. Its offsets are not checked yet.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::size_t begin;  // bytes from the start of the data
  std::size_t end;
};

std::vector<std::size_t> read_numbers(const JsonFields& fields, const char* key) {
  const json& list = fields.required_list(key);
  if (list.size() > kMaxRank) fail(fields.where(), key, " has more than ", kMaxRank, " numbers");
  for (const json& number : list) {
    if (whole_number(number)) continue;
    fail(fields.where(), key, " holds ", shown(number), "; expected whole numbers up to ",
         SIZE_MAX);
  }
  return list.get<std::vector<std::size_t>>();
}

Entry read_entry(const std::string& name, const json& value, std::string_view where) {
  const JsonFields fields(value, concat(where, ": tensor ", quote(name)));
  if (name.size() > kMaxTensorName) {
    fail(fields.where(), "a name of ", name.size(), " bytes; expected at most ", kMaxTensorName);
  }
  const auto dtype = dtype_named(fields.required_string("dtype"));
  if (!dtype) fields.refuse("dtype", "a type of the format, such as 'F32'");
  Shape shape(read_numbers(fields, "shape"));
  const std::vector<std::size_t> offsets = read_numbers(fields, "data_offsets");
  if (offsets.size() != 2) {
    fail(fields.where(), "data_offsets has ", offsets.size(), " numbers; expected begin and end");
  }
  return {name, *dtype, std::move(shape), offsets[0], offsets[1]};
}

void check_metadata(const json& metadata, std::string_view where) {
  if (metadata.is_null()) return;
  const JsonFields fields(metadata, concat(where, ": __metadata__"));
  for (const json& value : metadata) {
    if (!value.is_string()) fail(fields.where(), "holds ", shown(value), "; expected only strings");
  }
}

std::vector<Entry> read_entries(std::string_view header, std::string_view where) {
  const auto document = parse_json(header, where, kLimits);
  const JsonFields fields(document.root, concat(where, ": the header"));
  std::vector<Entry> entries;
  for (const auto& [name, value] : document.root.items()) {
    if (name == "__metadata__") {
      check_metadata(value, where);
      continue;
    }
    if (entries.size() == kMaxTensors) fail(fields.where(), "more than ", kMaxTensors, " tensors");
    entries.push_back(read_entry(name, value, where));
  }
  return entries;
}

// Checks that the number of bytes between the tensor's offsets agrees with its shape and dtype.
void check_size(const Entry& entry, std::string_view where) {
  const std::string what = concat("tensor ", quote(entry.name), ": ", name_of(entry.dtype),
                                  " of shape ", entry.shape.to_string());
  const auto bits = checked_product(entry.shape.sizes(), bits_of(entry.dtype));
  if (!bits) fail(where, what, " takes more bytes than can be counted");
  if (*bits % 8 != 0) fail(where, what, " does not end at a whole byte");
  if (*bits / 8 != entry.end - entry.begin) {
    fail(where, what, " takes ", *bits / 8, " bytes, but data_offsets enclose ",
         entry.end - entry.begin);
  }
}

// Checks that the entries, in the order of their offsets, cover `data_size` bytes exactly.
void check_coverage(const std::vector<Entry>& entries, std::size_t data_size,
                    std::string_view where) {
  std::size_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered || entry.end < entry.begin) {
      fail(where, "tensor ", quote(entry.name), ": data_offsets are [", entry.begin, ", ",
           entry.end, "]; expected them to begin at ", covered, ", where the data before ends");
    }
    check_size(entry, where);
    covered = entry.end;
  }
  for (const Entry& entry : entries) {
    if (entry.end > data_size) {
      fail(where, "the file ends inside tensor ", quote(entry.name), ", after ", data_size,
           " bytes of data; expected ", covered, "; download it again");
    }
  }
  if (covered < data_size) fail(where, data_size - covered, " bytes follow the last tensor");
}

std::vector<Entry> sorted_entries(std::string_view header, std::string_view where) {
  std::vector<Entry> entries = read_entries(header, where);
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  return entries;
}

}  // namespace

std::size_t safetensors_header_size(Bytes begin, std::string_view where) {
  if (begin.size() < kPrefix) return kPrefix;
  const auto length = load_little_endian<std::uint64_t>(begin);
  if (length > kMaxHeader) {
    fail(where, "not a file of weights: not one that torch.save wrote, and as safetensors ",
         "the header would have ", length, " bytes; expected at most ", kMaxHeader);
  }
  return kPrefix + static_cast<std::size_t>(length);
}

// The order of the checks is the same as in the reference reader, so that both give the same reason
// for a file that is wrong in several ways.
TensorTable parse_safetensors(Bytes file, std::string_view where) {
  const std::string_view header = header_of(file, where);
  std::vector<Entry> entries = sorted_entries(header, where);
  const Bytes data = file.subspan(kPrefix + header.size());
  check_coverage(entries, data.size(), where);

  TensorTable tensors;
  for (Entry& entry : entries) {
    tensors.emplace(std::move(entry.name),
                    TensorView{entry.dtype, std::move(entry.shape), data.data() + entry.begin,
                               entry.end - entry.begin});
  }
  return tensors;
}

TensorList parse_safetensors_header(Bytes head, std::string_view where) {
  std::vector<Entry> entries = sorted_entries(header_of(head, where), where);
  check_coverage(entries, entries.empty() ? 0 : entries.back().end, where);
  TensorList tensors;
  for (Entry& entry : entries) {
    tensors.emplace_back(std::move(entry.name), TensorView{.dtype = entry.dtype,
                                                           .shape = std::move(entry.shape),
                                                           .bytes = entry.end - entry.begin});
  }
  return tensors;
}

std::string safetensors_header(const TensorList& tensors) {
  JsonDocument<json> header;
  header.root["__metadata__"]["format"] = "pt";
  std::size_t offset = 0;
  for (const auto& [name, view] : tensors) {
    json& entry = header.root[name];
    const auto sizes = view.shape.sizes();
    entry["dtype"] = name_of(view.dtype);
    entry["shape"] = std::vector(sizes.begin(), sizes.end());
    entry["data_offsets"] = std::array{offset, offset + view.bytes};
    offset += view.bytes;
  }
  std::string text = header.root.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(std::uint64_t{text.size()} >> (8 * i));
  return length + text;
}

}  // namespace gpt2
