#include "formats/pickle_reader.h"

#include <algorithm>
#include <iterator>

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

}  // namespace

const PickleName* find_pickle_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kAllowed, name, &PickleName::name);
  return found == std::end(kAllowed) ? nullptr : found;
}

std::int64_t PickleReader::long1() {
  const auto bytes = take(number<std::uint8_t>());
  if (bytes.size() > 8) refuse("an integer of ", bytes.size(), " bytes");
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
    fail("a string of ", size, " bytes; expected at most ", Pickle::kMaxText);
  }
  const std::string_view text = text_of(take(size));
  if (valid_utf8_prefix(text) != text.size()) fail("a string that is not UTF-8");
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

Bytes PickleReader::take(std::size_t size) {
  if (size > bytes_.size() - position_) fail("the file ends inside the pickle; download it again");
  position_ += size;
  return bytes_.subspan(position_ - size, size);
}

}  // namespace gpt2
