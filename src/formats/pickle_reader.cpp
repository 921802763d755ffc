#include "formats/pickle_reader.h"

#include "base/utf8.h"
#include "formats/pickle.h"
#include "gpt2/error.h"

namespace gpt2 {

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

void PickleReader::fail(const std::string& message) const {
  throw Error(ErrorCode::invalid_file, std::string(where_) + ": pickle, byte " +
                                           std::to_string(opcode_at_) + ": " + message);
}

void PickleReader::refuse(const std::string& message) const {
  throw Error(ErrorCode::unsupported,
              std::string(where_) + ": pickle, byte " + std::to_string(opcode_at_) + ": " +
                  message +
                  "; refused, nothing in a pickle is ever run: save the model's state_dict()");
}

std::span<const std::byte> PickleReader::take(std::size_t size) {
  if (size > bytes_.size() - position_) fail("the file ends inside the pickle; download it again");
  position_ += size;
  return bytes_.subspan(position_ - size, size);
}

}  // namespace gpt2
