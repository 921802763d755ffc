#include "formats/pickle_reader.h"

#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "formats/pickle.h"

namespace gpt2 {
namespace {

constexpr PickleName kAllowed[] = {
    {"collections OrderedDict", PickleFunction::ordered_dict, {}},
    {"torch Size", PickleFunction::size, {}},
    {"torch._utils _rebuild_tensor", PickleFunction::rebuild_tensor, {}},
    {"torch._utils _rebuild_tensor_v2", PickleFunction::rebuild_tensor, {}},
    {"torch._utils _rebuild_parameter", PickleFunction::rebuild_parameter, {}},
    {"torch FloatStorage", {}, DType::f32},
    {"torch HalfStorage", {}, DType::f16},
    {"torch BFloat16Storage", {}, DType::bf16},
    {"torch DoubleStorage", {}, DType::f64},
    {"torch LongStorage", {}, DType::i64},
    {"torch IntStorage", {}, DType::i32},
    {"torch ShortStorage", {}, DType::i16},
    {"torch CharStorage", {}, DType::i8},
    {"torch ByteStorage", {}, DType::u8},
    {"torch BoolStorage", {}, DType::boolean},
    {"torch.storage UntypedStorage", {}, DType::u8},
};

// Those that no state_dict needs, under the names of Python's pickletools.
constexpr std::pair<unsigned char, std::string_view> kRefused[] = {
    {'0', "POP"}, {'1', "POP_MARK"}, {'2', "DUP"}, {'B', "BINBYTES"}, {'C', "SHORT_BINBYTES"},
    {'F', "FLOAT"}, {'I', "INT"}, {'L', "LONG"}, {'P', "PERSID"}, {'S', "STRING"},
    {'T', "BINSTRING"}, {'V', "UNICODE"}, {'d', "DICT"}, {'g', "GET"}, {'i', "INST"},
    {'l', "LIST"}, {'o', "OBJ"}, {'p', "PUT"}, {0x82, "EXT1"}, {0x83, "EXT2"}, {0x84, "EXT4"},
    {0x8b, "LONG4"}, {0x8c, "SHORT_BINUNICODE"}, {0x8d, "BINUNICODE8"}, {0x8e, "BINBYTES8"},
    {0x90, "ADDITEMS"}, {0x91, "FROZENSET"}, {0x92, "NEWOBJ_EX"}, {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"}, {0x95, "FRAME"}, {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

const PickleName* find_pickle_name(std::string_view name) noexcept {
  for (const PickleName& allowed : kAllowed) {
    if (allowed.name == name) return &allowed;
  }
  return nullptr;
}

std::string_view name_of_refused_opcode(unsigned char opcode) noexcept {
  for (const auto& [refused, name] : kRefused) {
    if (refused == opcode) return name;
  }
  return "unknown";
}

std::int64_t PickleReader::long1() {
  const auto bytes = take(number<std::uint8_t>());
  if (bytes.size() > 8) refuse("an integer of " + std::to_string(bytes.size()) + " bytes");
  if (bytes.empty()) return 0;
  const bool is_negative = (bytes.back() & std::byte{0x80}) != std::byte{0};
  std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return static_cast<std::int64_t>(value);
}

std::string_view PickleReader::text(std::size_t size) {
  if (size > Pickle::kMaxText) {
    fail("a string of " + std::to_string(size) + " bytes; expected at most " +
         std::to_string(Pickle::kMaxText));
  }
  const std::string_view text(reinterpret_cast<const char*>(take(size).data()), size);
  if (!is_valid_utf8(text)) fail("a string that is not UTF-8");
  return text;
}

std::string PickleReader::line() {
  constexpr std::size_t kLongest = 256;
  std::string line;
  for (;;) {
    const auto c = static_cast<char>(number<std::uint8_t>());
    if (c == '\n') return line;
    if (line.size() == kLongest) fail("a name of more than 256 bytes");
    line += c;
  }
}

void PickleReader::fail(const std::string& message, ErrorCode code) const {
  gpt2::fail(where_, "pickle, byte " + std::to_string(opcode_at_) + ": " + message, code);
}

void PickleReader::refuse(const std::string& message) const {
  fail(message + "; refused, nothing in a pickle is ever run: save the model's state_dict()",
       ErrorCode::unsupported);
}

std::span<const std::byte> PickleReader::take(std::size_t size) {
  if (size > bytes_.size() - position_) fail("the file ends inside the pickle; download it again");
  position_ += size;
  return bytes_.subspan(position_ - size, size);
}

}  // namespace gpt2
